import pickle

import numpy as np
import pytest

from sgbn import CycleError, DataWarning, InputError
from sgbn.exceptions import did_you_mean, listed, warn


def test_a_cycle_error_names_the_cycle_and_the_remedy():
    error = CycleError(["hippocampus", "insula", "hippocampus"])
    assert "hippocampus -> insula -> hippocampus" in str(error)
    assert "Remove one of these edges" in str(error)


def test_input_errors_are_value_errors():
    assert issubclass(InputError, ValueError)
    assert issubclass(CycleError, InputError)


def test_a_cycle_error_survives_the_way_back_from_a_worker_process():
    error = pickle.loads(pickle.dumps(CycleError(["a", "b", "a"])))  # noqa: S301
    assert error.cycle == ["a", "b", "a"]


def test_warnings_skip_the_frames_of_sgbn():
    with pytest.warns(DataWarning, match="odd") as caught:
        warn("odd")
    assert caught[0].filename == __file__


def test_long_lists_are_cut_and_numbers_of_numpy_look_like_numbers():
    assert listed(list("abc"), 2) == "'a', 'b' and 1 more"
    assert listed([np.int64(3), np.str_("x")]) == "3, 'x'"


def test_names_that_look_alike_are_offered():
    assert did_you_mean("Diagnosis", ["diagnosis", "age"]) == "Did you mean 'diagnosis'?"
    assert did_you_mean("x", ["diagnosis", "age"]) == "There are 'diagnosis', 'age'."
