import math

import numpy as np
import pytest

from sgbn.cohort.atlas import Atlas, load_atlas
from sgbn.prepare.balance import robust_z
from sgbn.prepare.review import review

N = 60


def test_copies_of_regions_stop_and_each_pair_is_named(make, only):
    def copy(values):
        values[:, 1] = 2 * values[:, 0] + 1
        values[:, 4] = 3 - values[:, 2] * (1 + 1e-9)

    finding = only(make(copy))
    assert finding.level == "stop"
    assert "'lh_insula' and 'rh_insula'; 'lh_cuneus' and 'lh_lingual'" in finding.what
    assert "Exclude one of each pair" in finding.action


@pytest.mark.parametrize("shift", [0.0, 1.0])
def test_copies_within_a_group_stop(make, shift):
    def copy(values):
        values[:, 1] = np.where(np.arange(N) % 2, values[:, 0] + shift, values[:, 1])

    assert "'lh_insula' and 'rh_insula'" in review(make(copy)).stops[0].what


def test_a_correlation_near_one_is_no_copy(make):
    def nearly(values):
        values[:, 1] = values[:, 0] + 1e-3 * (values[:, 1] - values[:, 1].mean())

    assert not review(make(nearly)).stops


def test_totals_are_said_with_what_they_are_sums_of(make, only):
    def total(values):
        values[:, 4] = values[:, :3].sum(axis=1) + (np.arange(N) % 2)

    finding = only(make(total))
    assert finding.level == "warning"
    assert "is a linear combination of" in finding.what
    for name in ("lh_insula", "rh_insula", "lh_cuneus", "lh_lingual"):
        assert f"'{name}'" in finding.what
    assert "rh_cuneus" not in finding.what


def test_outlying_cells_and_subjects_are_said_and_kept(make):
    def change(values):
        values[8, 3] = 25.0
        values[8, 4] = -20.0

    reviewed = review(make(change))
    texts = [str(finding) for finding in reviewed.findings]
    assert "2 cells are more than 6" in texts[0]
    assert texts[0].endswith("The farthest belongs to subject 'sub-08'.")
    assert not any(said in texts[0] for said in ("25", "-20", "rh_cuneus", "lh_lingual"))
    assert "1 subject is outlying in more than 10% of the regions: 'sub-08'" in texts[1]
    assert len(reviewed.cohort) == N


def test_regions_that_the_atlas_does_not_know_are_listed(make, only):
    assert "no atlas has these regions" in only(make(atlas=None)).what
    finding = only(make(atlas=load_atlas("destrieux")))
    assert "5 regions are not in the atlas" in finding.what


def test_regions_without_coordinates_are_listed(make, only):
    first, second = make().regions[:2]
    nowhere = dict.fromkeys("xyz", math.nan)
    regions = [
        one._replace(**nowhere) if one.name in (first, second) else one
        for one in load_atlas("desikan_killiany").regions
    ]
    finding = only(make(atlas=Atlas("own", "mine", tuple(regions))))
    assert finding.what == f"the atlas mine has no coordinates for 2 regions: {first!r}, {second!r}"


def test_robust_z_is_that_of_normal_draws_and_ignores_outliers():
    values = np.random.default_rng(0).standard_normal((4000, 1)) * 3 + 7
    values[:40] = 1e6
    z = robust_z(values)
    assert np.std(z[40:]) == pytest.approx(1, abs=0.05)
    assert abs(np.median(z)) < 1e-9
    assert z[0, 0] > 1e5


def test_robust_z_of_columns_with_gaps_or_without_spread():
    values = 100 + np.random.default_rng(0).standard_normal((30, 4))
    values[:, 0] = 5.0
    values[:, 1] = 5.0
    values[3, 1] = 6.0
    values[0, 2] = np.nan
    z = robust_z(values)
    assert (z[:, 0] == 0).all()
    assert z[3, 1] > 5
    assert np.isnan(z[0, 2])
    assert np.isfinite(z[1:, 2]).all()
    assert np.isnan(robust_z(values[:9])).all()
