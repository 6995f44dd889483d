import ast
import pickle
import re
from pathlib import Path
from string import Formatter

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import sgbn
from sgbn.core.problems import (
    PEOPLE,
    CycleError,
    DataWarning,
    Finding,
    InputError,
    Problem,
    counted,
    did_you_mean,
    listed,
    problem_of,
    speaking,
)
from sgbn.inference.replication import replicate_differences

ROWS = Problem("rows.few", n=1, group="a", argument="alpha", near=did_you_mean("x", ["xy"])).says(
    "{group} has {n:row}, and {argument} is too small", "Give {least=5} or {how='lasso'}. {near}"
)
PLACE = Problem("rows.gap", subjects=["maria", "B1"], subject="12", file=Path("maria.csv")).says(
    "{file} lacks a cell of {subject} and of {subjects}"
)


def test_a_message_speaks_python_or_the_command():
    assert str(ROWS) == (
        "'a' has 1 row, and alpha is too small. Give least=5 or how='lasso'. Did you mean 'xy'?"
    )
    with speaking(options={"alpha": "--alpha", "least": "--fewest", "how": "--how"}):
        assert str(ROWS) == (
            "'a' has 1 row, and --alpha is too small. Give --fewest 5 or --how lasso. "
            "Did you mean 'xy'?"
        )


def test_a_message_counts_the_people_that_it_may_not_name():
    assert str(PLACE) == ("'maria.csv' lacks a cell of subject '12' and of subjects 'maria', 'B1'.")
    with speaking(people=False) as front:
        assert str(PLACE) == "'maria.csv' lacks a cell of a subject and of 2 subjects."
        assert front.withheld == {"subject"}
    with speaking(people=False, places=False):
        assert str(PLACE) == "a file lacks a cell of a subject and of 2 subjects."


def test_a_kept_message_has_lost_the_names_of_people_and_nothing_else():
    kept = PLACE.to_json()
    assert "maria'" not in kept
    assert "B1" not in kept
    again = Problem.from_json(kept)
    with speaking(people=False):
        assert str(again) == str(PLACE)
    assert str(again) == "'maria.csv' lacks a cell of a subject and of 2 subjects."
    assert str(Problem.from_json(ROWS.to_json())) == str(ROWS)


def test_values_are_quoted_listed_counted_and_formatted():
    problem = Problem(
        "all", name="a", names=list("ab"), n=2, sd=0.123, cell=np.str_("x"), more=list("abc")
    ).says(
        "{name} {name:s} {names} {names:s} {n} {n:row lacks/rows lack} {sd:.2g} {cell} {more:row}"
    )
    assert str(problem) == "'a' a 'a', 'b' a, b 2 2 rows lack 0.12 'x' 3 rows."


def test_an_error_within_a_message_says_its_own_message():
    outer = InputError("part", cause=InputError("rows.few", n=1).says("{n:row}", "Give more."))
    outer.says("in a part: {cause}")
    assert str(outer) == "in a part: 1 row. Give more."


def test_words_of_other_libraries_are_not_shown_in_files_that_are_passed_on():
    problem = problem_of(KeyError("maria"))
    assert "maria" in str(problem)
    with speaking(people=False, places=False):
        assert str(problem) == "KeyError."


def test_errors_and_findings_survive_the_way_back_from_a_worker_process():
    for error in (InputError("rows.few", n=1).says("{n:row}"), CycleError(["a", "b", "a"])):
        again = pickle.loads(pickle.dumps(error))  # noqa: S301
        assert (str(again), again.problem.code) == (str(error), error.problem.code)
    assert CycleError(["a", "b", "a"]).cycle == ["a", "b", "a"]
    assert issubclass(CycleError, InputError)
    assert issubclass(InputError, ValueError)
    finding = Finding("stop", "groups.one", group="a").says("only {group}").leaving_out(["x"])
    assert str(pickle.loads(pickle.dumps(finding))) == "stop: only 'a'."  # noqa: S301


def test_warnings_skip_the_frames_of_sgbn():
    with pytest.warns(DataWarning, match="odd") as caught:
        Problem("odd").warn("odd")
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
    assert [counted(n, "row") for n in (0, 1, np.int64(2))] == ["0 rows", "1 row", "2 rows"]


def test_names_that_look_alike_are_offered():
    assert str(did_you_mean("Diagnosis", ["diagnosis", "age"])) == "Did you mean 'diagnosis'?"
    assert str(did_you_mean("x", ["diagnosis", "age"])) == "There are 'diagnosis', 'age'."


PIP = re.compile(r"pip install [^.]*")
SPEAKERS = {"says", "warn"}
TOLD = {"InputError", "StudyError", "DataWarning", "OptionError", "Problem", "Finding"}
ROOT = Path(sgbn.__file__).parent


def _literal(node, constants):
    """The text of a literal or of a module's constant; None for anything that is computed."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.Name) and node.id in constants:
        return _literal(constants[node.id], constants)
    if isinstance(node, ast.Subscript):  # of a module's table of texts
        table = constants.get(getattr(node.value, "id", None))
        texts = [_literal(text, constants) for text in getattr(table, "values", ())]
        return " ".join(texts) if texts and None not in texts else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):  # of a module's constants
        parts = [_literal(part, constants) for part in (node.left, node.right)]
        return None if None in parts else "".join(parts)
    return None


def _constants():
    """The constants of all modules, by name."""
    return {
        target.id: node.value
        for path in sorted(ROOT.rglob("*.py"))
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def _messages():
    """Place, code, known values, and both parts of each message of the package."""
    constants = _constants()
    for path in sorted(ROOT.rglob("*.py")):
        if path.name == "problems.py":
            continue
        tree = ast.parse(path.read_text())
        for node in ast.walk(tree):
            if not (isinstance(node, ast.Call) and getattr(node.func, "attr", "") in SPEAKERS):
                continue
            made = node.func.value  # InputError(...).says(...)
            if ast.unparse(made) in ("warnings", "self.problem", "super()"):
                continue
            place = f"{path.relative_to(ROOT).as_posix()}:{node.lineno}"
            known = isinstance(made, ast.Call) and getattr(made.func, "id", "") in TOLD
            # Of a message that was made before, or by another function, only the texts are known.
            given = {keyword.arg for keyword in made.keywords} if known else {None}
            args = made.args if known else [ast.Constant("a")]
            codes = [arg.value if isinstance(arg, ast.Constant) else "a" for arg in args]
            yield place, codes, given, [_literal(part, constants) for part in node.args[:2]]


def test_every_message_is_two_literals_whose_fields_are_given():
    found = list(_messages())
    assert len(found) > 600
    for place, _, given, parts in found:
        assert None not in parts, f"{place}: a part is computed; give values in place of texts"
        fields = [name for part in parts for _, name, _, _ in Formatter().parse(part) if name]
        lacking = {name for name in fields if "=" not in name} - given
        assert not lacking or None in given, f"{place}: no value for {lacking}"  # None: **values


def test_every_message_says_what_is_wrong_and_then_what_to_do():
    for place, codes, _, parts in _messages():
        what, remedy = (*parts, "")[:2]
        assert codes, f"{place} has no code"
        assert re.fullmatch(r"[a-z0-9]+([.-][a-z0-9]+)*", codes[-1]), f"{place}: {codes}"
        assert not what.endswith("."), place
        assert not re.match(r"[A-Z][a-z]+ [a-z]", what), place
        assert not remedy or remedy.endswith((".", "?", "}")), place
        assert not re.search(r"\b(please|invalid|illegal)\b|!$", f"{what} {remedy}", re.I), place
        assert not re.search(r"(?<!`)--[a-z]", PIP.sub("", what + remedy)) or place.startswith(
            "cli/"
        ), place


def test_no_message_is_raised_as_a_computed_text():
    for path in sorted(ROOT.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in TOLD - {"Finding"}:
                place = f"{path.relative_to(ROOT).as_posix()}:{node.lineno}"
                assert not node.args or not isinstance(node.args[0], ast.JoinedStr), place
                if isinstance(first := (node.args or [None])[0], ast.Constant):
                    assert " " not in first.value, place


def test_no_name_of_a_person_goes_by_another_field():
    """Values that are ids by their expression are in fields of people."""
    for path in sorted(ROOT.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in TOLD:
                for keyword in node.keywords:
                    text = ast.unparse(keyword.value)
                    is_id = re.search(r"\bids\b|\bpersons?\b|\bpair\[", text)
                    counts = re.match(r"(len|int|sum|counted)\(", text)
                    if is_id and not counts and keyword.arg not in (None, "columns"):
                        place = f"{path.relative_to(ROOT).as_posix()}:{node.lineno}"
                        assert keyword.arg.startswith(PEOPLE), f"{place}: {keyword.arg}={text}"
