import numpy as np
import pytest

from sgbn.cli.main import own_error_text
from sgbn.core.graph import topological_order


def raised():
    with pytest.raises(ValueError, match="cycle") as caught:
        topological_order(np.array([[0, 1], [1, 0]]))
    return caught.value


def test_it_is_said_to_be_ours_with_place_versions_and_what_to_do():
    error = raised()
    error.add_note("in the step: Tests of differences, by permutations")
    text = own_error_text("compare", error, traced=False)
    assert text.startswith("sgbn compare: this is an error in sgbn, not in your data: ValueError: ")
    assert "\n  in the step: Tests of differences, by permutations\n" in text
    assert "\n  in sgbn/core/graph.py, line " in text
    assert f"numpy {np.__version__}" in text
    assert "again with --debug" in text


def test_once_traced_nobody_is_asked_to_trace_it():
    text = own_error_text("compare", raised(), traced=True)
    assert "--debug" not in text
    assert "Report everything above" in text


def test_an_error_that_came_through_no_file_of_ours():
    assert "in no file of sgbn" in own_error_text("check", KeyError("x"), traced=False)
