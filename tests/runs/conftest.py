"""A Dask cluster of two worker processes."""

import pytest


@pytest.fixture(scope="module")
def dask_client(tmp_path_factory):
    """Client of a cluster that gives a task up when two workers died with it."""
    dask, distributed = pytest.importorskip("dask"), pytest.importorskip("distributed")
    folder = tmp_path_factory.mktemp("dask")
    options = {
        "distributed.scheduler.allowed-failures": 1,
        "distributed.worker.profile.enabled": False,
    }
    with (
        dask.config.set(options),
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            local_directory=str(folder),
            silence_logs=50,
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client
