import numpy as np
import pandas as pd
import pytest

REGIONS = ("left", "right", "front")


@pytest.fixture
def signals():
    """Function (seed, volumes, regions) -> an array of a subject."""

    def made(seed=0, volumes=30, regions=3):
        return np.random.default_rng(seed).standard_normal((volumes, regions)) + 100.0

    return made


@pytest.fixture
def write(tmp_path, signals):
    """Function (name, seed, ...) -> path of a TSV file of a subject in a folder."""

    def written(name, seed=0, volumes=30, regions=REGIONS, change=None, folder="series"):
        path = tmp_path / folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        frame = pd.DataFrame(signals(seed, volumes, len(regions)), columns=list(regions))
        if change is not None:
            frame = change(frame.astype(object))
        frame.to_csv(path, sep="\t", index=False, na_rep="n/a")
        return path

    return written


@pytest.fixture
def people():
    """Table of four participants."""
    ids = [f"sub-0{k}" for k in range(1, 5)]
    return pd.DataFrame({"participant_id": ids, "dx": list("ABAB"), "age": [20, 30, 40, 50]})


@pytest.fixture
def bids(tmp_path, write, people):
    """Folder of four subjects in BIDS, with participants.tsv."""
    for k in range(1, 5):
        write(f"sub-0{k}/func/sub-0{k}_task-rest_seg-A_timeseries.tsv", k)
    people.to_csv(tmp_path / "series" / "participants.tsv", sep="\t", index=False)
    return tmp_path / "series"
