import pickle
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.preprocessing import StandardScaler

from sgbn import Cohort, compare
from sgbn.cohort.atlas import load_atlas
from sgbn.cohort.cohort import LABELS
from sgbn.cohort.series import SeriesCohort
from sgbn.core.problems import InputError
from sgbn.core.validation import MAX_NAME
from sgbn.learn.classifier import SGBNClassifier
from sgbn.learn.sgbn import SGBN
from sgbn.prepare.pipeline import prepare
from sgbn.prepare.review import review


def test_groups_are_sorted_and_counted(make):
    cohort = make()
    assert cohort.groups == ("CTR", "SCZ")
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


def test_subset_takes_groups_and_regions_in_the_order_given(make):
    part = make().subset(groups=["CTR"], regions=["something", "lh_insula_thickness"])
    assert part.ids == ("b", "c")
    assert part.regions == ("something", "lh_insula_thickness")
    assert part.values.tolist() == [[5, 3], [8, 6]]
    assert make().subset([]).values.shape == (0, 3)


def test_of_group_gives_its_rows(make):
    assert make().of_group("CTR").tolist() == [[3, 4, 5], [6, 7, 8]]


def test_it_survives_pickling(make):
    cohort = pickle.loads(pickle.dumps(make()))  # noqa: S301
    assert cohort.covariates["age"].tolist()[:2] == [20, 30]
    assert cohort.atlas == load_atlas("desikan_killiany")
    assert not cohort.values.flags.writeable


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda c: c.of_group("AD"), "no group is called 'AD'. The groups are"),
        (lambda c: c.subset(regions=["hippocampus"]), "no region is called 'hippocampus'"),
        (lambda c: c.subset(["a", "z"]), "no subject is called 'z'"),
        (lambda c: c.subset([True, False]), "rows has 2 values, but there are 4"),
        (lambda c: c.subset([0.0, 1.0]), "row numbers, or of ids"),
        (lambda c: c.subset("a"), "row numbers, or of ids"),
        (lambda c: c.subset([7]), "row 7 is asked for, but there are 4"),
    ],
)
def test_unknown_parts_are_named(make, call, message):
    with pytest.raises(InputError, match=message):
        call(make())


def test_without_groups_a_group_cannot_be_taken(make):
    with pytest.raises(InputError, match="has no groups"):
        make(group=None).of_group("CTR")


PERSONS = {"pair": ["p", "p", "q", "q"]}


def test_pairs_stay_with_their_rows_and_cannot_be_changed(make):
    cohort = make(**PERSONS)
    assert make().pair is None
    assert cohort.subset([3, 0]).pair.tolist() == ["q", "p"]
    assert cohort.subset(groups=["CTR"]).pair.tolist() == ["p", "q"]
    assert replace(cohort, site=None).pair.tolist() == PERSONS["pair"]
    assert pickle.loads(pickle.dumps(cohort)).pair.tolist() == PERSONS["pair"]  # noqa: S301
    for one in (cohort, pickle.loads(pickle.dumps(cohort))):  # noqa: S301
        with pytest.raises(ValueError, match="read-only"):
            one.pair[0] = "r"


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
    assert cohort.complete.tolist() == complete
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


def test_a_lobe_that_is_not_there_is_answered_with_those_that_are(make):
    with pytest.raises(InputError, match=r"'frontl'\. .*insula 2, occipital 2, unknown 1"):
        make(**LOBES).subset(lobes=["insula", "frontl"])
    with pytest.raises(InputError, match=r"no atlas, so its lobes are not known.*--regions"):
        make(atlas=None).subset(lobes=["insula"])


@given(rows=st.lists(st.integers(0, 3), unique=True))
def test_subsets_keep_each_subject_together(make, rows):
    part = make().subset(rows)
    for k, row in enumerate(rows):
        assert part.ids[k] == make().ids[row]
        assert part.values[k].tolist() == make().values[row].tolist()
        assert part.group[k] == make().group[row]


def test_persons_and_blocks_stay_with_their_rows(make):
    labels = {"person": ["p", "q", "q", "p"], "block": ["f", "g", "g", "f"]}
    cohort = make(**labels)
    for name, values in labels.items():
        assert getattr(make(), name) is None
        assert getattr(cohort.subset([3, 1]), name).tolist() == [values[3], values[1]]
        assert getattr(pickle.loads(pickle.dumps(cohort)), name).tolist() == values  # noqa: S301
        with pytest.raises(ValueError, match="read-only"):
            getattr(cohort, name)[0] = "r"
    assert repr(cohort) == "Cohort(4 rows of 2 persons x 3 regions; CTR 2, SCZ 2)"
    assert "4 rows of 2 persons, 3 regions" in cohort.summary()
    assert "blocks: 2, the largest with 2 rows" in cohort.summary()


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


def test_the_fingerprint_is_that_of_folders_begun_before(make):
    assert make(atlas=None).fingerprint == "065524299ce73951"


@pytest.mark.parametrize("estimator", [SGBN(), SGBNClassifier(), StandardScaler()])
def test_an_estimator_says_what_to_pass_in_place_of_a_cohort(make, estimator):
    cohort = make()
    with pytest.raises(InputError, match=r"a Cohort is not a table .*group_network.*make_analysis"):
        estimator.fit(cohort, cohort.group)


@pytest.mark.parametrize("value", [None, ["study.csv"], np.zeros((20, 3))])
def test_what_is_no_cohort_is_refused_with_a_way_to_get_one(value):
    for function in (review, prepare, compare):
        with pytest.raises(InputError, match=r"a Cohort is needed, not a .*read_table"):
            function(value)


def test_a_notebook_shows_the_summary_with_every_name_escaped(make):
    page = make(group=["<b>SCZ", "CTR", "CTR", "<b>SCZ"])._repr_html_()
    assert "<b>Cohort</b></p><p>4 subjects, 3 regions (" in page
    assert "&lt;b&gt;SCZ" in page
    assert "<b>SCZ" not in page
    assert "covariate age" in page


def test_one_subject_can_be_marked():
    cohort = Cohort([[1.0, 2.0]], ["a", "b"], ["s1"], group=["CTR"])
    assert cohort.subset([True]).ids == ("s1",)


def test_what_is_missing_in_a_covariate_is_nan_or_empty(make):
    covariates = {"age": [70, None, 60.5, np.nan], "sex": ["M", None, "F", np.nan]}
    cohort = make(covariates=covariates)
    assert cohort.covariates["age"].tolist()[::2] == [70, 60.5]
    assert np.isnan(cohort.covariates["age"][1::2]).all()
    assert cohort.covariates["sex"].tolist() == ["M", "", "F", ""]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ids": ("a", "b", "c")}, "shape .4, 3., but there are 3 subjects"),
        ({"ids": ("a", "b", "c", "b")}, "subject name 'b' is used 2 times"),
        ({"regions": ("x", "y", "x")}, "region name 'x' is used 2 times"),
        ({"group": ["CTR"]}, "group has shape"),
        ({"group": ["CTR", "", "SCZ", "CTR"]}, "subject 'b' has no group"),
        ({"covariates": {"age": [1, 2]}}, "covariate 'age' has shape"),
        (
            {"covariates": {"something": [1, 2, 3, 4]}},
            "'something' is the name of a covariate and",
        ),
        ({"group": ["CTR", None, "SCZ", "CTR"]}, "subject 'b' has no group"),
        ({"site": ["X", "X", np.nan, "Y"]}, "subject 'c' has no site"),
        ({"pair": ["p", "p", "q"]}, "pair has shape .3,., but there are 4 subjects"),
        ({"pair": ["p", "p", None, "q"]}, "subject 'c' has no pair"),
        ({"person": ["p", "q", "r"]}, "person has shape .3,., but there are 4 subjects"),
        ({"block": ["p", "p", "", "q"]}, "subject 'c' has no block"),
        ({"person": ["p", "p", "q", "r"]}, "'p' has rows in the groups 'CTR', 'SCZ'.*--pair"),
        (
            {"person": ["p", "q", "q", "p"], "block": ["f", "f", "g", "f"]},
            "'q' has rows in the blocks 'f', 'g' .1 person.*same block",
        ),
        (
            {"covariates": {"age": [1, 2, np.inf, 4]}},
            "covariate 'age' has a value that is inf",
        ),
        ({"values": [["a", "b", "c"]] * 4}, "values is not a table of numbers"),
        (
            {"values": np.full((4, 3), np.inf)},
            "of subject 'a' is inf, which is too large",
        ),
    ],
)
def test_what_does_not_fit_is_named(make, changes, message):
    with pytest.raises(InputError, match=message):
        make(**changes)


def test_smooth_covariates_are_covariates_of_numbers_and_part_of_the_content(make):
    plain, smooth = make(), make(smooth="age")
    assert smooth.smooth == ("age",)
    assert smooth.subset([0, 1]).smooth == ("age",)
    assert smooth.fingerprint != plain.fingerprint
    assert "covariate age (a curve): " in smooth.summary()
    with pytest.raises(InputError, match=r"'iq' is named as smooth.*--covariates"):
        make(smooth=["iq"])
    with pytest.raises(InputError, match="'sex' holds labels"):
        make(smooth=["sex"])


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
    message = (
        rf"the (name|label) of .*{field} that begins with '{letter}{{40}}' has {MAX_NAME + 1} c"
    )
    with pytest.raises(InputError, match=message):
        made_with_a_name(field, letter * (MAX_NAME + 1), kind)


def test_a_very_long_name_is_refused_at_once(make):
    with pytest.raises(InputError, match=r"has 1000000 characters, more than 100\. Give"):
        make(ids=["x" * 10**6, *make().ids[1:]])


def test_two_numbers_are_counted_in_the_summary(make):
    assert (
        "covariate sex: CTR 0 1, 1 1; SCZ 0 2" in make(covariates={"sex": [0, 1, 0, 0]}).summary()
    )


def test_the_summary_says_what_there_is(make):
    values = np.arange(12.0).reshape(4, 3)
    values[1, 2] = np.nan
    text = make(values=values).summary()
    assert "4 subjects, 3 regions" in text
    assert "1 unknown there" in text
    assert "groups: CTR 2, SCZ 2" in text
    assert "sites: CTR X 1, Y 1; SCZ X 1, Y 1" in text
    assert "covariate age: CTR 30 (0), 1 missing; SCZ 35 (21.2)" in text
    assert "covariate sex: CTR M 1, 1 missing; SCZ F 1, M 1" in text
    assert "missing cells: 1 (8.3%) of 1 subject and 1 region" in text


def test_pairs_of_one_group_of_three_or_of_none(make):
    three = make(group=["A", "B", "C", "C"], pair=["p", "p", "p", "q"])
    assert three.complete.tolist() == [True, True, True, False]
    assert "3 persons" not in three.summary()
    assert "each in all groups" in three.subset([0, 1, 2]).summary()
    assert "pairs: 2 persons\n" in make(group=None, pair=["p", "p", "q", "q"]).summary()
    assert make().complete.all()
    assert "pairs" not in make().summary()
