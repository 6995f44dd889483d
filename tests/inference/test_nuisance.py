import numpy as np
import pytest

from sgbn import InputError
from sgbn.inference.nuisance import check_pairs, nuisance_of, permuted


@pytest.fixture
def design():
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1], 20)
    age = rng.normal(60, 10, 40) + 5 * codes
    return codes, {"age": age, "sex": rng.choice(["F", "M"], 40)}, rng.choice(["a", "b", "c"], 40)


def test_residuals_are_those_of_least_squares(design):
    codes, covariates, sites = design
    Y = np.random.default_rng(1).normal(size=(40, 3))
    N = np.column_stack(
        [
            codes == 0,
            codes == 1,
            covariates["age"],
            covariates["sex"] == "M",
            sites == "b",
            sites == "c",
        ]
    ).astype(float)
    expected = Y - N @ np.linalg.lstsq(N, Y)[0]
    found = nuisance_of(codes, covariates, sites)
    np.testing.assert_allclose(found.residuals(Y), expected, atol=1e-10)
    assert found.rank == 6  # one indicator of the sites follows from those of the groups


def test_missing_covariates_are_named(design):
    codes, covariates, _ = design
    covariates["age"][3] = np.nan
    with pytest.raises(InputError, match="'age' has 1 missing"):
        nuisance_of(codes, covariates)
    with pytest.raises(InputError, match="'sex' is missing"):
        nuisance_of(codes, {"sex": np.array([""] * 40)})


def test_rows_stay_in_their_block():
    blocks = np.array([0, 1, 0, 2, 1, 0, 2, 2])
    rng = np.random.default_rng(0)
    drawn = [permuted(rng, blocks, None, 8) for _ in range(50)]
    for rows in drawn:
        np.testing.assert_array_equal(blocks[rows], blocks)
        assert sorted(rows) == list(range(8))
    assert len({tuple(rows) for rows in drawn}) > 20


def test_partners_are_swapped_or_not():
    codes = np.array([0, 0, 0, 1, 1, 1])
    pairs = check_pairs(["x", "y", "z", "z", "x", "y"], codes)
    rng = np.random.default_rng(0)
    drawn = {tuple(permuted(rng, None, pairs, 6)) for _ in range(100)}
    assert len(drawn) == 8
    for rows in drawn:
        np.testing.assert_array_equal(pairs[list(rows)], pairs)


@pytest.mark.parametrize(
    ("ids", "codes"), [("xyzzxw", [0, 0, 0, 1, 1, 1]), ("xyzzxy", [0, 0, 1, 1, 2, 2])]
)
def test_half_pairs_are_refused(ids, codes):
    with pytest.raises(InputError, match="each subject once in both"):
        check_pairs(list(ids), np.array(codes))
