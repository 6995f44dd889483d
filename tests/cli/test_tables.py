import argparse

import numpy as np
import pandas as pd
import pytest

from sgbn import InputError, simulate_cohort
from sgbn.cli.tables import add_table_options, read_cohort


@pytest.fixture
def read(tmp_path):
    """Function (table, options) -> cohort, by way of the command line."""

    def run(table, *options):
        path = tmp_path / "table.csv"
        table.to_csv(path, index=False)
        parser = argparse.ArgumentParser()
        add_table_options(parser)
        return read_cohort(parser.parse_args([str(path), *options]))

    return run


@pytest.fixture
def table():
    cohort = simulate_cohort(5)
    frame = pd.DataFrame(cohort.values[:, :6], columns=cohort.regions[:6])
    frame.insert(0, "age", np.arange(10) + 20)
    frame.insert(0, "dx", ["AD", "CTR"] * 5)
    frame.insert(0, "code", [f"{k:03}" for k in range(10)])
    return frame


def test_every_option_reaches_the_reader(read, table):
    cohort = read(
        table,
        *("--group", "dx", "--id", "code", "--covariates", "age", "--groups", "AD"),
        *("--exclude", "Frontal_Mid_*", "--atlas", "AAL"),
    )
    assert cohort.ids == ("000", "002", "004", "006", "008")
    assert cohort.groups == ("AD",)
    assert cohort.covariates["age"].tolist() == [20, 22, 24, 26, 28]
    assert not any(name.startswith("Frontal_Mid") for name in cohort.regions)
    assert cohort.atlas.name == "aal"


def test_regions_are_names_patterns_or_all(read, table):
    everything = read(table, "--id", "code", "--regions", "all")
    assert everything.regions[0] == "age"
    some = table.columns[4:6].tolist()
    named = read(table, "--id", "code", "--covariates", "age", "--regions", *some)
    assert list(named.regions) == some


def test_a_number_that_is_neither_region_nor_named_stops(read, table):
    with pytest.raises(InputError, match=r"'age'(.|\n)*--exclude"):
        read(table, "--id", "code")


def test_several_tables_are_joined_as_freesurfer_writes_them(tmp_path):
    parser = argparse.ArgumentParser()
    add_table_options(parser)
    paths = []
    for hemisphere in ("lh", "rh"):
        frame = pd.DataFrame(
            {
                f"{hemisphere}.aparc.thickness": ["sub-1", "sub-2"],
                f"{hemisphere}_insula_thickness": [2.5, 2.6],
                f"{hemisphere}_cuneus_thickness": [1.5, 1.6],
                f"{hemisphere}_MeanThickness_thickness": [2.2, 2.1],
            }
        )
        paths.append(tmp_path / f"{hemisphere}.txt")
        frame.to_csv(paths[-1], sep="\t", index=False)
    cohort = read_cohort(parser.parse_args(list(map(str, paths))))
    assert len(cohort.regions) == 4
    assert cohort.ids == ("sub-1", "sub-2")
