import numpy as np
import pandas as pd
import pytest

from sgbn.core.exceptions import InputError
from sgbn.write.tables import to_frame

RECORDS = np.array(
    [("a", "b", 0.5), ("b", "c", -1.0)], [("source", "U1"), ("target", "U1"), ("w", float)]
)


@pytest.mark.parametrize("records", [RECORDS, RECORDS.view(np.recarray)])
def test_records_become_a_table_with_their_columns(records):
    expected = pd.DataFrame({"source": ["a", "b"], "target": ["b", "c"], "w": [0.5, -1.0]})
    pd.testing.assert_frame_equal(to_frame(records), expected)
    assert list(to_frame(records[:0]).columns) == ["source", "target", "w"]


def test_records_of_a_mapping_stand_below_each_other_with_their_keys():
    found = to_frame({("x", "y"): RECORDS, ("x", "z"): RECORDS[:1]}, "group", "other")
    assert list(found.columns) == ["group", "other", "source", "target", "w"]
    assert found["other"].tolist() == ["y", "y", "z"]
    assert found.index.tolist() == [0, 1, 2]
    assert to_frame({"CL": RECORDS}, "method")["method"].tolist() == ["CL", "CL"]
    assert to_frame({}, "method").empty


def test_what_is_no_record_is_refused_with_what_to_give():
    for value in (np.zeros((2, 2)), [1, 2], None):
        with pytest.raises(InputError, match=r"structured array\. Give the result of"):
            to_frame(value)
    with pytest.raises(InputError, match="give a mapping of key to records"):
        to_frame(RECORDS, "group")
    with pytest.raises(InputError, match=r"\('x', 'y'\) .* needs 2 names"):
        to_frame({("x", "y"): RECORDS}, "group")
