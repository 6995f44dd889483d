import numpy as np
import pytest

from sgbn import Cohort
from sgbn.cohort.cohort import LABELS
from sgbn.cohort.series import SeriesCohort
from sgbn.core.exceptions import InputError
from sgbn.core.validation import MAX_NAME


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
