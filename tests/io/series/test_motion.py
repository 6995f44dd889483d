import numpy as np
import pytest

from sgbn import SeriesCohort
from sgbn.io.series.motion import without_unnamed


def test_motion_that_nobody_named_is_a_fact_and_no_covariate(signals):
    fd = np.array([0.1, 0.11, 0.3, 0.32])
    cohort = SeriesCohort.of(
        [signals(k) for k in range(4)],
        group=list("AABB"),
        covariates={"mean_fd": fd, "age": fd},
    )
    left = without_unnamed(cohort, ["mean_fd"])
    assert list(left.covariates) == ["age"]
    found = left.provenance["unnamed_motion"]["mean_fd"]
    assert found["means"] == pytest.approx({"A": 0.105, "B": 0.31})
    assert found["p"] < 0.05
    assert "unnamed_motion" not in without_unnamed(cohort, []).provenance
