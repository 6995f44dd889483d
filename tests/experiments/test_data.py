import numpy as np
import pandas as pd
import pytest

from sgbn import InputError
from sgbn.experiments.data import data_folder, read_cobre


def test_the_folder_is_named_by_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("SGBN_DATA", str(tmp_path))
    assert data_folder() == tmp_path
    monkeypatch.setenv("SGBN_DATA", str(tmp_path / "absent"))
    with pytest.raises(InputError, match="absent', which is no folder"):
        data_folder()
    monkeypatch.delenv("SGBN_DATA")
    monkeypatch.chdir(tmp_path)
    assert data_folder() is None


def test_the_regions_that_differ_most_are_chosen(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.standard_normal((60, 6)), columns=list("abcdef"))
    group = np.repeat(["SCZ", "CTR"], 30)
    table.loc[group == "SCZ", ["b", "e"]] += 3.0
    table.insert(0, "subject_id", [f"s{k}" for k in range(60)])
    table.insert(1, "group", group)
    table.insert(2, "age", 40)
    (tmp_path / "neuro").mkdir()
    table.to_csv(tmp_path / "neuro" / "cobre_scz.csv", index=False)
    read = read_cobre(tmp_path, n_regions=2)
    assert read.regions == ["b", "e"]
    assert read.values.shape == (60, 2)
    assert sorted(set(read.group)) == ["CTR", "SCZ"]


def test_the_real_table_has_the_stated_size():
    folder = data_folder()
    if folder is None or not (folder / "neuro" / "cobre_scz.csv").exists():
        pytest.skip("the COBRE table is not part of the package: set SGBN_DATA to its folder")
    read = read_cobre(folder)
    assert read.values.shape == (124, 40)
    assert (read.group == "SCZ").sum() == 61
