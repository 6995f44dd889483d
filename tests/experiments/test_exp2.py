import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from sgbn import InputError, StudyError
from sgbn.datasets import load_network
from sgbn.experiments import exp2
from sgbn.experiments.exp2_paper import BASELINES
from sgbn.runs import Study
from sgbn.structure import ORSGBN


def edges(matrix):
    return {(int(i), int(j)) for i, j in np.argwhere(matrix)}


def test_results_have_an_axis_for_networks_methods_and_simulations(exp2_results, exp2_settings):
    assert exp2_results.networks == ["alarm", "chain"]
    assert exp2_results.methods == list(exp2.learners(exp2_settings))
    shape = (2, len(exp2_results.methods), 2)
    assert all(values.shape == shape for values in exp2_results.values.values())
    assert not np.isnan(exp2_results.values["errors"]).any()
    assert np.all(exp2_results.values["seconds"] > 0)


def test_a_cell_is_what_a_fit_to_the_same_data_gives(exp2_results, exp2_settings):
    counts = []
    for simulation in range(2):
        X, graph = exp2.simulate("alarm", simulation, exp2_settings.seed, exp2.EVALUATION)
        scaled = (X - X.mean(axis=0)) / X.std(axis=0)
        learner = ORSGBN(exp2_settings.alpha, init="l1mb", standardize=False).fit(scaled)
        learned, true = edges(learner.coef_), edges(graph)
        counts.append([len(learned ^ true), len(learned - true), len(learned)])
    for field, expected in zip(("errors", "false", "edges"), np.transpose(counts), strict=True):
        assert exp2_results.of(field, "alarm", "OR-SGBN").tolist() == expected.tolist()
        mean, error = exp2_results.mean(field, "alarm", "OR-SGBN")
        assert mean == pytest.approx(expected.mean())
        assert error == pytest.approx(abs(expected[0] - expected[1]) / 2)


def test_the_variants_differ_from_each_other(exp2_results):
    errors = exp2_results.values["errors"].sum(axis=(0, 2))
    penalised = [k for k, m in enumerate(exp2_results.methods) if "OR-SGBN" in m or "H-SGBN" in m]
    assert len(penalised) == 16
    assert len(set(errors[penalised])) > 10


def test_columns_are_shuffled_and_simulations_differ():
    graph = load_network("chain").graph
    X, shuffled = exp2.simulate("chain", 0, 0, exp2.EVALUATION)
    again, _ = exp2.simulate("chain", 0, 0, exp2.EVALUATION)
    other, _ = exp2.simulate("chain", 1, 0, exp2.EVALUATION)
    calibration, _ = exp2.simulate("chain", 0, 0, exp2.CALIBRATION)
    assert X.shape == (1000, 7)
    assert shuffled.sum() == graph.sum()
    assert not np.array_equal(shuffled, graph)
    assert np.array_equal(X, again)
    assert not np.isclose(X, other).any()
    assert not np.isclose(X, calibration).any()


def test_methods_that_are_run_once_for_both_kinds_of_data_do_not_depend_on_units(exp2_settings):
    X, _ = exp2.simulate("alarm", 0, 0, exp2.EVALUATION)
    scaled = X / X.std(axis=0)
    for name in (*BASELINES, "SGBN"):
        learner = exp2.learners(exp2_settings)[name]
        assert edges(learner.fit(X).coef_) == edges(learner.fit(scaled).coef_), name


def test_a_failure_and_a_warning_are_kept_with_their_message():
    class Failing(ORSGBN):
        def fit(self, X, y=None):
            raise InputError("no good")

    class Unconverged(ORSGBN):
        def fit(self, X, y=None):
            warnings.warn("not there yet", ConvergenceWarning, stacklevel=1)
            warnings.warn("ties", UserWarning, stacklevel=1)
            return super().fit(X)

    data = exp2.simulate("chain", 0, 0, exp2.EVALUATION)
    failed = exp2.evaluate(Failing(), *data)
    assert failed.failure == "InputError: no good"
    assert np.isnan(failed.errors)
    unconverged = exp2.evaluate(Unconverged(), *data)
    assert unconverged.warning == "not there yet"
    assert not unconverged.failure
    assert unconverged.errors >= 0


def test_means_leave_failures_out():
    assert exp2.mean_and_error(np.array([1.0, np.nan, 3.0])) == (2.0, pytest.approx(1.0))
    assert np.isnan(exp2.mean_and_error(np.array([np.nan]))).all()


def test_a_second_start_does_only_what_is_missing(exp2_folder, exp2_settings, monkeypatch):
    before = exp2.read(exp2_folder)
    kept, lost = (exp2_folder / "tasks" / f"chain.{k:04d}.npz" for k in range(2))
    written = kept.stat().st_mtime_ns
    lost.unlink()
    exp2.run(Study(exp2_folder), exp2_settings)
    assert kept.stat().st_mtime_ns == written
    after = exp2.read(exp2_folder)
    for field in ("errors", "false", "pdag", "edges", "failure"):
        assert np.array_equal(before.values[field], after.values[field])


def test_other_settings_are_refused(exp2_folder):
    other = exp2.Settings(simulations=2, seed=4, networks=("alarm", "chain"))
    with pytest.raises(StudyError, match="seed: 3 there, 4 now"):
        exp2.run(Study(exp2_folder), other)
    with pytest.raises(InputError, match="no network is called 'asia'"):
        exp2.Settings(networks=("asia",))
