"""What the site lists is what the package has; its links work on GitHub and on the site."""

import importlib
import importlib.util
import inspect
import re
from pathlib import Path

import pytest

import sgbn

DOCS = Path(__file__).parents[1] / "docs"
PACKAGES = (
    "cohort",
    "comparison",
    "inference",
    "learn",
    "paper",
    "prepare",
    "read",
    "runs",
    "write",
    "write.draw",
)
CONSTANTS = {"ATLASES", "KINDS_OF_CHANGE", "NETWORKS", "UNFINISHED", "UNKNOWN_LOBE"}
TYPES = {"Arrays", "AtlasLike"}


def extension(name):
    """Load one of the site's own extensions."""
    spec = importlib.util.spec_from_file_location(name, DOCS / "_ext" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def listed():
    """Names that stand in the pages of the API."""
    text = "".join(path.read_text() for path in sorted((DOCS / "api").glob("*.rst")))
    return re.findall(r"^   (sgbn\.[\w.]+)$", text, re.M)


def thing(name):
    module, _, last = name.rpartition(".")
    return getattr(importlib.import_module(module), last)


def test_every_public_name_stands_in_the_api_pages():
    names = {name.removeprefix("sgbn.") for name in listed()}
    public = {name for name in sgbn.__all__ if not inspect.ismodule(getattr(sgbn, name))}
    assert public - names == set()


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_of_a_package_is_described_somewhere(package):
    module = importlib.import_module(f"sgbn.{package}")
    described = [thing(name) for name in listed()]
    missing = [
        name
        for name in module.__all__
        if name not in CONSTANTS | TYPES
        and not inspect.ismodule(getattr(module, name))
        and not any(getattr(module, name) is one for one in described)
    ]
    assert missing == []


def test_no_name_stands_twice_and_each_can_be_imported():
    names = listed()
    assert len(names) == len(set(names))
    for name in names:
        assert thing(name).__doc__, name


def test_every_page_is_in_the_contents():
    contents = (DOCS / "index.md").read_text()
    for page in DOCS.glob("*.md"):
        if page.stem != "index":
            assert re.search(rf"(^|<){page.stem}>?$", contents, re.M), page.stem


def test_every_api_page_is_in_its_contents():
    contents = (DOCS / "api" / "index.rst").read_text().split()
    assert {path.stem for path in (DOCS / "api").glob("*.rst")} - {"index"} <= set(contents)


@pytest.mark.parametrize(
    ("written", "becomes"),
    [
        ("(../benchmarks/results/exp1.md)", "(results/exp1.md)"),
        ("(../benchmarks/results/exp2_errors.png)", "(results/exp2_errors.png)"),
        ("(../benchmarks/results)", "(results/index.md)"),
        ("(../CHANGELOG.md)", "(changelog.md)"),
        ("(../docs/paper.md)", "(paper.md)"),
        ("(../src/sgbn/jit.py)", "(../src/sgbn/jit.py)"),
        ("(data.md#images)", "(data.md#images)"),
        ("(https://example.org/docs/x.md)", "(https://example.org/docs/x.md)"),
    ],
)
def test_links_to_the_repository_are_turned_to_the_site(written, becomes):
    pytest.importorskip("sphinx")
    assert extension("repository_links").rewritten(f"[x]{written}") == f"[x]{becomes}"


def test_dead_links_and_pages_that_load_from_the_network_are_found(tmp_path):
    pytest.importorskip("sphinx")
    (tmp_path / "a.html").write_text(
        '<a href="b.html#there">1</a><a href="b.html#gone">2</a><a href="c.html">3</a>'
        '<a href="https://example.org">4</a><script src="https://cdn.example.org/x.js"></script>'
        '<a href="#top">5</a><img src="data:image/png;base64,AA==">'
    )
    (tmp_path / "b.html").write_text('<p id="there">here</p>')
    found = list(extension("offline_check").problems(tmp_path))
    assert len(found) == 3
    assert any("b.html#gone" in one for one in found)
    assert any("c.html" in one for one in found)
    assert any("cdn.example.org" in one for one in found)


def test_formulas_become_mathml_and_unknown_commands_are_errors():
    pytest.importorskip("latex2mathml")
    pytest.importorskip("ziamath")
    pytest.importorskip("sphinx")
    mathml = extension("mathml")
    assert "<mfrac" in mathml.mathml(r"\frac{a}{b}", "block")
    assert 'rspace="0">max</mo>' in mathml.mathml(r"\max(0, x)", "inline")
    from sphinx.errors import SphinxError

    with pytest.raises(SphinxError, match="unheardof"):
        mathml.mathml(r"\unheardof{x}", "inline")
