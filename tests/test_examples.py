"""Two quick examples of the gallery run as scripts; the build of the site (.ci/long) runs all."""

import ast
import runpy
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("plot_*.py"))
QUICK = ("plot_from_bnlearn", "plot_learn_prior_knowledge")
WANTED = ("csv", "freesurfer", "nifti", "pipeline", "prior_knowledge", "bnlearn", "nilearn")
WANTED += (
    "three",
    "explanation",
    "lesion",
    "sample_size",
    "dask",
    "arrows",
    "save_load",
    "notebook",
    "series",
)


def test_the_gallery_has_what_was_promised():
    names = " ".join(path.stem for path in EXAMPLES)
    assert [word for word in WANTED if word not in names] == []


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_has_a_title_sections_and_a_figure(path):
    text = path.read_text()
    title, underline, *rest = ast.get_docstring(ast.parse(text)).splitlines()
    assert underline == "=" * len(title)
    assert "".join(rest).strip()
    assert text.count("# %%") >= 3
    assert "plt.show()" in text


@pytest.mark.parametrize("name", QUICK)
def test_a_quick_example_runs_as_a_script_without_a_warning(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(plt, "show", lambda: None)
    path = next(path for path in EXAMPLES if path.stem == name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        runpy.run_path(str(path), run_name="__main__")
    assert plt.get_fignums()
    plt.close("all")
    assert capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []  # nothing is left where it was started
