"""The atlas that `sgbn extract` wrote is found beside a table, and no other is."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from sgbn.core.exceptions import InputError
from sgbn.read.roles import extracted_atlas
from sgbn.read.series import read_series
from sgbn.read.table import read_table

HEADER = "region,hemisphere,lobe,x,y,z,volume_mm3"
REGIONS = ["Area one", "Area two", "Cortex_L", "Insula_L"]  # one is called like a total
EXTRACTED = f"{HEADER},label_image\n" + "".join(
    f"{name},L,lobe {k % 2},-{k + 1},2,3,8,mine.nii.gz\n" for k, name in enumerate(REGIONS)
)


@pytest.fixture
def folder(tmp_path):
    values = np.random.default_rng(0).normal(size=(12, 4))
    table = pd.DataFrame(values, columns=REGIONS)
    table.insert(0, "subject_id", [f"s{k}" for k in range(12)])
    table.to_csv(tmp_path / "regions.csv", index=False)
    (tmp_path / "atlas.csv").write_text(EXTRACTED)
    return tmp_path


def test_it_says_which_columns_are_regions_and_where_they_lie(folder):
    cohort = read_table(folder / "regions.csv")
    assert cohort.regions == tuple(REGIONS)
    assert cohort.lobes == ("lobe 0", "lobe 1", "lobe 0", "lobe 1")
    assert cohort.provenance["atlas_file"] == str(folder / "atlas.csv")
    assert "4 regions (mine.nii.gz)" in cohort.summary()


def test_a_table_of_somebody_elses_is_not_taken(folder):
    lines = [line.rpartition(",")[0] for line in EXTRACTED.splitlines()]
    (folder / "atlas.csv").write_text("\n".join(lines))
    assert extracted_atlas(folder / "regions.csv") is None
    with pytest.raises(InputError, match=r"0 columns match an atlas.*--atlas"):
        read_table(folder / "regions.csv")
    asked = read_table(folder / "regions.csv", atlas=folder / "atlas.csv")
    assert asked.regions == tuple(REGIONS)


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b"a" * 100_000])
def test_a_file_that_is_no_atlas_is_nobodys(folder, content):
    (folder / "atlas.csv").write_bytes(content)
    assert extracted_atlas(folder / "regions.csv") is None


def test_one_that_was_damaged_is_named(folder):
    (folder / "atlas.csv").write_text(EXTRACTED.replace("-1,2", "here,2"))
    with pytest.raises(InputError, match=r"atlas\.csv', row 2, column 'x'"):
        read_table(folder / "regions.csv")


def test_an_atlas_of_the_package_goes_before_if_it_knows_as_much(folder):
    names = ["Insula_L", "Precentral_L", "Postcentral_L", "Hippocampus_L"]
    rows = [f"{name},L,mine,-1,2,3,8,aal.nii\n" for name in names]
    (folder / "atlas.csv").write_text(f"{HEADER},label_image\n" + "".join(rows))
    table = pd.read_csv(folder / "regions.csv")
    table.columns = ["subject_id", *names]
    table.to_csv(folder / "regions.csv", index=False)
    assert read_table(folder / "regions.csv").atlas.name == "aal"
    table.rename(columns={"Precentral_L": "Area"}).to_csv(folder / "regions.csv", index=False)
    (folder / "atlas.csv").write_text(
        f"{HEADER},label_image\n" + "".join(rows).replace("Precentral_L", "Area")
    )
    assert read_table(folder / "regions.csv").lobes == ("mine",) * 4


def test_one_that_is_named_is_taken(folder):
    (folder / "other.csv").write_text(EXTRACTED.replace("lobe", "network"))
    cohort = read_table(folder / "regions.csv", atlas=folder / "other.csv")
    assert cohort.lobes[0] == "network 0"


def test_series_have_it_in_their_folder(folder):
    rng = np.random.default_rng(0)
    series = folder / "series"
    series.mkdir()
    for k in range(4):
        table = pd.DataFrame(rng.normal(size=(40, 4)), columns=REGIONS)
        table.to_csv(series / f"sub-{k}_timeseries.tsv", sep="\t", index=False)
    (series / "atlas.csv").write_text(EXTRACTED)
    cohort = read_series(series)
    assert cohort.regions == tuple(REGIONS)
    assert cohort.lobes == ("lobe 0", "lobe 1", "lobe 0", "lobe 1")
    (series / "atlas.csv").unlink()
    assert read_series(series).regions == ("Area one", "Area two", "Insula_L")
