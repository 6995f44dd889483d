import joblib
import numpy as np
from threadpoolctl import threadpool_info

from sgbn.runs.dask import call, call_in_worker, packed, unpacked


def blas_threads(_):
    return {
        library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"
    }


def test_a_task_has_one_blas_thread_and_gives_them_back():
    before = blas_threads(None)
    assert call(blas_threads, None) == {1}
    assert call_in_worker(blas_threads, None) == {1}
    assert blas_threads(None) == before


def test_tasks_within_a_task_of_a_worker_run_one_after_another():
    assert call_in_worker(joblib.effective_n_jobs, 4) == 1
    assert call(joblib.effective_n_jobs, 4) == 4


def test_what_is_packed_is_the_same_elsewhere():
    offset = np.array([1.0, np.pi])
    function = unpacked(packed(lambda x: x + offset))
    assert np.array_equal(function(2), 2 + offset)
