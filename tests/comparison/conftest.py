"""Cohorts and comparisons that several tests of this folder read, and change in copies only.

Comparisons, a results folder and a browser that the tests of the report share; read-only.
"""

import os
import shutil
import warnings
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from sgbn import Cohort
from sgbn.cohort.atlas import load_atlas
from sgbn.cohort.simulate import simulate_cohort
from sgbn.comparison.compare import compare
from sgbn.comparison.report import render_report, write_comparison
from sgbn.comparison.result import Comparison
from sgbn.comparison.settings import Settings
from sgbn.learn.sgbn import SGBN

TESTS = Settings.networks_only(n_permutations=39)


@pytest.fixture(scope="session")
def small_cohort():
    """Two simulated groups of 40 subjects, 6 regions, a few edges that differ."""
    return simulate_cohort(40, regions=6, n_changed=2)


@pytest.fixture(scope="session")
def cohort():
    """Two simulated groups of 80 subjects, controls first, and 8 regions."""
    return simulate_cohort(80, regions=8)


@pytest.fixture(scope="session")
def sites_cohort():
    """A chain of 6 regions of which one weight differs, at three sites, with an age and a gap."""
    rng = np.random.default_rng(0)
    group = np.repeat(["patient", "control"], 120)
    site, age = np.tile(["NYU", "KKI", "UCLA"], 80), rng.uniform(20, 60, 240)
    X = rng.normal(size=(240, 6))
    for j in range(1, 6):
        X[:, j] += np.where((group == "control") & (j == 3), 0.0, 0.9) * X[:, j - 1]
    X += 0.1 * age[:, None] + 3 * (site == "KKI")[:, None]
    X[5, 2] = np.nan
    names = [f"r{k}" for k in range(6)]
    ids = [f"s{k}" for k in range(240)]
    return Cohort(X, names, ids, group=group, site=site, covariates={"age": age})


class Run(NamedTuple):
    """A comparison, what was handed over on the way, and what was announced."""

    comparison: Comparison
    first: Comparison
    steps: list[str]


@pytest.fixture(scope="session")
def run(cohort):
    """All steps of a comparison, with little of each, from patients to controls."""
    settings = Settings(
        reference="patient",
        n_permutations=20,
        n_pairs=2,
        n_folds=2,
        n_repeats=1,
        refinements=("CL-SGBN",),
        peers=False,
    )
    steps, handed_over = [], []

    def on_found(comparison):
        handed_over.append(comparison)
        steps.append("handed over")

    comparison = compare(cohort, settings, on_step=steps.append, on_found=on_found)
    (first,) = handed_over
    return Run(comparison, first, steps)


@pytest.fixture(scope="session")
def whole(run):
    """The comparison of `run`."""
    return run.comparison


@pytest.fixture(scope="session")
def networks_alone(cohort):
    """The same cohort, of which nothing but networks was asked for."""
    return compare(cohort, Settings.networks_only(), learner=SGBN())


@pytest.fixture(scope="session")
def odd_names():
    """Tests of two groups and a chain whose first edge is one of the first group only.

    Names have marks of HTML and of TeX.
    """
    values = np.random.default_rng(1).normal(size=(120, 4))
    values[:60, 1] += 2 * values[:60, 0]
    for j in (2, 3):
        values[:, j] += values[:, j - 1]
    group = np.repeat(["<b>ill", "well"], 60)
    return compare(
        Cohort(values, ["a", "b$x$", "c", "d"], range(120), group=group), TESTS, learner=SGBN()
    )


@pytest.fixture(scope="session")
def three_groups():
    """Tests of groups a, b and c; the edge of v and w has another sign in c."""
    values = np.random.default_rng(0).normal(size=(180, 5))
    values[:, 1] += np.repeat([1.0, 1.0, -1.0], 60) * values[:, 0]
    values[:, 2] += values[:, 1]
    cohort = Cohort(values, list("vwxyz"), range(180), group=np.repeat(list("abc"), 60))
    return compare(cohort, TESTS, learner=SGBN(1.0))


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
WIDE = {"width": 1280, "height": 900}
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
ONLY_REGIONAL = replace(LEAST, n_pairs=0, n_repeats=0, refinements=(), models=False)


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
def three_compared():
    return quietly(table_of(("a", "b", "c"), n=90), replace(LEAST, models=False))


@pytest.fixture(scope="session")
def cortical():
    """Two groups; six regions of the cortex, which have a surface, and two below it."""
    sides = [f"{side}_{name}" for name in ("precentral", "insula", "precuneus") for side in LH_RH]
    regions = [*sides, "Left-Hippocampus", "Right-Hippocampus"]
    atlas = load_atlas("desikan_killiany")
    cohort = table_of(("control", "patient"), n=80, regions=regions, atlas=atlas)
    return quietly(cohort, ONLY_REGIONAL)


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
    return quietly(cohort, replace(LEAST, model=True))


@pytest.fixture(scope="session")
def written(nasty, tmp_path_factory):
    """Folder with all files of `nasty`, subjects in its report, and the list of these files."""
    folder = tmp_path_factory.mktemp("written")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sgbn.write.figures.PIXELS_PER_INCH", 50)  # files for print take longest
        # other processes would not know of it
        patch.setattr("sgbn.write.figures.WORTH_WORKERS", float("inf"))
        paths = write_comparison(
            nasty,
            folder,
            command="sgbn compare '<script>alert(4)</script>'",
            config="seed = 0\n",
            subjects_in_report=True,
        )
    return folder, paths


@pytest.fixture(scope="session")
def nothing_differs(compared):
    """The same comparison, in which no test is significant."""
    edges = compared.tests.edges.copy()
    for name in ("q", "p_fwer", "q_both", "p_fwer_both"):
        edges[name] = 1.0
    none = replace(compared.tests, edges=edges, global_p=0.7, global_p_both=0.8, components=[])
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
    """The report of `compared` as a reader gets it who asked for subjects."""
    return render_report(compared, command="sgbn demo --out 'a <b>'", subjects_in_report=True)


@pytest.fixture(scope="session")
def html_of_three(three_compared, no_pictures):
    """The report of `three_groups`, without pictures and subjects."""
    return render_report(three_compared, pictures=no_pictures)


@pytest.fixture(scope="session")
def html_of_series(compared_series):
    """The report of time series, with subjects and without pictures."""
    return render_report(compared_series, pictures={}, subjects_in_report=True)


@pytest.fixture(scope="session")
def browser():
    """Chromium of this machine, driven by playwright."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if program is None:
        pytest.skip(f"none of {', '.join(CHROMIUM)} is installed")
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=program, args=ARGUMENTS)
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
        page.set_default_timeout(120_000)  # ms: a page without a graphics card may be slow
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


@pytest.fixture(scope="session")
def reader(open_page, html):
    """The report in a wide window; tests use it one after the other, and none reloads it."""
    page = open_page(
        html,
        viewport=WIDE,
        color_scheme="light",
        permissions=["clipboard-read", "clipboard-write"],
    )
    page.wait_for_selector("#differences-table_wrapper")
    yield page
    page.context.close()


@pytest.fixture
def screenshot():
    """Function (page, name): keeps a picture of the page where SGBN_SCREENSHOTS names a folder."""

    def keep(page, name):
        if "SGBN_SCREENSHOTS" in os.environ:
            folder = Path(os.environ["SGBN_SCREENSHOTS"])
            folder.mkdir(parents=True, exist_ok=True)
            page.screenshot(path=folder / f"{name}.png", full_page=True)

    return keep
