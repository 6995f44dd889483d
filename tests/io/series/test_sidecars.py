import json

import pandas as pd
import pytest

from sgbn.read.series_sources import Sidecars


@pytest.fixture
def series(bids):
    return bids / "sub-01" / "func" / "sub-01_task-rest_seg-A_timeseries.tsv"


@pytest.mark.parametrize(
    ("name", "said", "tr"),
    [
        ("sub-01/func/sub-01_task-rest_seg-A_timeseries.json", {"RepetitionTime": 0.8}, 0.8),
        ("sub-01/func/sub-01_task-rest_seg-A_timeseries.json", {"SamplingFrequency": 0.5}, 2.0),
        ("sub-01/func/sub-01_task-rest_bold.json", {"RepetitionTime": 3}, 3.0),
        ("task-rest_bold.json", {"RepetitionTime": 1.5}, 1.5),
        ("task-nback_bold.json", {"RepetitionTime": 1.5}, None),
        ("sub-02/func/sub-02_task-rest_bold.json", {"RepetitionTime": 3}, None),
        ("task-rest_bold.json", {"RepetitionTime": "soon"}, None),
        ("task-rest_bold.json", {"RepetitionTime": 2000}, None),
        ("task-rest_bold.json", [1], None),
    ],
)
def test_the_tr_is_that_of_the_scan(bids, series, name, said, tr):
    (bids / name).write_text(json.dumps(said))
    assert Sidecars(bids).tr(series) == tr


@pytest.mark.parametrize(
    "name", ["sub-01_task-rest_motion.tsv", "sub-01_task-rest_desc-confounds_timeseries.tsv"]
)
def test_motion_is_the_mean_over_known_volumes(series, bids, name):
    cells = pd.DataFrame({"framewise_displacement": ["n/a", 0.1, 0.3]})
    cells.to_csv(series.parent / name, sep="\t", index=False)
    assert Sidecars(bids).mean_fd(series) == pytest.approx(0.2)
    other = bids / "sub-02" / "func" / "sub-02_task-rest_seg-A_timeseries.tsv"
    assert Sidecars(bids).mean_fd(other) is None


def test_a_table_without_displacement_says_nothing(series, bids):
    (series.parent / "sub-01_task-rest_motion.tsv").write_text("trans_x\n1\n")
    assert Sidecars(bids).mean_fd(series) is None
