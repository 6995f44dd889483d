import numpy as np
import pandas as pd
import pytest

from sgbn.cohort.rows import read_sample
from sgbn.core.exceptions import DataWarning, InputError, StudyError
from sgbn.inference.confidence import learn_halves, learn_pair
from sgbn.learn.base import NetworkEstimator
from sgbn.learn.sgbn import SGBN
from sgbn.runs.study import Study

FAST = SGBN(n_kicks=0)


class Witness(SGBN):
    """A learner that keeps the rows it was given."""

    seen: list = []  # noqa: RUF012

    def learn(self, moments, values, names):
        self.seen.append(values)
        return super().learn(moments, values, names)


@pytest.mark.parametrize("n", [40, 41])
def test_the_halves_of_a_pair_share_no_row(simulate, n):
    X, _ = simulate(4, n, 0)
    Witness.seen.clear()
    learn_pair(read_sample(X), Witness(n_kicks=0), 0, 3)
    first, second = ({tuple(row) for row in half} for half in Witness.seen)
    assert sorted([len(first), len(second)]) == [n // 2, n - n // 2]
    assert not first & second
    assert first | second <= {tuple(row) for row in X}


def test_edges_are_those_of_a_fit_to_each_half(simulate):
    X, _ = simulate(6, 80, 1)
    Witness.seen.clear()
    found = learn_pair(read_sample(X), Witness(n_kicks=0), 0, 2)["arrows"]
    wanted = np.zeros((6, 6))
    for half in Witness.seen:
        fitted = SGBN(n_kicks=0).fit(half)
        wanted += (fitted.cpdag_ & ~fitted.cpdag_.T) / 2  # the same way in the whole class
        wanted += (fitted.cpdag_ & fitted.cpdag_.T) / 4  # either way
    np.testing.assert_array_equal(found, wanted)


def test_results_do_not_depend_on_jobs_and_can_be_taken_up_again(simulate, tmp_path):
    rows = read_sample(simulate(6, 40, 2)[0])
    plain = learn_halves(rows, FAST, 4, 0, Study()).arrow_
    np.testing.assert_array_equal(plain, learn_halves(rows, FAST, 4, 0, Study(n_jobs=2)).arrow_)
    learn_halves(rows, FAST, 2, 0, Study(tmp_path))
    first = tmp_path / "tasks" / "pair00001.npz"
    written = first.stat().st_mtime_ns
    np.testing.assert_array_equal(plain, learn_halves(rows, FAST, 4, 0, Study(tmp_path)).arrow_)
    assert first.stat().st_mtime_ns == written
    with pytest.raises(StudyError, match="random_state: 0 there, 1 now"):
        learn_halves(rows, FAST, 4, 1, Study(tmp_path))
    assert not np.array_equal(learn_halves(rows, FAST, 4, 1, Study()).arrow_, plain)


def test_the_data_are_not_changed(simulate):
    X, _ = simulate(5, 40, 3)
    before = X.copy()
    learn_halves(read_sample(X), FAST, 2, 0, Study())
    np.testing.assert_array_equal(X, before)


def test_too_few_rows_are_refused_with_a_remedy(simulate):
    with pytest.raises(InputError, match=r"19 rows.*Give 20 or more rows, or .*weight_intervals"):
        learn_halves(read_sample(simulate(4, 19, 0)[0]), FAST, 1, 0, Study())


def test_many_columns_for_halves_are_warned_of(simulate):
    with pytest.warns(DataWarning, match="halves have 11 rows .* 40 columns"):
        learn_halves(read_sample(simulate(40, 22, 0)[0]), FAST, 1, 0, Study())


def test_a_folder_of_another_learner_is_refused(simulate, tmp_path):
    names = [f"{k:090}" for k in range(12)]  # so long that the repr of a learner is cut
    rows = read_sample(pd.DataFrame(simulate(12, 50, 0)[0], columns=names))
    first, second = (
        SGBN(n_kicks=0, tiers=[names[:6], names[6:]]),
        SGBN(n_kicks=0, tiers=[names[:7], names[7:]]),
    )
    assert repr(first) == repr(second)
    learn_halves(rows, first, 1, 0, Study(tmp_path))
    with pytest.raises(StudyError, match="learner_parameters"):
        learn_halves(rows, second, 1, 0, Study(tmp_path))


def test_a_column_that_is_constant_in_some_halves_has_no_edge_there_and_is_named(simulate):
    X, _ = simulate(4, 40, 0)
    X[:, 2] = 0.0
    X[:3, 2] = X[:3, 1]
    with pytest.warns(DataWarning, match=r"'x2' is constant in \d+ of 10 halves, .*\(1 such"):
        found = learn_halves(read_sample(X), FAST, 5, 0, Study())
    assert found.adjacency_[3].any()  # columns after it keep their places
    assert found.adjacency_[2].sum() < found.adjacency_[3].sum()
    with pytest.raises(InputError, match=r"'x2' is constant in half of the rows, and .*knowledge"):
        learn_halves(read_sample(X), SGBN(n_kicks=0, forbidden=[("x3", "x0")]), 5, 0, Study())


def test_a_column_that_is_constant_throughout_is_refused(simulate):
    X, _ = simulate(4, 40, 0)
    X[:, 1] = 2.0
    with pytest.raises(InputError, match="constant column: 'x1'"):
        learn_halves(read_sample(X), FAST, 1, 0, Study())


def test_prior_knowledge_reaches_the_halves_by_name(simulate):
    rows = read_sample(simulate(5, 60, 0)[0])
    tiers = [["x4"], ["x3"], ["x2"], ["x1"], ["x0"]]
    found = learn_halves(rows, SGBN(n_kicks=0, tiers=tiers), 2, 0, Study())
    assert found.arrow_.any()
    assert not np.triu(found.arrow_).any()  # from later to earlier columns alone


def test_any_learner_of_sgbn_will_do(simulate):
    from sgbn.paper.markov import IAMB
    from sgbn.paper.or_sgbn import ORSGBN

    rows = read_sample(simulate(5, 60, 0)[0])
    for learner in (ORSGBN(), IAMB()):
        assert isinstance(learner, NetworkEstimator)
        assert learn_halves(rows, learner, 1, 0, Study()).n_halves == 2
