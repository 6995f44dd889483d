from dataclasses import asdict

import numpy as np
import pytest

from sgbn.experiments import calibration, exp2_methods
from sgbn.experiments.calibration import CALIBRATION
from sgbn.graph import compare_graphs
from sgbn.runs import Study

ALPHAS = (0.1, 0.3, 0.5)
SETTINGS = calibration.Settings(2, ("alarm", "chain"), 3, ALPHAS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("calibration")
    CALIBRATION.run(Study(folder), SETTINGS)
    return folder


def test_the_best_alpha_has_the_smallest_worse_difference_from_the_paper(folder):
    networks = SETTINGS.networks
    paper = np.array([exp2_methods.paper_sum(m, "OR-SGBN", networks) for m in ("errors", "false")])
    data = [
        exp2_methods.simulate(n, k, 3, exp2_methods.CALIBRATION) for n in networks for k in range(2)
    ]
    for name in ("OR-SGBN literal", "OR-SGBN, raw"):
        learner = exp2_methods.readings(exp2_methods.Settings())[name]
        sums = np.zeros((3, 2))
        for row, alpha in zip(sums, ALPHAS, strict=True):
            for X, graph in data:
                seen = compare_graphs(learner.set_params(alpha=alpha).fit(X).coef_, graph)
                row += np.array([seen.errors, seen.false]) / 2
        distances = np.abs(sums / paper - 1).max(axis=1)
        best = distances.argmin()
        fit = calibration.best_fit(CALIBRATION.results(folder)[name], asdict(SETTINGS))
        assert fit.alpha == ALPHAS[best]
        assert (fit.errors, fit.false) == pytest.approx(tuple(sums[best]))
        assert fit.distance == pytest.approx(distances[best])


def test_the_report_has_a_row_a_reading(folder):
    text = CALIBRATION.text(folder)
    assert "paper's 51.44 total errors and 26.66 false edges (sums over 2 networks)" in text
    for name in exp2_methods.readings(exp2_methods.Settings()):
        assert f"| {name} | 0." in text


def test_mildew_is_left_out():
    assert "mildew" not in calibration.Settings().networks
    assert exp2_methods.summed(["chain", "mildew"]) == ["chain"]
