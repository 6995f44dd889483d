import pickle
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.preprocessing import StandardScaler

from sgbn import Cohort, compare
from sgbn.cohort.atlas import load_atlas
from sgbn.core.exceptions import InputError
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
