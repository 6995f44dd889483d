import numpy as np
import pandas as pd
import pytest

from sgbn.core.exceptions import InputError
from sgbn.read.cells import Missing
from sgbn.read.series_files import Marks, check_same_columns, from_array, load_series, read_volumes


@pytest.fixture
def table(signals):
    def made(change=None, **shape):
        array = signals(**shape)
        if change is not None:
            change(array)
        found = from_array(array, "'s1.npy'", [f"x{j}" for j in range(array.shape[1])])
        return pd.DataFrame(found.frame), found

    return made


def volumes(found, regions=("x0", "x1", "x2")):
    return read_volumes(found, regions, Missing())


def test_volumes_without_any_value_cut_the_run(table, signals):
    def censor(array):
        array[[3, 4, 15, 29]] = np.nan

    read = volumes(table(censor)[1])
    assert (read.lengths, read.censored, read.short) == ((10, 13), 4, 3)
    assert np.array_equal(read.values, np.delete(signals(), [0, 1, 2, 3, 4, 15, 29], axis=0))
    assert not read.empty.any()


@pytest.mark.parametrize("separate", ["\n", "\n\n"], ids=["lines", "blank lines between"])
def test_lines_of_a_text_file_without_any_value_cut_the_run(tmp_path, separate):
    lines = [f"{k}.5\t{k * k}.25" for k in range(30)]
    lines[12] = "n/a\tn/a"
    (tmp_path / "a.tsv").write_text(separate.join(lines))
    read = volumes(load_series(tmp_path / "a.tsv", Marks()), ("r1", "r2"))
    assert (read.lengths, read.censored) == ((12, 17), 1)


def test_a_region_without_values_is_empty_and_so_is_a_constant_one(table):
    def change(array):
        array[:, 0] = np.nan
        array[:, 2] = 7.0

    assert volumes(table(change)[1]).empty.tolist() == [True, False, True]


def test_other_missing_cells_name_volume_and_region(table):
    def change(array):
        array[5] = np.nan
        array[8, 1] = np.nan

    with pytest.raises(InputError, match=r"'s1\.npy', volume 9, column 'x1': the value is missing"):
        volumes(table(change)[1])


@pytest.mark.parametrize("value", [np.inf, 1e200])
def test_infinity_is_refused(table, value):
    def change(array):
        array[2, 1] = value

    with pytest.raises(InputError, match=r"volume 3, column 'x1': .* finite number"):
        volumes(table(change)[1])


def test_too_few_volumes_are_refused(table):
    with pytest.raises(InputError, match="has 9 volumes, but a series needs at least 10"):
        volumes(table(volumes=9)[1])


def test_nothing_is_left_of_a_run_without_ten_volumes_in_a_row(table):
    def change(array):
        array[9::10] = np.nan

    read = volumes(table(change)[1])
    assert (read.values.shape, read.lengths, read.censored, read.short) == ((0, 3), (), 3, 27)


def test_regions_are_taken_by_name(table):
    _, found = table()
    assert np.array_equal(volumes(found, ("x2", "x0")).values, found.frame[["x2", "x0"]])


def test_a_region_that_is_absent_or_new_is_named(table):
    _, first = table()
    _, wider = table(regions=4)
    with pytest.raises(InputError, match=r"has no column 'x3', which is a region of other series"):
        volumes(first, ("x0", "x3"))
    with pytest.raises(InputError, match=r"has 4 columns, but .* has 3.*'x3'"):
        check_same_columns(first, wider, [])
    check_same_columns(first, wider, ["x3"])


def test_rows_and_columns_that_may_be_exchanged_are_said(table):
    _, first = table(volumes=30, regions=12)
    _, turned = table(volumes=12, regions=30)
    with pytest.raises(InputError, match="may be exchanged: write one row per volume"):
        check_same_columns(first, turned, [])
    _, longer = table(volumes=25, regions=11)
    with pytest.raises(InputError) as error:
        check_same_columns(first, longer, [])
    assert "exchanged" not in str(error.value)
