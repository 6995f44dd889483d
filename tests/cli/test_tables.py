import argparse

import numpy as np
import pandas as pd
import pytest

from sgbn.cli.data import add_table_options, read_cohort
from sgbn.cohort.simulate import simulate_cohort
from sgbn.core.exceptions import InputError


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


def test_an_atlas_may_be_a_table_of_ones_own(read, table, tmp_path):
    own = tmp_path / "mine.csv"
    names = [name for name in table.columns if name not in ("code", "dx", "age")]
    own.write_text("region,lobe\n" + "".join(f"{name},mine\n" for name in names))
    cohort = read(table, "--id", "code", "--exclude", "age", "--atlas", str(own))
    assert cohort.lobes == ("mine",) * 6
    assert cohort.provenance["atlas_file"] == str(own)
    with pytest.raises(InputError, match=r"gone\.csv.*desikan_killiany"):
        read(table, "--id", "code", "--atlas", str(tmp_path / "gone.csv"))


def test_regions_are_names_patterns_or_all(read, table):
    with pytest.raises(InputError, match=r"'age' \(by its name\).*--covariates age"):
        read(table, "--id", "code", "--regions", "all")
    everything = read(table, "--id", "code", "--regions", "all", "--covariates", "age")
    assert list(everything.regions) == table.columns[3:].tolist()
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


def test_a_list_given_in_parts_is_one_list(read, table):
    table = table.assign(iq=100.5, site=["a", "b"] * 5)
    some = table.columns[3:6].tolist()
    cohort = read(
        table,
        *("--id", "code", "--covariates", "age", "--covariates", "iq", "age"),
        *("--exclude", some[0], "--exclude", some[1], "--groups", "AD", "--groups", "CTR"),
        *("--group", "dx", "--missing", "-999", "--missing", "?"),
    )
    assert list(cohort.covariates) == ["age", "iq"]
    assert not {*some[:2]} & {*cohort.regions}
    assert cohort.groups == ("AD", "CTR")
    named = ("--id", "code", "--covariates", "age", "iq")
    parts = read(table, *named, "--regions", some[0], "--regions", some[1])
    assert list(parts.regions) == some[:2]


def test_several_markers_and_none(read, table):
    table = table.astype({table.columns[4]: object})
    table.iloc[2, 4], table.iloc[3, 4] = "?", -999
    named = ("--id", "code", "--covariates", "age")
    cohort = read(table, *named, "--missing", "-999", "--missing", "?")
    assert np.isnan(cohort.values).sum() == 2
    with pytest.raises(InputError, match=r"--missing -999"):
        read(table, *named, "--missing", "?")
    table.iloc[2, 4] = 1.5
    assert (read(table, *named, "--missing").values == -999).sum() == 1


def test_several_measures_in_order_of_preference(read):
    table = pd.DataFrame(
        {
            "id": ["a", "b"],
            "lh_insula_area": [1.0, 2],
            "lh_insula_thickness": [3.0, 4],
            "rh_insula_thickness": [5.0, 6],
        }
    )
    cohort = read(table, "--measure", "area", "thickness")
    assert cohort.regions == ("lh_insula_area", "rh_insula_thickness")


def test_a_sheet_is_of_one_excel_table(read, table):
    with pytest.raises(InputError, match="--sheet is for one Excel table"):
        read(table, "--freesurfer", "--sheet", "data")
    with pytest.raises(InputError, match=r"has no sheets\. .*--sheet"):
        read(table, "--sheet", "data")


def test_pairs_by_the_column_of_ids_or_by_another(read, table):
    visits = table.assign(code=[f"{k // 2:03}" for k in range(10)], person=range(10))
    named = ("--group", "dx", "--covariates", "age", "--exclude", "person")
    cohort = read(visits, *named, "--id", "code", "--pair", "code")
    assert cohort.ids[:2] == ("000 (AD)", "000 (CTR)")
    assert cohort.pair[:3].tolist() == ["000", "000", "001"]
    visits["person"] = [k // 2 for k in range(10)]
    cohort = read(visits, *named[:4], "--id", "code", "--pair", "person")
    assert cohort.pair[:3].tolist() == ["0", "0", "1"]
    assert "person" not in cohort.regions
    with pytest.raises(InputError, match="--pair"):
        read(visits, *named, "--id", "code")


def test_persons_and_families_have_columns(read, table):
    labels = [f"{dx}{k // 4}" for k, dx in enumerate(table["dx"])]
    several = table.assign(who=labels, family=["f", "g"] * 5)
    named = ("--id", "code", "--group", "dx", "--covariates", "age")
    cohort = read(several, *named, "--subject", "who", "--block", "family")
    assert cohort.person.tolist() == labels
    assert cohort.block.tolist() == ["f", "g"] * 5


def test_lobes_choose_regions_and_the_others_are_kept_in_mind(read, table):
    table["Lingual_L"], table["Cuneus_R"] = range(10), range(5, 15)
    named = ("--id", "code", "--covariates", "age")
    cohort = read(table, *named, "--lobes", "occipital", "--lobes", "occipital")
    assert cohort.regions == ("Lingual_L", "Cuneus_R")
    everything = read(table, *named)
    assert cohort.provenance["lobes"] == ["occipital"]
    assert cohort.provenance["other_lobes"] == list(everything.regions[:-2])
    assert "lobes" not in everything.provenance
    with pytest.raises(InputError, match=r"'limbic'.*occipital 2"):
        read(table, *named, "--lobes", "limbic")
    unknown = table[["code", "age"]].assign(a=range(10), b=range(10))
    with pytest.raises(InputError, match="no atlas"):
        read(unknown, *named, "--regions", "a", "b", "--lobes", "frontal")
