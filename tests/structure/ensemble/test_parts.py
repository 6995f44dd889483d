import numpy as np
import pytest

from sgbn.cohort.design import Sample
from sgbn.core.exceptions import DataWarning
from sgbn.learn.ensemble import deal, graph_moments, learn_parts, learn_task
from sgbn.learn.knowledge import read_knowledge
from sgbn.learn.sgbn import SGBN
from sgbn.runs.study import Study


def _sample(n=60, m=4, nuisance=None):
    X = np.random.default_rng(0).standard_normal((n, m))
    X[:, 1] += X[:, 0]
    design = np.empty((n, 0)) if nuisance is None else nuisance
    return Sample(X, [f"x{k}" for k in range(m)], design, None, None)


def test_more_pairs_go_on_where_fewer_ended(tmp_path):
    sample, learner = _sample(), SGBN()
    knowledge = read_knowledge(None, None, None, sample.names)
    _, two = learn_parts(sample, learner, knowledge, 2, 2, 0, Study(tmp_path))
    _, three = learn_parts(sample, learner, knowledge, 2, 3, 0, Study(tmp_path))
    third = learn_task(sample, learner, knowledge, 0, "pair", 2)["arrows"]
    assert np.allclose(3 * three.arrow_, 2 * two.arrow_ + third)
    assert three.n_halves == 6


def test_a_column_that_is_constant_in_a_half_is_named():
    sample = _sample()
    sample.values[:, 3] = 0.0
    sample.values[7, 3] = 1.0
    knowledge = read_knowledge(None, None, None, sample.names)
    learner = SGBN(outliers="keep")
    with pytest.warns(DataWarning, match="'x3' is constant in 3 of 6 halves"):
        _, confidence = learn_parts(sample, learner, knowledge, 1, 3, 0, Study())
    assert np.isfinite(confidence.arrow_).all()


def test_normal_scores_take_a_graph_from_the_ranks_alone():
    sample = _sample()
    bent = np.exp(3 * sample.values)  # the ranks stay
    scores = SGBN(column_transform="normal-scores")
    plain, of_bent = (graph_moments(scores, X, sample.names) for X in (sample.values, bent))
    np.testing.assert_array_equal(of_bent.R, plain.R)
    assert not np.allclose(graph_moments(SGBN(), bent, sample.names).R, plain.R)


def test_families_are_dealt_whole():
    persons, families = np.arange(40) // 2, np.arange(40) // 4
    sample = Sample(np.zeros((40, 2)), ["a", "b"], np.empty((40, 0)), None, persons, families)
    part = deal(sample, 0, 0, 0, 2)
    for family in range(10):
        assert len(set(part[families == family])) == 1
