import numpy as np
import pandas as pd
import pytest

from sgbn import Cohort, InputError
from sgbn.inference.rows import check_count, check_share, read_groups, read_rows, region_index


@pytest.fixture
def cohort():
    values = np.arange(12.0).reshape(6, 2) ** 2
    ids = [f"s{k}" for k in range(6)]
    return Cohort(values, ("insula", "amygdala"), ids, group=["AD", "NC"] * 3)


def test_rows_of_a_table_an_array_and_a_group(cohort):
    table = pd.DataFrame(cohort.values, columns=["a", "b"])
    assert read_rows(table).names == ["a", "b"]
    assert read_rows(cohort.values).names == ["x0", "x1"]
    rows = read_rows(cohort, "NC")
    assert rows.names == ["insula", "amygdala"]
    np.testing.assert_array_equal(rows.values, cohort.values[1::2])
    np.testing.assert_array_equal(read_rows(cohort.subset(groups="AD")).values, cohort.values[::2])


def test_a_group_must_be_named_where_there_are_several(cohort):
    with pytest.raises(InputError, match=r"\['AD', 'NC'\]: name one of them with group="):
        read_rows(cohort)
    with pytest.raises(InputError, match="needs a Cohort"):
        read_rows(cohort.values, "AD")


def test_a_missing_cell_is_named_by_region_and_subject(cohort):
    values = cohort.values.copy()
    values[3, 1] = np.nan
    holes = Cohort(values, cohort.regions, cohort.ids, group=cohort.group)
    assert len(read_rows(holes, "AD").values) == 3
    with pytest.raises(InputError, match=r"'amygdala' of subject 's3' is missing .*RegionImputer"):
        read_rows(holes, "NC")


def test_groups_of_a_cohort_and_of_a_mapping_are_the_same(cohort):
    by_name = {name: cohort.of_group(name) for name in cohort.groups}
    for name, rows in read_groups(cohort).items():
        np.testing.assert_array_equal(rows.values, read_groups(by_name)[name].values)


def test_groups_must_be_two_with_the_same_columns(cohort):
    with pytest.raises(InputError, match="1 groups are given"):
        read_groups({"AD": cohort.values})
    with pytest.raises(InputError, match="give a Cohort, or a mapping"):
        read_groups(cohort.values)
    tables = {"AD": pd.DataFrame(cohort.values), "NC": pd.DataFrame(cohort.values)[[1, 0]]}
    with pytest.raises(InputError, match="'AD' and 'NC' have other columns"):
        read_groups(tables)


def test_unknown_regions_and_wrong_numbers_are_refused():
    assert region_index("b", ["a", "b"]) == 1
    with pytest.raises(InputError, match=r"no region is called 'insola'.*'insula'"):
        region_index("insola", ["insula"])
    for value in (0, 1.5, True, "3"):
        with pytest.raises(InputError, match=r"n_pairs is .* whole number from 1 on"):
            check_count(value, "n_pairs", 1)
    for value in (0.0, 1.0, np.nan, "0.9"):
        with pytest.raises(InputError, match=r"level is .* between 0 and 1"):
            check_share(value, "level")
