"""Designs whose rows are not independent subjects, each refused by name, and clean ones."""

import numpy as np
import pandas as pd
import pytest

from sgbn import Cohort
from sgbn.cohort.simulate import simulate_cohort
from sgbn.paper.experiments.experiment import data_folder
from sgbn.prepare.review import review
from sgbn.read.table import read_table

PERSONS, REGIONS = 40, 30
SUBJECTS, VOLUMES = 40, 60


def persons(n=PERSONS, seed=0):
    """Rows of independent persons, in standard deviations, and their groups."""
    drawn = simulate_cohort(n // 2, regions=REGIONS, random_state=seed)
    values = (drawn.values - drawn.values.mean(axis=0)) / drawn.values.std(axis=0)
    return values, np.asarray(drawn.group)


def visits(n_visits=2, noise=0.5):
    """Rows of each person one after the other, and groups."""
    values, group = persons()
    rng = np.random.default_rng(1)
    many = np.repeat(values, n_visits, axis=0)
    return many + noise * rng.standard_normal(many.shape), np.repeat(group, n_visits)


def cohort_of(values, group, ids, **more):
    return Cohort(values, [f"r{k}" for k in range(values.shape[1])], ids, group=group, **more)


def named(pattern, words=(1, 2), **more):
    """Visits whose ids have the number of the person and a word for the visit."""
    values, group = visits(len(words), **more)
    ids = [pattern.format(p=p, v=v) for p in range(1, PERSONS + 1) for v in words]
    return cohort_of(values, group, ids)


def shuffled(cohort, seed=2, ids=None):
    rows = np.random.default_rng(seed).permutation(len(cohort))
    names = [cohort.ids[k] for k in rows] if ids is None else ids
    return cohort_of(cohort.values[rows], np.asarray(cohort.group)[rows], names)


def series(pattern="sub-{s:02}_{t:04}", memory=0.8, own=0.0):
    """Stacked time series of regions, each subject in one group; `own` is the level of each."""
    rng = np.random.default_rng(3)
    mixing = np.linalg.cholesky(0.5 * np.eye(12) + 0.5)
    values = rng.standard_normal((SUBJECTS, VOLUMES, 12)) @ mixing.T
    for t in range(1, VOLUMES):
        values[:, t] = memory * values[:, t - 1] + np.sqrt(1 - memory**2) * values[:, t]
    values += own * rng.standard_normal((SUBJECTS, 1, 12))
    ids = [
        pattern.format(s=s, t=t, k=s * VOLUMES + t) for s in range(SUBJECTS) for t in range(VOLUMES)
    ]
    group = np.repeat(["a", "b"], SUBJECTS * VOLUMES // 2)
    return cohort_of(values.reshape(-1, 12), group, ids)


def shuffled_within(cohort):
    order = np.random.default_rng(4).random((SUBJECTS, VOLUMES)).argsort(axis=1)
    rows = (order + VOLUMES * np.arange(SUBJECTS)[:, None]).ravel()
    return cohort.subset(rows)


def copied(noise=0.0, ids="x{}", rounded=None):
    """Rows of 30 persons among 80 who are there a second time."""
    values, group = persons(80)
    rng = np.random.default_rng(5)
    values[50:] = values[:30] + noise * rng.standard_normal((30, REGIONS))
    values = values if rounded is None else values.round(rounded)
    return cohort_of(values, group, [ids.format(k) for k in range(80)])


def interleaved():
    """All first visits, then all second ones, under running numbers."""
    cohort = named("{p}-{v}")
    rows = np.arange(2 * PERSONS).reshape(-1, 2).T.ravel()
    return cohort_of(
        cohort.values[rows],
        np.asarray(cohort.group)[rows],
        [f"P{k:03}" for k in range(2 * PERSONS)],
    )


def before_and_after():
    """Paired visits of which nothing is said: the group is the visit."""
    cohort = named("{p:03}_{v}", ("pre", "post"))
    return cohort_of(cohort.values, np.tile(["pre", "post"], PERSONS), cohort.ids)


def few_persons():
    """Two rows each of 24 persons, under running numbers."""
    values, group = visits(noise=0.3)
    return cohort_of(values[16:64], group[16:64], [f"P{k:03}" for k in range(48)])


MANGLED = {
    "BIDS sessions": (lambda: named("sub-{p:02}_ses-{v:02}"), "sessions"),
    "BIDS runs": (lambda: named("sub-{p:02}_run-{v}"), "sessions"),
    "sessions with one run": (
        lambda: named("sub-{p:02}_ses-{v}_run-1", ("base", "m12")),
        "sessions",
    ),
    "time points": (lambda: named("P{p}_T{v}"), "sessions"),
    "three waves": (lambda: named("{p:03}.wave{v}", (1, 2, 3)), "sessions"),
    "letters": (lambda: named("S{p:02}{v}", "ab"), "sessions"),
    "words": (lambda: named("{p:03}_{v}", ("baseline", "followup")), "sessions"),
    "counters": (lambda: named("{p:04}-{v:02}"), "sessions"),
    "dates": (lambda: named("{p:03}_{v}", (20190102, 20200304)), "sessions"),
    "the visit first": (lambda: named("V{v}_{p:03}"), "sessions"),
    "two spellings": (lambda: named("{v}{p}", ("Sub_0", "sub-")), "spelling"),
    "weak sessions, shuffled": (
        lambda: shuffled(named("sub-{p:02}_ses-{v}", noise=2.0)),
        "sessions",
    ),
    "paired visits without pairs": (before_and_after, "sessions"),
    "sessions interleaved": (interleaved, "lookalikes"),
    "sessions under other names": (
        lambda: shuffled(named("{p}-{v}"), ids=[f"code{k * 7919 % 997}" for k in range(80)]),
        "lookalikes",
    ),
    "sessions one after the other": (
        lambda: cohort_of(*visits(), [f"P{k:03}" for k in range(80)]),
        "neighbours",
    ),
    "few sessions one after the other": (few_persons, "neighbours"),
    "few sessions, shuffled": (
        lambda: shuffled(few_persons(), ids=[f"N{k}" for k in range(48)]),
        "lookalikes",
    ),
    "copies": (copied, "copies"),
    "copies with rounding noise": (lambda: copied(0.004, rounded=2), "copies"),
    "copies in another order": (
        lambda: shuffled(copied(1e-4), ids=[f"N{k}" for k in range(80)]),
        "copies",
    ),
    "time series": (series, "neighbours"),
    "time series of little memory": (lambda: series(memory=0.3), "neighbours"),
    "time series with levels": (lambda: series(own=2.0), "neighbours"),
    "time series, shuffled within subjects": (lambda: shuffled_within(series()), "numbered"),
    "time series, all shuffled": (lambda: shuffled(series()), "numbered"),
    "time series under running numbers": (lambda: shuffled(series("row{k:05}")), "numbered"),
    "volumes by name": (
        lambda: shuffled(series("sub-{s:02}_vol{t:03}", memory=0.0, own=1.0)),
        "sessions",
    ),
}


@pytest.mark.parametrize("design", MANGLED)
def test_rows_that_are_no_subjects_are_refused_by_name(design):
    make, code = MANGLED[design]
    (stop,) = (one.problem for one in review(make()).stops if one.problem.code.endswith(f".{code}"))
    if code in ("sessions", "copies"):
        assert stop.values["n"] == {"sessions": 40, "copies": 30}[code]


def plain_ids(pattern, n=200):
    values, group = persons(n)
    sites = np.arange(n) // 25
    ids = [pattern.format(k=k, s="ABCDEFGH"[s], c=1 + k % 25) for k, s in enumerate(sites)]
    return cohort_of(values, group, ids)


def of_sites(strength=1.0, order="sites", ids="{s}_{k:07}", site=False):
    """Subjects of eight sites with means of their own, a site after the other or mixed."""
    values, group = persons(200)
    at = np.arange(200) % 8
    values = values + strength * np.random.default_rng(6).standard_normal((8, REGIONS))[at]
    rows = np.argsort(at, kind="stable")
    number = np.argsort(rows)  # counted a site after the other
    if order != "sites":
        rows = np.random.default_rng(7).permutation(200)
    names = [
        ids.format(s="ABCDEFGH"[at[k]], k=50000 + number[k], c=1 + number[k] % 25) for k in rows
    ]
    more = {"site": at[rows].astype(str)} if site else {}
    return cohort_of(values[rows], group[rows], names, **more)


def small_sites():
    """Five subjects at each of 40 sites, counted there."""
    values, group = persons(200)
    rows = np.arange(200).reshape(5, 40).T.ravel()  # of each site some of both groups
    own = 1.5 * np.random.default_rng(8).standard_normal((40, REGIONS))
    site = [f"S{k:02}" for k in np.arange(200) // 5]
    ids = [f"{name}_{k % 5 + 1}" for k, name in enumerate(site)]
    return cohort_of(values[rows] + np.repeat(own, 5, axis=0), group[rows], ids, site=site)


def with_outliers():
    """Two subjects whose regions lie far out, this way and that."""
    values, group = persons(160)
    values[[2, 90]] += 60 * np.random.default_rng(10).standard_normal((2, REGIONS))
    return cohort_of(values, group, [f"sub-{k:04}" for k in range(160)])


def few_with_letters(pattern):
    """Subjects of 8 places with a letter and a number, five of each."""
    values, group = persons(40)
    return cohort_of(values, group, [pattern.format(s=k // 5, c=k % 5) for k in range(40)])


CLEAN = {
    "subjects far out": with_outliers,
    "heavy tails": lambda: cohort_of(
        np.random.default_rng(9).standard_t(2, (200, 20)),
        np.repeat(["a", "b"], 100),
        [f"sub-{k:04}" for k in range(200)],
    ),
    **{
        pattern: (lambda pattern=pattern: plain_ids(pattern))
        for pattern in (
            *("sub-{k:03}", "{k}", "005{k:04}", "patient{k}", "subject_{k:02}", "T{k}", "visit{k}"),
            *(
                "{s}_{k:07}",
                "site{s}_{c:02}",
                "{s}{c}",
                "{s}_scan{c:02}",
                "{s}-v{c:03}",
                "S{k:03}a",
            ),
            *("sub-{k:03}_ses-01", "{k:03}_S_0295_bl", "{k:03}_20190102", "participant_{k}"),
        )
    },
    **{
        f"{pattern} of few": (lambda pattern=pattern: few_with_letters(pattern))
        for pattern in ("{s:02}T{c:03}", "A{s}v{c}")
    },
    "sites in order": of_sites,
    "strong sites in order": lambda: of_sites(3.0),
    "strong sites, mixed": lambda: of_sites(3.0, order="mixed", site=True),
    "strong sites with counters": lambda: of_sites(2.0, ids="{s}_{c:02}"),
    "numbers by site": lambda: of_sites(2.0, ids="sub-{k}", order="mixed"),
    "small sites with counters": small_sites,
}


@pytest.mark.parametrize("design", CLEAN)
def test_independent_subjects_pass(design):
    found = review(CLEAN[design]())
    assert found.stops == ()


@pytest.mark.parametrize("regions", [3, 5, 10])
@pytest.mark.parametrize("seed", range(5))
def test_few_correlated_regions_of_many_subjects_pass(regions, seed):
    rng = np.random.default_rng(seed)
    values = rng.standard_normal((1000, regions)) + 2 * rng.standard_normal((1000, 1))
    found = review(cohort_of(values, np.repeat(["a", "b"], 500), [f"s{k}" for k in range(1000)]))
    assert found.stops == ()


@pytest.mark.parametrize("name", ["abide1_asd", "cobre_scz", "ixi_age"])
def test_real_tables_pass(name):
    folder = data_folder()
    if folder is None or not (folder / "neuro" / f"{name}.csv").exists():
        pytest.skip("needs the tables of SGBN_DATA or ../shared/data")
    path = folder / "neuro" / f"{name}.csv"
    there = pd.read_csv(path, nrows=1).columns
    covariates = [one for one in ("age", "sex", "eTIV", "fiq", "euler_mean") if one in there]
    for site in ("site", None):
        exclude = [] if site else ["site"]
        cohort = read_table(path, group="group", site=site, covariates=covariates, exclude=exclude)
        assert review(cohort).stops == ()


def test_persons_that_are_known_are_no_find():
    sessions = named("sub-{p:02}_ses-{v:02}")
    who = [name[:6] for name in sessions.ids]
    known = cohort_of(sessions.values, sessions.group, sessions.ids, person=who)
    assert review(known).stops == ()
    family = cohort_of(sessions.values, sessions.group, sessions.ids, block=who)
    assert review(family).stops == ()
    mixed = cohort_of(sessions.values, sessions.group, sessions.ids, person=sessions.ids)
    assert review(mixed).stops[0].problem.code == "rows.sessions"
    volumes = series()
    stacked = cohort_of(
        volumes.values, volumes.group, volumes.ids, person=[name[:6] for name in volumes.ids]
    )
    assert review(stacked).stops[0].problem.code == "rows.volumes"
    assert review(stacked, rows_are_subjects=True).stops == ()


def test_copies_within_a_person_are_a_warning_and_between_persons_a_stop():
    cohort = copied()
    who = [f"p{k if k < 50 else k - 50}" for k in range(60)] + [f"p{k}" for k in range(60, 80)]
    group = np.where(np.arange(80) % 50 < 25, "a", "b")
    found = review(cohort_of(cohort.values, group, cohort.ids, person=who))
    found = {one.problem.code: (one.level, one.problem.values.get("n")) for one in found.findings}
    assert found["rows.copies"] == ("stop", 20)
    assert found["rows.copies-within"] == ("warning", 10)


def test_sessions_stop_until_the_persons_are_named():
    cohort = named("sub-{p:02}_ses-{v:02}")
    table = pd.DataFrame(cohort.values, columns=list(cohort.regions))
    table["participant_id"] = [name[:6] for name in cohort.ids]
    table["session"], table["dx"] = list(cohort.ids), list(cohort.group)
    read = read_table(table, id="session", group="dx", regions="all")
    assert [one.problem.code for one in review(read).stops] == ["rows.sessions"]
    named_now = read_table(table, id="session", group="dx", subject="participant_id", regions="all")
    assert review(named_now).stops == ()


def unlike_rows(labels, column, seed=0):
    """Rows that show nothing of the labels that a column has for them."""
    values, group = persons(80, seed)
    table = pd.DataFrame(values, columns=[f"r{k}" for k in range(REGIONS)])
    table[column], table["dx"] = labels, group
    return table


@pytest.mark.parametrize(
    ("labels", "argument"),
    [
        (np.repeat(np.arange(40), 2), "subject"),
        (np.tile(np.arange(40), 2), "pair"),
        (np.arange(80) % 25, "block"),
    ],
)
def test_a_column_called_person_stops_though_rows_are_unlike(labels, argument):
    table = unlike_rows([f"p{k}" for k in labels], "Patient_ID")
    table["row"] = range(80)
    cohort = read_table(table, id="row", group="dx", regions="r*")
    (stop,) = review(cohort).stops
    assert stop.problem.code == "persons.unnamed"
    assert stop.problem.values == {"column": "Patient_ID", "argument": argument}
    assert review(cohort, rows_are_subjects=True).stops == ()
    known = read_table(table, id="row", group="dx", regions="r*", exclude="Patient_ID")
    assert len(review(known).stops) == 1  # to leave the column out does not part the rows


def test_labels_within_groups_are_asked_about_and_sites_are_not():
    nested = unlike_rows([f"a{k}" for k in np.repeat(np.arange(20), 4)], "scan")
    found = review(read_table(nested, group="dx", regions="r*"))
    assert found.stops == ()
    assert "persons.nested" in [one.problem.code for one in found.findings]
    sites = unlike_rows([f"a{k}" for k in np.arange(80) % 20], "centre")
    found = review(read_table(sites, group="dx", regions="r*"))
    (asked,) = (one for one in found.findings if one.problem.values.get("column") == "centre")
    assert (asked.level, asked.problem.code) == ("warning", "sites.unnamed")
