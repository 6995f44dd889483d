"""Commands without what takes most of their time and is tested elsewhere."""

from importlib import import_module

import pytest

SMALLEST = {
    "svg": b'<svg xmlns="http://www.w3.org/2000/svg"/>',
    "png": b"\x89PNG\r\n\x1a\n",
}


@pytest.fixture
def no_pictures(monkeypatch):
    """Write files of nothing as figures: drawing them is most of a small comparison."""
    monkeypatch.setattr(
        import_module("sgbn.report.figures"),  # the package has a function of this name
        "_files",
        lambda comparison, name, kinds, dpi: {kind: SMALLEST[kind] for kind in kinds},
    )
