import numpy as np
import pytest

from sgbn.core.exceptions import DataWarning
from sgbn.read.series import join_runs, mean_fd_of, tr_of
from sgbn.read.series_files import Volumes
from sgbn.read.series_sources import Run, SeriesName


def run(tr=None, mean_fd=None, where="'a.tsv'"):
    return Run(SeriesName("s1"), where, lambda: None, tr, mean_fd)


def volumes(array, empty=None, censored=0, lengths=None):
    empty = np.zeros(array.shape[1], bool) if empty is None else np.array(empty)
    return Volumes(array, lengths or (len(array),), empty, censored)


def test_one_run_stays_as_it_is(signals):
    joined = join_runs([volumes(signals())])
    assert np.array_equal(joined.series, signals())
    assert joined.lengths == (30,)


def test_runs_are_centred_and_scaled_each(signals):
    joined = join_runs([volumes(signals(1, 20)), volumes(50 * signals(2, 25), censored=3)])
    assert (joined.lengths, joined.censored) == ((20, 25), 3)
    for part in (joined.series[:20], joined.series[20:]):
        assert part.mean(axis=0) == pytest.approx(0, abs=1e-9)
        assert part.std(axis=0) == pytest.approx(1)


def test_a_region_that_is_empty_in_one_run_is_empty(signals):
    runs = [volumes(signals(1)), volumes(signals(2), [False, True, False])]
    joined = join_runs(runs)
    assert joined.series.any(axis=0).tolist() == [True, False, True]


def test_pieces_of_a_run_keep_the_scale_of_the_run(signals):
    cut = volumes(signals(1, 25), lengths=(10, 15), censored=2)
    assert np.array_equal(join_runs([cut]).series, signals(1, 25))
    joined = join_runs([cut, volumes(signals(2, 20))])
    assert (joined.lengths, joined.run_volumes) == ((10, 15, 20), (25, 20))
    assert joined.series[:25].std(axis=0) == pytest.approx(1)
    gone = Volumes(np.empty((0, 3)), (), np.ones(3, bool), 30)
    joined = join_runs([gone, cut])
    assert np.array_equal(joined.series, signals(1, 25))
    assert (joined.lengths, joined.run_volumes, joined.censored) == ((10, 15), (0, 25), 32)


def test_the_tr_is_that_of_the_files_if_they_agree():
    assert tr_of([run(2.0), run(2.001), run()], None) == 2.0
    assert tr_of([run()], 1.5) == 1.5
    assert tr_of([run()], None) is None
    with pytest.warns(DataWarning, match=r"the TR is not the same.* 0\.8 s for 'b', 2 s for 'a'"):
        assert tr_of([run(2.0, where="'a'"), run(0.8, where="'b'")], None) is None
    with pytest.warns(DataWarning, match=r"tr is 3 s, but .* with 'a\.tsv' is 2 s"):
        assert tr_of([run(2.0)], 3.0) == 3.0


def test_motion_counts_all_volumes():
    assert mean_fd_of([run(mean_fd=0.1), run(mean_fd=0.4)], [30, 10]) == pytest.approx(0.175)
    assert np.isnan(mean_fd_of([run(mean_fd=0.1), run()], [30, 10]))
