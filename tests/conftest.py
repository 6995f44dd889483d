"""Data that many tests use."""

import json
import os
import socket
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from scipy.signal import lfilter

from sgbn.cohort.simulate import simulate_sem
from sgbn.core.gaussian import GaussianNetwork
from sgbn.core.graph import random_dag

# A first call compiles, so that no example has a deadline. CI repeats itself; a developer's runs
# search on.
settings.register_profile("sgbn", deadline=None, derandomize="CI" in os.environ)
settings.register_profile("long", deadline=None, max_examples=3000)  # .ci/long
settings.load_profile("sgbn")


def pytest_addoption(parser):
    parser.addoption("--update", action="store_true", help="write tests/golden anew")


ADDRESSED = ("socket.connect", "socket.sendto", "socket.sendmsg")
LOOKED_UP = ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr")
# what names of this machine begin with
LOCAL = ("localhost", "127.", "::1", "0.0.0.0", socket.gethostname())
tried = []  # addresses elsewhere that this process wanted to reach


def refuse_the_network(event, arguments):
    """Audit hook that keeps all of Python within this machine; processes that it starts are not."""
    if event in ADDRESSED and isinstance(arguments[1], tuple):  # text is a socket in the files
        host = arguments[1][0]
    elif event in LOOKED_UP:
        host = arguments[0]
    else:
        return
    name = host.decode() if isinstance(host, bytes) else str(host or "localhost")
    if not name.startswith(LOCAL):
        tried.append(name)
        raise AssertionError(f"a test wanted to reach {name} ({event}): no test may need a network")


sys.addaudithook(refuse_the_network)


@pytest.fixture(autouse=True)
def refused():
    """Hosts elsewhere that a test wanted to reach; it fails even if it went on without them."""
    tried.clear()
    yield tried
    assert not tried


@pytest.fixture(scope="session")
def bnlearn():
    """Frozen answers of R's bnlearn 4.9, made by references/bnlearn.R."""
    return json.loads((Path(__file__).parent / "references" / "bnlearn.json").read_text())


@pytest.fixture(scope="session")
def adjacency():
    """Function (graph of the references, order of its nodes) -> adjacency matrix."""

    def make(graph, nodes=None):
        place = {name: k for k, name in enumerate(nodes or graph["nodes"])}
        A = np.zeros((len(place), len(place)), bool)
        for source, target in graph["arcs"]:
            A[place[source], place[target]] = True
        return A

    return make


@pytest.fixture
def simulate():
    """Function (m, n, seed) -> rows from a random DAG of degree 4, and its network."""

    def make(m, n, seed, degree=4.0, noise="unequal"):
        rng = np.random.default_rng(seed)
        return simulate_sem(random_dag(m, degree, rng), n, noise=noise, random_state=rng)

    return make


SMALLEST = {
    "svg": b'<svg xmlns="http://www.w3.org/2000/svg"/>',
    "pdf": b"%PDF-1.4",
    "png": b"\x89PNG\r\n\x1a\n",
}


@pytest.fixture
def no_figures(monkeypatch):
    """Comparisons write files of nothing as figures: drawing is most of a small one."""
    monkeypatch.setattr(
        import_module("sgbn.comparison.figures").Plan,  # the package has a function of this name
        "files",
        lambda plan, kinds, dpi: {kind: SMALLEST[kind] for kind in kinds},
    )
    # processes that draw would not know of it
    monkeypatch.setattr("sgbn.write.figures.WORTH_WORKERS", float("inf"))


@pytest.fixture
def few_steps(monkeypatch, no_figures):
    """`Settings.quick` is quicker still, and no figure is drawn."""
    from sgbn.comparison.settings import Settings

    quick, few = Settings.quick, {"n_permutations": 20, "n_pairs": 2, "n_folds": 2}
    monkeypatch.setattr(Settings, "quick", lambda **more: quick(**few | more))


@pytest.fixture(params=["few steps", pytest.param("all steps", marks=pytest.mark.long)])
def as_quick_as_possible(request):
    """What takes minutes is done whole in the long checks alone."""
    if request.param == "few steps":
        request.getfixturevalue("few_steps")
    return request.param == "few steps"


@pytest.fixture(scope="module")
def dask_client(tmp_path_factory):
    """Client of a cluster of 2 worker processes; it gives a task up when two died with it."""
    dask, distributed = pytest.importorskip("dask"), pytest.importorskip("distributed")
    options = {
        "distributed.scheduler.allowed-failures": 1,
        "distributed.worker.profile.enabled": False,
    }
    with (
        dask.config.set(options),
        distributed.LocalCluster(
            n_workers=2,  # each imports everything anew, which costs seconds
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            local_directory=str(tmp_path_factory.mktemp("dask")),
            silence_logs=50,
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture
def design():
    """Groups, covariates and sites of 40 subjects."""
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1], 20)
    age = rng.normal(60, 10, 40) + 5 * codes
    return codes, {"age": age, "sex": rng.choice(["F", "M"], 40)}, rng.choice(["a", "b", "c"], 40)


@pytest.fixture(scope="session")
def chains_of_series():
    """Time series of 24 subjects in two groups and sites; a chain of 5 regions, one edge turned."""
    from sgbn.cohort.series import SeriesCohort

    rng, n = np.random.default_rng(0), 24
    group = np.tile(["control", "patient"], n // 2)
    volumes, series = rng.integers(100, 140, n), []
    for own, length in zip(group, volumes, strict=True):
        one = rng.standard_normal((length, 5))
        for j in range(1, 5):
            one[:, j] += one[:, j - 1] * (-0.7 if own == "patient" and j == 2 else 0.7)
        for t in range(1, length):
            one[t] += 0.3 * one[t - 1]
        series.append(one)
    return SeriesCohort.of(
        series,
        [f"region{k}" for k in range(5)],
        [f"sub-{k:03}" for k in range(n)],
        tr=2.0,
        group=group,
        covariates={"age": rng.uniform(20, 60, n), "mean_fd": rng.uniform(0.05, 0.3, n)},
        site=np.repeat(["A", "B"], n // 2),
    )


@pytest.fixture(scope="session")
def compared_series(chains_of_series):
    """Their comparison, with every step."""
    from sgbn.comparison.compare import compare
    from sgbn.comparison.settings import Settings

    few = {"n_permutations": 39, "n_pairs": 4, "n_folds": 2, "n_repeats": 1, "peers": False}
    return compare(chains_of_series, Settings(**few))


@pytest.fixture(scope="session")
def autoregressive():
    """Function (T, m, a, seed, mixing) -> series whose regions share one autoregression."""

    def make(T, m, a, seed, mixing=None):
        noise = np.random.default_rng(seed).standard_normal((T + 100, m))
        if mixing is not None:
            noise = noise @ mixing
        return lfilter([1.0], [1.0, *(-k for k in a)], noise, axis=0)[100:]

    return make


@pytest.fixture
def small():
    """a -> b <- c, b -> d e: one v-structure, so that all arrows are compelled."""
    coef = np.zeros((4, 4))
    coef[0, 1], coef[2, 1], coef[1, 3] = 0.5, -1 / 3, 2.0
    return GaussianNetwork(coef, [1, 2, 3, 4], [1.0, 0.5, 2.0, 0.25], ["a", "b", "c", "d e"])
