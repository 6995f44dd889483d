"""Commands give the same files on a Dask cluster as in one process."""

import nibabel as nib
import numpy as np
import pytest

from sgbn import Cohort
from sgbn.cli.main import main
from sgbn.cohort.simulate import simulate_cohort
from sgbn.read.table import write_table

OF_ONE_RUN = ("report.html", "about.json")  # they say how long steps took, and what was typed


def files_of(folder):
    """Path -> bytes of what a command wrote, but for what differs between any two runs."""
    files = {p.relative_to(folder).as_posix(): p for p in folder.rglob("*") if p.is_file()}
    return {
        name: path.read_bytes()
        for name, path in files.items()
        if name not in OF_ONE_RUN and not name.startswith("work/")
    }


def run_both(words, folder, client):
    """Files of a command in one process, and on the cluster."""
    ways = {"here": ["--workers", "1"], "there": ["--dask", client.scheduler.address]}
    for name, way in ways.items():
        assert main([*map(str, words), "--out", str(folder / name), *way]) == 0
    return [files_of(folder / name) for name in ways]


def differing(here, there):
    return [name for name in sorted({*here, *there}) if here.get(name) != there.get(name)]


@pytest.mark.long
@pytest.mark.usefixtures("no_figures")
def test_compare(dask_client, tmp_path):
    table = tmp_path / "table.csv"
    drawn = simulate_cohort(30, regions=6)
    write_table(Cohort(drawn.values, list("abcdef"), drawn.ids, group=drawn.group), table)
    few = ["--permutations", "39", "--half-samples", "3", "--folds", "2"]
    more = ["--refinements", "KL-SGBN", "--model"]
    words = ["compare", table, "--group", "group", "--regions", "all", "--quick", *few, *more]
    here, there = run_both(words, tmp_path, dask_client)
    assert {"model.sgbn", "summary.txt", "config.toml", "tables/differences.csv"} <= set(here)
    for kind in ("networks/", "figures/", "tables/"):
        assert any(name.startswith(kind) for name in here)
    assert differing(here, there) == []


@pytest.fixture(params=["threads", pytest.param("processes", marks=pytest.mark.long)])
def client(request):
    """Client of a cluster; processes, which import everything anew, cost most of a test."""
    if request.param == "processes":
        yield request.getfixturevalue("dask_client")
        return
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": None}
    options |= {"protocol": "tcp", "host": "127.0.0.1"}  # else it asks the network for its address
    with (
        distributed.LocalCluster(processes=False, silence_logs=50, **options) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


def test_extract(client, tmp_path):
    labels = np.repeat([1.0, 2.0], 108).reshape(6, 6, 6)
    rng = np.random.default_rng(0)
    images = {"atlas": labels} | {f"sub-{k}": 1 + 0.1 * rng.random((6, 6, 6)) for k in range(4)}
    for name, data in images.items():
        nib.save(nib.Nifti1Image(data.astype(np.float32), np.eye(4)), tmp_path / f"{name}.nii")
    (tmp_path / "atlas.csv").write_text("index,name\n1,one\n2,two\n")
    atlas = ["--atlas", tmp_path / "atlas.nii", "--labels", tmp_path / "atlas.csv"]
    words = ["extract", tmp_path / "sub-*.nii", *atlas]
    here, there = run_both(words, tmp_path, client)
    assert {"regions.csv", "quality.png", "quality_subjects.csv"} <= set(here)
    of_one_run = {name for name in here if name.startswith("images/")}  # these name the command
    assert set(differing(here, there)) <= of_one_run
