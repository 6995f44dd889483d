import numpy as np
import pytest

from sgbn.core.exceptions import InputError
from sgbn.read.series import read_series


@pytest.fixture
def archive(tmp_path, signals):
    def written(**arrays):
        path = tmp_path / "all.npz"
        np.savez(path, **({"s1": signals(1), "s2": signals(2)} | arrays))
        return path

    return written


def test_one_array_is_one_subject(archive, signals):
    cohort = read_series(archive())
    assert cohort.ids == ("s1", "s2")
    assert cohort.regions == ("r1", "r2", "r3")
    assert np.array_equal(cohort.series[1], signals(2))


def test_names_of_regions_and_tr_may_be_arrays(archive):
    cohort = read_series(archive(regions=np.array(["a", "b", "c"]), tr=np.array(2.0)))
    assert (cohort.regions, cohort.tr) == (("a", "b", "c"), 2.0)


def test_runs_are_told_by_the_names_of_arrays(tmp_path, signals):
    path = tmp_path / "runs.npz"
    np.savez(path, **{f"sub-1_run-{k}": signals(k, 20 + k) for k in (2, 1)})
    assert read_series(path).run_lengths == ((21, 22),)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"s3": np.zeros(4)}, r"all\.npz', array 's3' has 1 dimension"),
        (
            {"s3": np.ones((30, 4))},
            r"array 's3' \(subject 's3'\) has 4 columns, but .* has 3.*'r4'",
        ),
        ({"regions": np.zeros(3)}, "'regions' must be a list of the names"),
        ({"tr": np.array(-1.0)}, "'tr'.*number of seconds"),
        ({"regions": np.array(["a", "b"])}, "has 3 columns, but 2 regions are named"),
    ],
)
def test_a_wrong_array_is_named(archive, arrays, message):
    with pytest.raises(InputError, match=message):
        read_series(archive(**arrays))


def test_objects_are_refused(tmp_path):
    path = tmp_path / "all.npz"
    np.savez(path, s1=np.array([{}], dtype=object))
    with pytest.raises(InputError, match="array 's1' cannot be read"):
        read_series(path)


def test_what_is_no_archive_is_named(tmp_path):
    path = tmp_path / "all.npz"
    path.write_bytes(b"nothing")
    with pytest.raises(InputError, match=r"all\.npz' cannot be read"):
        read_series(path)
    with pytest.raises(InputError, match="there is no file"):
        read_series(tmp_path / "absent.npz")
    with pytest.raises(InputError, match=r"files= \(--files\) is for folders"):
        read_series(path, files="*")
