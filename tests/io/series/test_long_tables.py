import numpy as np
import pandas as pd
import pytest

from sgbn.core.exceptions import DataWarning, InputError
from sgbn.read.series import read_series


@pytest.fixture
def long(signals):
    def made(subjects=("s1", "s2", "s3"), volumes=15, **columns):
        parts = []
        for k, name in enumerate(subjects):
            part = pd.DataFrame(signals(k, volumes), columns=["left", "right", "front"])
            part.insert(0, "volume", range(volumes))
            part.insert(0, "dx", "AB"[k % 2])
            part.insert(0, "subject", name)
            parts.append(part)
        return pd.concat(parts, ignore_index=True).assign(**columns)

    return made


def test_each_subject_has_its_volumes(long, signals):
    cohort = read_series(long(), group="dx")
    assert cohort.ids == ("s1", "s2", "s3")
    assert cohort.group.tolist() == ["A", "B", "A"]
    assert cohort.regions == ("left", "right", "front")
    assert np.array_equal(cohort.series[2], signals(2, 15))


def test_volumes_are_sorted_by_time(long):
    frame = long()
    shuffled = frame.sample(frac=1, random_state=0)
    found, expected = read_series(shuffled, group="dx"), read_series(frame, group="dx")
    assert all(
        np.array_equal(found.series[found.ids.index(name)], one)
        for name, one in zip(expected.ids, expected.series, strict=True)
    )


def test_runs_and_sessions_have_columns(long):
    frame = long(run=[*([1] * 45)])
    both = pd.concat([frame, frame.assign(run=2)], ignore_index=True)
    assert read_series(both, group="dx").run_lengths == ((15, 15),) * 3
    visits = pd.concat([frame.assign(session="pre"), frame.assign(session="post")])
    with pytest.raises(InputError, match=r"group='session', pair='subject'"):
        read_series(visits, group="dx")
    cohort = read_series(visits, group="session", pair="subject")
    assert cohort.sizes == {"post": 3, "pre": 3}
    assert cohort.complete.all()
    one_group = read_series(visits, group="dx", subject="subject")
    assert one_group.ids[:2] == ("s1_pre", "s2_pre")
    assert one_group.person.tolist() == ["s1", "s2", "s3"] * 2


def test_covariates_are_constant_columns(long):
    frame = long(age=np.repeat([20, 30, 40], 15), scanner="one", note="x")
    cohort = read_series(frame, group="dx", covariates="age", exclude="note")
    assert cohort.covariates["age"].tolist() == [20.0, 30.0, 40.0]
    assert cohort.regions == ("left", "right", "front")


def test_numbers_that_are_the_same_in_all_volumes_are_no_regions(long, tmp_path):
    frame = long(age=np.repeat([20, 30, 40], 15), empty=np.nan)
    frame.loc[frame["subject"] == "s1", "left"] = 0.0  # an empty region of one subject stays
    frame.to_csv(tmp_path / "long.csv", index=False)
    for source in (frame, tmp_path / "long.csv"):
        with pytest.warns(DataWarning, match="1 column is the same in all volumes .*: 'age'"):
            cohort = read_series(source, group="dx")
        assert cohort.regions == ("left", "right", "front", "empty")
        assert cohort.provenance["constant"] == ["age"]
    named = read_series(frame, group="dx", covariates="age")
    assert named.covariates["age"].tolist() == [20.0, 30.0, 40.0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda frame: frame.drop(columns="subject"),
            "no column was recognized as .*--id",
        ),
        (lambda frame: frame.drop(columns="volume"), "no column that counts the volumes"),
        (
            lambda frame: frame.assign(volume=1),
            "'volume' does not count the volumes in the rows of subject 's1'",
        ),
        (
            lambda frame: frame.assign(dx=["A", "B"] * 22 + ["A"]),
            r"row 1 .*column 'dx': the label is 'B', but other rows of subject 's1' have 'A'",
        ),
    ],
)
def test_what_is_wrong_is_said(long, change, message):
    with pytest.raises(InputError, match=message):
        read_series(change(long()), group="dx")


def test_text_among_numbers_names_row_and_region(long, tmp_path):
    frame = long().astype(object)
    frame.loc[20, "right"] = "oops"
    frame.to_csv(tmp_path / "long.csv", index=False)
    with pytest.raises(InputError, match=r"row 22 \(subject 's2'\), column 'right': 'oops' is no"):
        read_series(tmp_path / "long.csv", group="dx")
