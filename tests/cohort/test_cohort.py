import pickle
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.preprocessing import StandardScaler
from tests.codes import refused

from sgbn import Cohort, compare
from sgbn.cohort.atlas import load_atlas
from sgbn.cohort.design import LABELS
from sgbn.cohort.series import SeriesCohort
from sgbn.core.validation import MAX_NAME
from sgbn.learn.classifier import SGBNClassifier
from sgbn.learn.sgbn import SGBN
from sgbn.prepare.pipeline import prepare
from sgbn.prepare.review import review


def test_groups_are_sorted_and_counted(make):
    cohort = make()
    assert cohort.groups == ("CTR", "SCZ")
    assert cohort.of_group("CTR").tolist() == [[3, 4, 5], [6, 7, 8]]
    assert cohort.sizes == {"CTR": 2, "SCZ": 2}
    assert len(cohort) == 4
    assert repr(cohort) == "Cohort(4 subjects x 3 regions; CTR 2, SCZ 2)"
    assert make(group=None).groups == ()


def test_it_cannot_be_changed_and_does_not_share_the_callers_arrays(make):
    values = np.arange(12.0).reshape(4, 3)
    cohort = make(values=values)
    values[0, 0] = 99
    assert cohort.values[0, 0] == 0
    with pytest.raises(ValueError, match="read-only"):
        cohort.values[0, 0] = 1
    with pytest.raises(ValueError, match="read-only"):
        cohort.covariates["age"][0] = 1
    with pytest.raises(TypeError):
        cohort.covariates["iq"] = np.zeros(4)
    with pytest.raises(FrozenInstanceError):
        cohort.site = None


def test_places_and_lobes_come_from_the_atlas_and_unknown_regions_have_none(make):
    cohort = make()
    assert [place and place.hemisphere for place in cohort.places] == ["L", "R", None]
    assert cohort.lobes == ("insula", "insula", "unknown")
    assert make(atlas=None).places == (None, None, None)


@pytest.mark.parametrize("rows", [[True, False, True, False], [0, 2], ["a", "c"]])
def test_subset_takes_rows_by_mark_number_or_name(make, rows):
    part = make().subset(rows)
    assert part.ids == ("a", "c")
    assert part.values.tolist() == [[0, 1, 2], [6, 7, 8]]
    assert part.group.tolist() == ["SCZ", "CTR"]
    assert part.site.tolist() == ["X", "Y"]
    assert part.covariates["sex"].tolist() == ["F", ""]
    assert part.provenance == {"file": "table.csv"}
    assert part.subset([0]).subset([True]).ids == ("a",)  # of one subject


def test_subset_takes_groups_and_regions_in_the_order_given(make):
    part = make().subset(groups=["CTR"], regions=["something", "lh_insula_thickness"])
    assert part.ids == ("b", "c")
    assert part.regions == ("something", "lh_insula_thickness")
    assert part.values.tolist() == [[5, 3], [8, 6]]
    assert make().subset([]).values.shape == (0, 3)


def test_it_survives_pickling(make):
    cohort = pickle.loads(pickle.dumps(make()))  # noqa: S301
    assert cohort.covariates["age"].tolist()[:2] == [20, 30]
    assert cohort.atlas == load_atlas("desikan_killiany")
    assert not cohort.values.flags.writeable


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda c: c.of_group("AD"), "groups.unknown"),
        (lambda c: c.subset(regions=["hippocampus"]), "regions.unknown"),
        (lambda c: c.subset(["a", "z"]), "ids.unknown"),
        (lambda c: c.subset([True, False]), "labels.count"),
        (lambda c: c.subset([0.0, 1.0]), "rows.type"),
        (lambda c: c.subset("a"), "rows.type"),
        (lambda c: c.subset([7]), "rows.outside"),
        (lambda c: c.subset(lobes=["frontl"]), "lobes.unknown"),
        (lambda c: replace(c, atlas=None).subset(lobes=["insula"]), "lobes.atlas"),
        (lambda c: replace(c, group=None).of_group("CTR"), "groups.none"),
        (lambda c: SGBN().fit(c, c.group), "cohort.array"),
        (lambda c: SGBNClassifier().fit(c, c.group), "cohort.array"),
        (lambda c: StandardScaler().fit(c, c.group), "cohort.array"),
        (lambda c: review(None), "cohort.type"),
        (lambda c: prepare(["study.csv"]), "cohort.type"),
        (lambda c: compare(c.values), "cohort.type"),
    ],
)
def test_what_is_not_there_or_is_no_cohort_is_refused(make, call, code):
    with refused(code):
        call(make())


def test_pairs_persons_and_blocks_stay_with_their_rows_and_cannot_be_changed(make):
    labels = {"pair": list("ppqq"), "person": list("pqqp"), "block": list("ffff")}
    cohort = make(**labels)
    again = pickle.loads(pickle.dumps(cohort))  # noqa: S301
    for name, values in labels.items():
        assert getattr(make(), name) is None
        assert getattr(cohort.subset([3, 1]), name).tolist() == [values[3], values[1]]
        assert getattr(cohort.subset(groups=["CTR"]), name).tolist() == values[1:3]
        assert getattr(replace(cohort, site=None), name).tolist() == values
        assert getattr(again, name).tolist() == values
        for one in (cohort, again):
            with pytest.raises(ValueError, match="read-only"):
                getattr(one, name)[0] = "r"


@pytest.mark.parametrize(
    ("pair", "complete", "line"),
    [
        (["p", "p", "q", "q"], [1, 1, 1, 1], "pairs: 2 persons, each in both groups"),
        (["p", "p", "q", "r"], [1, 1, 0, 0], "pairs: 3 persons, 2 of them without exactly one row"),
        (["p", "q", "q", "p"], [0, 0, 0, 0], "pairs: 2 persons, 2 of them without exactly one row"),
    ],
)
def test_a_pair_is_complete_with_one_row_in_each_group(make, pair, complete, line):
    cohort = make(pair=pair)
    assert cohort.design.complete.tolist() == complete
    assert line in cohort.summary()


LOBES = {
    "regions": ("rh_cuneus", "lh_insula", "odd", "rh_insula", "lh_lingual"),
    "values": np.arange(20.0).reshape(4, 5),
}


def test_subset_takes_lobes_in_the_order_of_the_cohort(make):
    cohort = make(**LOBES)
    both = cohort.subset(lobes=["occipital", "insula"])
    assert both.regions == ("rh_cuneus", "lh_insula", "rh_insula", "lh_lingual")
    assert both.values[0].tolist() == [0, 1, 3, 4]
    assert cohort.subset(lobes="insula").regions == ("lh_insula", "rh_insula")
    assert cohort.subset(lobes=["unknown"]).regions == ("odd",)
    chosen = cohort.subset(regions=["rh_insula", "odd", "lh_insula"], lobes=["insula"])
    assert chosen.regions == ("rh_insula", "lh_insula")
    assert cohort.subset(lobes=[]).values.shape == (4, 0)


@given(rows=st.lists(st.integers(0, 3), unique=True))
def test_subsets_keep_each_subject_together(make, rows):
    part = make().subset(rows)
    for k, row in enumerate(rows):
        assert part.ids[k] == make().ids[row]
        assert part.values[k].tolist() == make().values[row].tolist()
        assert part.group[k] == make().group[row]


def test_the_fingerprint_tells_any_two_tables_apart(make):
    cohort = make(covariates={}, site=None)
    values = cohort.values.copy()
    values[3, 2] += 1e-12
    others = [
        replace(cohort, values=values),
        replace(cohort, regions=cohort.regions[::-1]),
        replace(cohort, group=["CTR", "CTR", "SCZ", "SCZ"]),
        replace(cohort, site=["X", "Y", "X", "Y"]),
        replace(cohort, pair=[0, 0, 1, 1]),
        replace(cohort, person=[0, 1, 1, 2]),
        replace(cohort, block=[0, 1, 1, 2]),
        replace(cohort, covariates={"age": np.arange(4.0)}),
    ]
    names = {cohort.fingerprint, *(other.fingerprint for other in others)}
    assert len(names) == 9
    assert make(covariates={}, site=None).fingerprint == cohort.fingerprint


@pytest.mark.parametrize(
    ("changes", "fingerprint"),
    [
        ({}, "065524299ce73951"),
        ({"smooth": "age"}, "66fea8750e8d3219"),
        ({"pair": list("ppqq"), "covariates": {}}, "4b6f34b1301bc752"),
        (
            {"group": [10, 2, 2, 10], "person": [1, 9, 9, 2], "block": [2, 9, 9, 2], "site": None},
            "33a157e10b1b4721",
        ),
    ],
)
def test_the_fingerprint_is_that_of_folders_begun_before(make, changes, fingerprint):
    assert make(atlas=None, **changes).fingerprint == fingerprint


def test_a_notebook_shows_the_summary_with_every_name_escaped(make):
    page = make(group=["<b>SCZ", "CTR", "CTR", "<b>SCZ"])._repr_html_()
    assert "<b>Cohort</b></p><p>4 subjects, 3 regions (" in page
    assert "&lt;b&gt;SCZ" in page
    assert "<b>SCZ" not in page
    assert "covariate age" in page


def test_what_is_missing_in_a_covariate_is_nan_or_empty(make):
    covariates = {"age": [70, None, 60.5, np.nan], "sex": ["M", None, "F", np.nan]}
    cohort = make(covariates=covariates)
    assert cohort.covariates["age"].tolist()[::2] == [70, 60.5]
    assert np.isnan(cohort.covariates["age"][1::2]).all()
    assert cohort.covariates["sex"].tolist() == ["M", "", "F", ""]


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"ids": ("a", "b", "c")}, "values.shape"),
        ({"ids": ("a", "b", "c", "b")}, "ids.twice"),
        ({"regions": ("x", "y", "x")}, "regions.twice"),
        ({"group": ["CTR"]}, "labels.count"),
        ({"group": ["CTR", "", "SCZ", "CTR"]}, "labels.missing"),
        ({"covariates": {"age": [1, 2]}}, "labels.count"),
        ({"covariates": {"something": [1, 2, 3, 4]}}, "covariate.region"),
        ({"site": ["X", "X", np.nan, "Y"]}, "labels.missing"),
        ({"person": ["p", "p", "q", "r"]}, "persons.groups"),
        ({"person": list("pqqp"), "block": list("ffgf")}, "persons.blocks"),
        ({"covariates": {"age": [1, 2, np.inf, 4]}}, "covariate.large"),
        ({"values": [["a", "b", "c"]] * 4}, "values.numbers"),
        ({"values": np.full((4, 3), np.inf)}, "values.large"),
        ({"smooth": ["iq"]}, "smooth.covariate"),
        ({"smooth": ["sex"]}, "smooth.labels"),
    ],
)
def test_what_does_not_fit_is_named(make, changes, code):
    with refused(code):
        make(**changes)


def test_smooth_covariates_are_part_of_the_content(make):
    plain, smooth = make(), make(smooth="age")
    assert smooth.smooth == ("age",)
    assert smooth.subset([0, 1]).smooth == ("age",)
    assert smooth.fingerprint != plain.fingerprint


@pytest.mark.parametrize(
    ("labels", "units"),
    [
        ({}, None),
        ({"pair": "ppqq"}, "ppqq"),
        ({"person": "pqqr"}, "pqqr"),
        ({"person": "pqqr", "block": "fgghhf"[:4]}, "fggh"),
        ({"pair": "ppqq", "person": "abcd"}, "aacc"),
        ({"pair": "ppqq", "person": "pqqp"}, "pppp"),
    ],
)
def test_units_join_what_any_label_joins(make, labels, units):
    cohort = make(**{name: list(text) for name, text in labels.items()})
    assert cohort.units is None if units is None else cohort.units.tolist() == list(units)
    who = labels.get("person", labels.get("pair"))
    assert cohort.persons is None if who is None else cohort.persons.tolist() == list(who)


def made_with_a_name(field, name, kind):
    values = np.random.default_rng(0).normal(size=(4, 2))
    regions = ["a", name if field == "region" else "b"]
    ids = ["s1", "s2", "s3", name if field == "subject" else "s4"]
    about = {field: [name, name, "y", "y"]} if field in LABELS else {}
    if field == "covariate":
        about = {"covariates": {name: [1.0, 2.0, 3.0, 4.0]}}
    if kind is SeriesCohort:
        series = [np.random.default_rng(k).normal(size=(20, 2)) for k in range(4)]
        return SeriesCohort.of(series, regions, ids, **about)
    return Cohort(values, regions, ids, **about)


@pytest.mark.parametrize("kind", [Cohort, SeriesCohort])
@pytest.mark.parametrize("field", ["region", "subject", "covariate", *LABELS])
@pytest.mark.parametrize("letter", ["x", "ö"])
def test_a_name_that_is_too_long_for_files_and_figures_is_refused(field, kind, letter):
    made_with_a_name(field, letter * MAX_NAME, kind)
    with refused("names.long"):
        made_with_a_name(field, letter * (MAX_NAME + 1), kind)


def test_the_summary_counts_what_there_is(make):
    values = np.arange(12.0).reshape(4, 3)
    values[1, 2] = np.nan
    text = make(values=values).summary()
    assert "1 unknown there" in text
    assert "sites: CTR X 1, Y 1; SCZ X 1, Y 1" in text
    assert "covariate age: CTR 30 (0), 1 missing; SCZ 35 (21.2)" in text
    assert "covariate sex: CTR M 1, 1 missing; SCZ F 1, M 1" in text
    assert "missing cells: 1 (8.3%) of 1 subject and 1 region" in text
    labels = {"person": list("pqqp"), "block": list("fggf")}
    numbers = make(covariates={"sex": [0, 1, 0, 0]}, **labels).summary()
    assert "covariate sex: CTR 0 1, 1 1; SCZ 0 2" in numbers
    assert "4 rows of 2 persons, 3 regions" in numbers
    assert "blocks: 2, the largest with 2 rows" in numbers


def test_the_summary_counts_labels_that_may_be_names_of_people():
    names = [f"Ann {k}" for k in range(40)]
    labels = {"group": names, "site": names, "covariates": {"who": names}}
    text = Cohort(np.zeros((40, 1)), ["a"], range(40), **labels).summary()
    lines = ["groups: 40 labels", "sites: 40 labels", "covariate who: 40 labels"]
    assert text.split("\n")[1:] == lines


def test_pairs_of_one_group_of_three_or_of_none(make):
    three = make(group=["A", "B", "C", "C"], pair=["p", "p", "p", "q"])
    assert three.design.complete.tolist() == [True, True, True, False]
    assert "3 persons" not in three.summary()
    assert "each in all groups" in three.subset([0, 1, 2]).summary()
    assert "pairs: 2 persons\n" in make(group=None, pair=["p", "p", "q", "q"]).summary()
    assert make().design.complete.all()
    assert "pairs" not in make().summary()
