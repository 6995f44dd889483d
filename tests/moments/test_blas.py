import threading

from threadpoolctl import threadpool_info

from sgbn.core.moments import one_blas_thread


def blas_threads():
    return {
        library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"
    }


def test_one_blas_thread_holds_while_any_thread_is_inside():
    before = blas_threads()
    second_is_in, first_is_out = threading.Event(), threading.Event()
    seen = []

    def second():
        with one_blas_thread():
            second_is_in.set()
            first_is_out.wait(60)
            seen.append(blas_threads())

    thread = threading.Thread(target=second)
    with one_blas_thread():
        with one_blas_thread():
            thread.start()
            second_is_in.wait(60)
        assert blas_threads() == {1}
    first_is_out.set()
    thread.join()
    assert seen == [{1}]
    assert blas_threads() == before
