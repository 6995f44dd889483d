import numpy as np
import pytest

from sgbn.experiments import exp2, exp2_calibration
from sgbn.experiments.exp2_paper import paper_sum
from sgbn.graph import compare_graphs
from sgbn.runs import Study

ALPHAS = np.array([0.1, 0.3, 0.5])


@pytest.fixture(scope="module")
def folder(tmp_path_factory, exp2_settings):
    folder = tmp_path_factory.mktemp("calibration")
    exp2_calibration.run(Study(folder), exp2_settings, ALPHAS)
    return folder


def test_the_best_alpha_has_the_smallest_worse_difference_from_the_paper(folder, exp2_settings):
    networks = exp2_settings.networks
    paper = np.array([paper_sum(m, "OR-SGBN", networks) for m in ("errors", "false")])
    data = [exp2.simulate(n, k, 3, exp2.CALIBRATION) for n in networks for k in range(2)]
    for name in ("OR-SGBN literal", "OR-SGBN, raw"):
        learner = exp2.readings(exp2_settings)[name]
        sums = np.zeros((3, 2))
        for row, alpha in zip(sums, ALPHAS, strict=True):
            for X, graph in data:
                seen = compare_graphs(learner.set_params(alpha=alpha).fit(X).coef_, graph)
                row += np.array([seen.errors, seen.false]) / 2
        distances = np.abs(sums / paper - 1).max(axis=1)
        best = distances.argmin()
        fit = exp2_calibration.read(folder)[name]
        assert fit.alpha == ALPHAS[best]
        assert (fit.errors, fit.false) == pytest.approx(tuple(sums[best]))
        assert fit.distance == pytest.approx(distances[best])


def test_the_report_has_a_row_a_reading(folder, exp2_settings):
    text = exp2_calibration.report(folder)
    assert "paper's 51.44 total errors and 26.66 false edges (sums over 2 networks)" in text
    for name in exp2.readings(exp2_settings):
        assert f"| {name} | 0." in text


def test_mildew_is_left_out(tmp_path):
    settings = exp2.Settings(simulations=1, networks=("chain", "mildew"))
    assert list(exp2_calibration.run(Study(tmp_path), settings, ALPHAS)) == ["chain.0000"]
