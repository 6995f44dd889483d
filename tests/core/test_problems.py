import ast
import pickle
import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import sgbn
from sgbn.core.problems import (
    CycleError,
    DataWarning,
    InputError,
    counted,
    did_you_mean,
    listed,
    warn,
)
from sgbn.inference.replication import replicate_differences


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


def test_warnings_skip_what_lies_between_sgbn_and_its_caller():
    cohort = sgbn.simulate_cohort(30, regions=4, n_changed=1)
    pipeline = make_pipeline(StandardScaler(), sgbn.ORSGBN(0.3))
    twins = np.repeat(cohort.values[:, :2], 2, axis=1)
    with pytest.warns(DataWarning) as by_scikit_learn:
        pipeline.fit(twins)
    with pytest.warns(DataWarning) as by_contextlib:
        replicate_differences(cohort, n_permutations=19)
    assert {one.filename for one in (*by_scikit_learn, *by_contextlib)} == {__file__}


def test_long_lists_are_cut_and_numbers_of_numpy_look_like_numbers():
    assert listed(list("abc"), 2) == "'a', 'b' and 1 more"
    assert listed([np.int64(3), np.str_("x")]) == "3, 'x'"


def test_a_count_agrees_with_its_noun():
    assert [counted(n, "row") for n in (0, 1, 2)] == ["0 rows", "1 row", "2 rows"]
    assert counted(1, "row lacks", "rows lack") == "1 row lacks"
    assert counted(np.int64(3), "row lacks", "rows lack") == "3 rows lack"


def test_names_that_look_alike_are_offered():
    assert did_you_mean("Diagnosis", ["diagnosis", "age"]) == "Did you mean 'diagnosis'?"
    assert did_you_mean("x", ["diagnosis", "age"]) == "There are 'diagnosis', 'age'."


RAISED = {"InputError", "StudyError", "warn"}
# words that scikit-learn's checks look for, and a matrix's name
PARTS = (
    "Numbers that are labels",
    "requires y to be passed",
    "Input X",
    "Found array",
    "Phi'Phi",
)


def text_of(node):
    """Text of a message in the source, with ``{}`` for what is filled in."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(map(text_of, node.values))
    if isinstance(node, ast.BinOp):
        return text_of(node.left) + text_of(node.right)
    return "{}"


def messages():
    """Place and text of each message that the package raises or warns with."""
    root = Path(sgbn.__file__).parent
    for path in sorted(root.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in RAISED and node.args:
                message = text_of(node.args[0])
                place = f"{path.relative_to(root).as_posix()}: {message}"
                if message.strip("{} ") and not any(part in place for part in PARTS):
                    yield place, message


def test_every_message_is_a_sentence_that_says_what_to_do():
    found = dict(messages())
    assert len(found) > 300
    for place, message in found.items():
        assert message.endswith((".", "?", "{}")), place
        assert not re.match(r"[A-Z][a-z]", message), place
        # what is wrong and what to do: two sentences, or two parts of one; what is wrong with a
        # model file is the first part, and who opens the file adds its name and the remedy
        if not place.startswith("write/model_"):
            assert len(re.split(r"[.:;,(] ", message)) > 1, place
        assert "!" not in message, place
        assert not re.search(r"\b(please|invalid|illegal)\b", message, re.I), place
