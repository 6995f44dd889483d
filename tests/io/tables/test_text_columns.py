import warnings

import numpy as np
import pandas as pd
import pytest

from sgbn.core.exceptions import DataWarning, InputError
from sgbn.read.table import read_table

N = 20


def table(cells, name="other", of_atlas=False):
    names = ["lh_insula", "rh_insula", "lh_cuneus"] if of_atlas else ["a", "b", "c"]
    values = np.random.default_rng(0).normal(3, 0.2, (N, 3))
    frame = pd.DataFrame(values, columns=names)
    frame.insert(0, "subject_id", [f"s{k:02}" for k in range(N)])
    numbers = [f"{2 + k / 8}" for k in range(N)]
    return frame.assign(**{name: [*cells, *numbers[len(cells) :]]})


@pytest.mark.parametrize(
    ("cells", "first"),
    [
        (["<LLOD"] * 5, "<LLOD"),
        (["<0.5"] * N, "<0.5"),
        (["39,347"] * N, "39,347"),
        (["1.234.567"] * N, "1.234.567"),
        (["01.02.2020"] * 18, "01.02.2020"),
        (["#DIV/0!"] * N, "#DIV/0!"),
    ],
)
def test_a_column_of_numbers_with_much_text_does_not_go_silently(cells, first):
    message = (
        rf"row 0 .*\(subject 's00'\), column 'other': the column holds '{first}', which .*"
        rf"\({len(cells)} such cells in this column\)\..*the column is left out.*"
        r"exclude=, --exclude\)\.$"
    )
    with pytest.warns(DataWarning, match=message):
        cohort = read_table(table(cells), regions="all")
    assert cohort.regions == ("a", "b", "c")
    assert cohort.provenance["ignored"] == ["other"]


def test_one_warning_lists_all_columns_and_exclusion_silences_it():
    made = table(["<1"] * 8).assign(later=["7,5"] * N)
    with pytest.warns(DataWarning, match=r"column 'other'.*The same is true of 'later'\.$"):
        read_table(made, regions="all")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_table(made, regions="all", exclude=["other", "later"])


@pytest.mark.parametrize(
    "cells",
    [
        [f"Mr {k}" for k in range(N)],
        ["good", "motion"] * (N // 2),
        [f"{k + 1:02}.02.2020" for k in range(N)],
        ["T1", "T2, T1"] * (N // 2),
        ["no remark"] * 19,
        [True, False] * (N // 2),
        [None] * N,
    ],
)
def test_a_column_without_numbers_makes_no_noise(cells):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_table(table(cells), regions="all").regions == ("a", "b", "c")


@pytest.mark.parametrize("cell", ["<LLOD", "39,347", "01.02.2020", "n.b."])
@pytest.mark.parametrize("count", [1, 5, N])
def test_text_in_a_region_of_the_atlas_is_an_error(cell, count):
    made = table([cell] * count, "rh_cuneus", of_atlas=True)
    message = rf"row 0 .*'s00'\), column 'rh_cuneus': the region holds '{cell}', which is not a num"
    with pytest.raises(InputError, match=message) as error:
        read_table(made, regions="all")
    assert ("exclude=" in str(error.value)) == (count > 1)
    assert len(read_table(made, regions="all", exclude="rh_cuneus").regions) == 3
