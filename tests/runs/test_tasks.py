import os

import joblib
import numpy as np
import pytest
from threadpoolctl import threadpool_info

from sgbn.core.exceptions import InputError
from sgbn.runs.tasks import n_processors, parallel, run_tasks


class Witness:
    """Object that notes each time it is loaded: a line in a file."""

    def __init__(self, path):
        self.path = path

    def __setstate__(self, state):
        self.__dict__.update(state)
        with open(self.path, "a") as stream:
            stream.write(f"{os.getpid()}\n")

    def __call__(self, task):
        return task**2


def product(seed):
    X = np.random.default_rng(seed).standard_normal((300, 300))
    return (X.T @ X)[0]


def blas_threads(_):
    return {
        library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"
    }


def test_parallel_keeps_the_order_of_the_tasks():
    assert parallel(abs, [-3, 2, -1], n_jobs=2) == [3, 2, 1]
    assert parallel(abs, iter([-3, 2])) == [3, 2]
    assert parallel(abs, [], n_jobs=2) == []


def test_bits_do_not_depend_on_who_does_the_work():
    expected = parallel(product, range(6))
    assert np.array_equal(parallel(product, range(6), n_jobs=2), expected)
    with joblib.parallel_config(backend="threading"):
        assert np.array_equal(parallel(product, range(6), n_jobs=2), expected)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_every_task_has_one_blas_thread(n_jobs):
    assert parallel(blas_threads, range(3), n_jobs) == [{1}] * 3


def test_the_function_is_sent_once_a_process(tmp_path):
    path = tmp_path / "loads"
    assert parallel(Witness(path), range(50), n_jobs=2) == [k**2 for k in range(50)]
    loads = path.read_text().split()
    assert len(loads) == len(set(loads)) <= 2


def test_nothing_is_sent_within_one_process(tmp_path):
    assert parallel(Witness(tmp_path / "loads"), range(5)) == [0, 1, 4, 9, 16]
    assert not list(tmp_path.iterdir())


def test_no_temporary_file_stays(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    parallel(abs, [1, 2], n_jobs=2)
    with pytest.raises(ZeroDivisionError):
        parallel(lambda x: 1 / x, [1, 0], n_jobs=2)
    assert not list(tmp_path.glob("sgbn-*"))


def test_results_come_as_they_are_finished_with_their_numbers():
    found = dict(run_tasks(abs, [-1, -2, -3], ["a", "b", "c"], 2))
    assert found == {0: 1, 1: 2, 2: 3}


@pytest.mark.parametrize("n_jobs", [0, 1.5, "2", True])
def test_a_number_of_processes_that_is_none_is_refused(n_jobs):
    with pytest.raises(InputError, match="n_jobs is"):
        parallel(abs, [1], n_jobs=n_jobs)


def test_there_is_a_processor():
    assert n_processors() >= 1
