"""Comparisons that the tests of the report share, and a browser to look at their pages."""

import os
import shutil
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sgbn.atlases import load_atlas
from sgbn.cohort import Cohort
from sgbn.comparison import Settings, compare
from sgbn.datasets import simulate_cohort
from sgbn.report.page import render_report

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = [
    "--no-sandbox",
    "--enable-unsafe-swiftshader",  # WebGL without a graphics card
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
OWN_ADDRESSES = ("data:", "blob:")  # of what is in the page itself
NO_WEBGL = """
const getContext = HTMLCanvasElement.prototype.getContext;
HTMLCanvasElement.prototype.getContext = function (kind, ...more) {
  return /webgl/.test(kind) ? null : getContext.call(this, kind, ...more);
};
"""
NASTY = (
    "<script>alert(1)</script>",
    "=cmd()",
    "</script><b>bold",
    "a$b$c",
    "\"quoted\" 'name'",
    "+1",
    "@at, with comma",
    "Übergang → λ",
)
LH_RH = ("lh", "rh")
LEAST = Settings.quick(n_permutations=39, n_pairs=4, n_folds=2, deviations=True)


def quietly(cohort, settings=LEAST):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return compare(cohort, settings)


def table_of(groups, m=8, n=60, **more):
    """Cohort of correlated regions, the later groups with another edge."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(n, m))
    group = np.repeat(list(groups), n // len(groups))
    for j in range(1, m):
        values[:, j] += values[:, j - 1] * np.where((group != groups[0]) & (j == 2), -1.5, 0.9)
    names = more.pop("regions", [f"region{k}" for k in range(m)])
    ids = more.pop("ids", [f"s{k:02d}" for k in range(n)])
    return Cohort(values, names, ids, group=group, **more)


@pytest.fixture(scope="session")
def compared():
    """Two simulated groups with sites, covariates, missing cells and the truth."""
    cohort = simulate_cohort(
        60, regions=12, covariates=["age", "sex"], n_sites=2, missing=0.01, n_changed=6
    )
    return quietly(cohort)


@pytest.fixture(scope="session")
def three_groups():
    return quietly(table_of(("a", "b", "c"), n=90))


@pytest.fixture(scope="session")
def cortical():
    """Two groups; six regions of the cortex, which have a surface, and two below it."""
    sides = [f"{side}_{name}" for name in ("precentral", "insula", "precuneus") for side in LH_RH]
    regions = [*sides, "Left-Hippocampus", "Right-Hippocampus"]
    atlas = load_atlas("desikan_killiany")
    return quietly(table_of(("control", "patient"), n=80, regions=regions, atlas=atlas))


@pytest.fixture(scope="session")
def nasty():
    """Names that a page, a picture or a spreadsheet could take for code."""
    rng = np.random.default_rng(1)
    cohort = table_of(
        ("<i>group</i>", "=group()"),
        regions=NASTY,
        ids=["<script>alert(2)</script>", "=1+1", *(f"-s{k}" for k in range(58))],
        covariates={"<u>age</u>": rng.normal(size=60)},
        site=np.tile(["=site()", "<s>site</s>"], 30),
        provenance={"source": "</script><script>alert(3)</script>"},
    )
    return quietly(cohort)


@pytest.fixture(scope="session")
def nothing_differs(compared):
    """The same comparison, in which no test is significant."""
    found = compared.tests
    edges = found.edges.copy()
    for name in ("q", "p_fwer", "q_both", "p_fwer_both"):
        edges[name] = 1.0
    none = replace(found, edges=edges, global_p=0.7, global_p_both=0.8, components=[])
    return replace(compared, tests=none)


class Blank(dict):
    """Pictures of nothing, which cost no time."""

    def __contains__(self, name):
        return True

    def __missing__(self, name):
        return b"<svg/>"


@pytest.fixture(scope="session")
def no_pictures():
    return Blank()


@pytest.fixture(scope="session")
def html(compared):
    """The report of `compared` as a reader gets it."""
    return render_report(compared, command="sgbn demo --out 'a <b>'")


@pytest.fixture(scope="session")
def html_with_subjects(compared, no_pictures):
    """The same with a row per subject, and without pictures."""
    return render_report(compared, pictures=no_pictures, subjects_in_report=True)


@pytest.fixture(scope="session")
def browser():
    """Chromium of this machine, driven by playwright."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    found = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if found is None:
        pytest.skip(f"none of {', '.join(CHROMIUM)} is installed")
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=found, args=ARGUMENTS)
        yield started
        started.close()


@pytest.fixture(scope="session")
def open_page(browser, tmp_path_factory):
    """Function (HTML text, webgl, options of the context) -> page.

    Without WebGL a page is ready much sooner, as it draws no brain. The page has two more lists:
    `problems`, errors in its console, and `requests`, addresses that it asked for beside itself.
    """

    def open_new(html, webgl=True, **options):
        file = tmp_path_factory.mktemp("page") / "page.html"
        file.write_text(html, encoding="utf-8")
        page = browser.new_context(**options).new_page()
        if not webgl:
            page.add_init_script(NO_WEBGL)
        page.problems, page.requests = [], []
        page.on("console", lambda m: page.problems.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda error: page.problems.append(str(error)))
        page.on("dialog", lambda dialog: (page.problems.append(dialog.message), dialog.dismiss()))
        page.on(
            "request",
            lambda request: (
                page.requests.append(request.url)
                if request.url != file.as_uri() and request.url[:5] not in OWN_ADDRESSES
                else None
            ),
        )
        page.goto(file.as_uri())
        return page

    return open_new


@pytest.fixture
def browser_page(open_page):
    """As `open_page`; what a test has opened is closed after it."""
    pages = []

    def open_new(html, **options):
        pages.append(open_page(html, **options))
        return pages[-1]

    yield open_new
    for page in pages:
        page.context.close()


@pytest.fixture
def screenshot(tmp_path):
    """Function (page, name): keeps a picture of the page in the folder SGBN_SCREENSHOTS."""
    folder = Path(os.environ.get("SGBN_SCREENSHOTS", tmp_path))
    folder.mkdir(parents=True, exist_ok=True)
    return lambda page, name: page.screenshot(path=folder / f"{name}.png", full_page=True)
