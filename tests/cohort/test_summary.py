import numpy as np


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
