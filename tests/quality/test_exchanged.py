import numpy as np
import pytest

from sgbn.cohort.series import SeriesCohort
from sgbn.prepare.independence import find_exchanged
from sgbn.prepare.review import review

from .series import autoregressive, cohort_of


def turned(n=6, levels=0.0, **shape):
    rng = np.random.default_rng(0)
    own = levels * rng.standard_normal(shape["regions"])
    series = [(autoregressive(rng, 0.5, **shape) + own).T for _ in range(n)]
    return SeriesCohort.of(series, group=list("AB") * (n // 2))


@pytest.mark.parametrize("levels", [0.0, 100.0])
@pytest.mark.parametrize("shape", [(176, 60), (120, 200)], ids=str)
def test_series_with_a_row_per_region_are_a_warning(shape, levels):
    cohort = turned(volumes=shape[0], regions=shape[1], levels=levels)
    found = [one for one in review(cohort).findings if "exchanged" in one.what]
    assert [one.level for one in found] == ["warning"]
    assert "in 6 of 6 subjects" in found[0].what
    assert "transpose the series" in found[0].action


@pytest.mark.parametrize("phi", [0.0, 0.5])
@pytest.mark.parametrize("shape", [(176, 60), (120, 200)], ids=str)
def test_series_with_a_row_per_volume_are_fine(shape, phi):
    cohort = cohort_of(n=6, phi=phi, volumes=shape[0], regions=shape[1])
    assert find_exchanged(cohort) == (cohort, [])


def test_neighbours_that_are_alike_do_not_exchange_long_series():
    def smooth(series):
        return series + np.roll(series, 1, axis=1) + np.roll(series, 2, axis=1)

    assert not find_exchanged(cohort_of(smooth, n=6, volumes=176, regions=60))[1]


def test_some_subjects_are_named():
    right, wrong = cohort_of(n=2, volumes=60, regions=60), turned(n=2, volumes=60, regions=60)
    both = SeriesCohort.of([*right.series, *wrong.series])
    (found,) = find_exchanged(both)[1]
    assert "in 2 of 4 subjects ('s2', 's3')" in found.what
