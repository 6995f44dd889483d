import pandas as pd
import pytest

from sgbn.read.series import is_series
from sgbn.read.table import read_table


@pytest.fixture
def frame():
    ids = [f"s{k}" for k in range(3) for _ in range(12)]
    return pd.DataFrame({"id": ids, "volume": [*range(12)] * 3, "x": range(36), "y": range(36)})


def test_folders_and_archives_are_series(tmp_path):
    assert is_series(tmp_path)
    assert is_series(tmp_path / "any.npz")
    assert not is_series(None)
    assert not is_series(tmp_path / "absent.csv")


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.xlsx", "t.csv.gz"])
def test_a_long_table_is_known_by_its_columns(frame, tmp_path, name):
    path = tmp_path / name
    if path.suffix == ".xlsx":
        frame.to_excel(path, index=False)
    else:
        frame.to_csv(path, index=False, sep="\t" if "tsv" in name else ",")
    assert is_series(path)
    assert is_series(frame)


def test_visits_are_no_volumes(frame, tmp_path):
    visits = frame[frame["volume"] < 3].rename(columns={"volume": "time"})
    assert not is_series(visits)
    once = frame.assign(id=[f"s{k}" for k in range(36)])
    assert not is_series(once)
    assert not is_series(frame.drop(columns="volume"))
    assert not is_series(frame.assign(volume=1))
    once.to_csv(tmp_path / "t.csv", index=False)
    assert not is_series(tmp_path / "t.csv")
    assert len(read_table(once, regions="all", exclude="volume")) == 36


def test_columns_may_be_named(frame):
    named = frame.rename(columns={"id": "who"})
    assert not is_series(named)
    assert is_series(named, id="who")
