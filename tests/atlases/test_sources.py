"""Names, paths and atlases stand for an atlas."""

from __future__ import annotations

import pytest

import sgbn
from sgbn.cohort.atlas import as_atlas, load_atlas, names_table, read_atlas
from sgbn.cohort.region_names import match_columns
from sgbn.core.exceptions import InputError

TABLE = "region,hemisphere,lobe,x,y,z,volume_mm3\n" + "".join(
    f"area {k} {side},{side},lobe {k % 3},{10 if side == 'R' else -10},{k},5,1000\n"
    for k in range(6)
    for side in "LR"
)


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text(TABLE)
    return path


def test_a_name_a_path_and_an_atlas_stand_for_one(path):
    own = read_atlas(path)
    assert as_atlas(own) is own
    assert as_atlas(str(path)) == as_atlas(path) == own
    assert as_atlas("dk") is load_atlas("desikan_killiany")
    assert match_columns(["area 1 L"], path).columns[0].region == own.regions[2]


def test_everything_that_takes_an_atlas_takes_its_path(path, tmp_path):
    cohort = sgbn.simulate_cohort(20, atlas=str(path), regions=6)
    assert cohort.atlas == read_atlas(path)
    series = sgbn.simulate_series(6, 60, atlas=path, regions=6)
    assert series.atlas == cohort.atlas
    table = tmp_path / "table.csv"
    sgbn.write_table(cohort, table)
    read = sgbn.read_table(table, group="group", atlas=path)
    assert read.lobes == cohort.lobes
    network = next(iter(cohort.networks.values()))
    nodes = sgbn.node_table(network, path)
    assert set(nodes["lobe"]) == set(cohort.lobes)
    written = sgbn.export_network(network, tmp_path / "out" / "net", str(path))
    assert tmp_path / "out" / "net.node" in written


def test_a_file_counts_where_no_atlas_is_called_so(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("aal", "regions"):
        (tmp_path / name).write_text(TABLE)
    assert as_atlas("regions").regions == read_atlas(path).regions
    assert as_atlas("aal") is load_atlas("aal")
    assert names_table("gone.tsv")
    assert not names_table("gone")
    assert names_table("mine.csv", "elsewhere")
    assert names_table("regions", tmp_path)
    assert not names_table("regions", tmp_path / "elsewhere")


@pytest.mark.parametrize("atlas", ["brodmann", "gone.csv"])
def test_what_is_neither_is_told_of_names_and_columns(atlas):
    with pytest.raises(InputError, match=atlas) as error:
        as_atlas(atlas)
    assert "destrieux" in str(error.value)
    assert "region, hemisphere, lobe, x, y, z and, if known, volume_mm3" in str(error.value)


def test_an_image_and_other_things_are_named(tmp_path):
    with pytest.raises(InputError, match=r"aal\.nii\.gz' is an image.*sgbn extract"):
        as_atlas(tmp_path / "aal.nii.gz")
    with pytest.raises(InputError, match="atlas is 5"):
        as_atlas(5)
