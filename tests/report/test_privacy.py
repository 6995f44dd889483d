"""A report that is passed on names nobody."""

import json
import warnings
import zipfile
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sgbn.cohort.cohort import Cohort
from sgbn.comparison.compare import compare
from sgbn.comparison.report import Veil, left_out_table, render_report, write_comparison
from sgbn.comparison.settings import Settings
from sgbn.prepare.findings import Finding

IDS = [f"secret-{k:03d}-qz" for k in range(80)]
PUBLIC = ("report.html", "summary.txt", "about.json", "model.sgbn")


@pytest.fixture(scope="module")
def named():
    """A cohort in which much is odd: the review names subjects in all of its ways."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(80, 8))
    for j in range(1, 8):
        values[:, j] += 0.9 * values[:, j - 1]
    values[3] += 25 * values.std(axis=0) * np.resize([1, -1], 8)  # far out as a whole
    values[7, 2] = 40.0  # one cell
    values[11, :6] = np.nan  # too many gaps
    values[60] = values[61]  # a copy
    age = np.where(np.arange(80) == 5, np.nan, np.linspace(20, 80, 80) % 37)
    group = np.repeat(["CTR", "SCZ"], 40)
    regions = [f"region{k}" for k in range(8)]
    cohort = Cohort(values, regions, IDS, group=group, covariates={"age": age})
    settings = Settings.quick(
        n_permutations=39,
        n_pairs=1,
        n_folds=2,
        refinements=(),
        models=False,
        model=True,
        deviations=True,
        rows_are_subjects=True,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = compare(cohort, settings)
    reason = f"the pair {IDS[20]!r} is not whole."
    return replace(found, skipped={"replication": reason}, warnings=(f"look at {IDS[21]!r}.",))


@pytest.fixture(scope="module")
def written(named, tmp_path_factory):
    folder = tmp_path_factory.mktemp("private")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sgbn.comparison.report.plans", lambda _: {})
        write_comparison(named, folder)
    return folder


def names_in(content):
    return [name for name in IDS if name.encode() in content]


def bytes_of(path):
    """Bytes of a file, unpacked where it is packed."""
    if not zipfile.is_zipfile(path):
        return path.read_bytes()
    with zipfile.ZipFile(path) as packed:
        return b"\n".join(packed.read(name) for name in packed.namelist())


def test_the_review_names_subjects_in_many_ways(named):
    said = [one.what for one in named.review.findings if names_in(one.what.encode())]
    assert len(said) >= 5
    assert not names_in("".join(map(Veil(named).text, said)).encode())


@pytest.mark.parametrize("name", PUBLIC)
def test_what_is_passed_on_names_nobody(written, name):
    assert names_in(bytes_of(written / name)) == []


def test_the_tables_name_everybody_and_who_was_left_out(written, named):
    tables = written / "tables"
    assert len(names_in((tables / "subjects.csv").read_bytes())) == len(named.cohort)
    assert IDS[3] in pd.read_csv(tables / "left_out.csv")["subject"].tolist()
    assert IDS[11] in (tables / "findings.csv").read_text()


def test_sentences_give_counts_and_say_where_names_are(written):
    report, about = (written / "report.html").read_text(), (written / "about.json").read_text()
    assert "tables/left_out.csv names them" in report
    assert "the pair [name withheld] is not whole." in report
    said = {"replication": "the pair [name withheld] is not whole."}
    assert json.loads(about)["skipped"] == said
    assert "more than 50% of the regions: [name withheld]" in about


def test_subjects_are_shown_where_that_is_asked_for(named, no_pictures):
    page = render_report(named, pictures=no_pictures, subjects_in_report=True)
    assert len(names_in(page.encode())) == len(IDS)
    assert 'id="subjects-table"' in page


def test_a_veil_takes_names_only(named):
    veil = Veil(named)
    assert veil.text(f"{IDS[0]!r} and 'region0' and 1") == "[name withheld] and 'region0' and 1"
    assert Veil(named, lifted=True).text(repr(IDS[0])) == repr(IDS[0])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("12 of 40 subjects: '7', '12'", "12 of 40 subjects: [names withheld]"),
        ("copies: 7 and 12; 13 and 40", "copies: [names withheld]"),
        ("such as '7 and 12', '13 and 40'", "such as [names withheld]"),
        ("first '40'", "first [name withheld]"),
        ("p = 0.12, 7% of 40", "p = 0.12, 7% of 40"),
        ("a mean of 12.5 and 7", "a mean of 12.5 and 7"),
    ],
)
def test_numbers_that_are_names_are_known_by_where_they_stand(named, text, said):
    numbered = replace(named.cohort, ids=tuple(str(k) for k in range(len(named.cohort))))
    veil = Veil(replace(named, review=replace(named.review, cohort=numbered)))
    assert veil.text(text) == said


@pytest.mark.parametrize(
    "name", ["Hans\u00a0Meier", "back\\slash", 'O\'Hara "x"', "zero\u200bwidth", "Müller"]
)
def test_names_that_repr_escapes_are_withheld_too(named, name):
    ids = (name, *IDS[1 : len(named.cohort)])
    veil = Veil(replace(named, review=replace(named.review, cohort=replace(named.cohort, ids=ids))))
    assert veil.text(f"first {name!r}") == "first [name withheld]"
    assert veil.text(f"{name!r}, {IDS[1]!r} lie far") == "[names withheld] lie far"


def test_a_finding_without_names_stays_as_it_is(named):
    review = replace(named.review, findings=(Finding("note", "all is well", "Go on"),))
    shown = Veil(named).findings(replace(named, review=review))
    assert shown.to_numpy().tolist() == [["note", "all is well", "Go on"]]


def test_nobody_left_out_is_no_table(compared):
    nobody = dict.fromkeys(compared.groups, ())
    known = replace(compared, tests=replace(compared.tests, left_out=nobody))
    assert left_out_table(known).columns.empty == (not any(known.left_out.values()))
