import json
import sys

import output
import pytest
from scipy import stats

KEPT = {"table": "kept", "score": 1.0}


@pytest.fixture(autouse=True)
def text(tmp_path, monkeypatch):
    (tmp_path / "study.md").write_text("{count} runs")
    monkeypatch.setattr(output, "TEXTS", tmp_path)


def slots(runs):
    return {"count": len(runs)}


@pytest.fixture
def fill(tmp_path):
    """Text of a template with its slots filled."""

    def filled(template, **slots):
        (tmp_path / "study.md").write_text(template)
        return output.filled("study", slots)

    return filled


def test_what_one_run_lacks_is_a_dash(fill):
    runs = [{"m": 40, "cpu": 1.25}, {"m": 1000}, {"m": 2000, "cpu": None}]
    assert fill("@runs {m} | {cpu:.1f}", runs=runs) == "40 | 1.2\n1000 | -\n2000 | -"


def test_a_name_that_no_run_has_is_refused_and_the_runs_are_kept(tmp_path):
    (tmp_path / "study.md").write_text("@runs {m} | {cup:.1f}\n@rows {}")
    runs = [{"m": 40, "cpu": 1.25}]
    with pytest.raises(KeyError, match="slot 'runs' has the field 'cup'"):
        output.write(tmp_path, "study", {"seed": 0, "runs": runs}, {"runs": runs, "rows": []})
    assert output.stored_runs(tmp_path, "study") == runs


def test_names_that_some_run_has_and_places_are_not_refused(tmp_path):
    (tmp_path / "study.md").write_text("{m}\n@runs {m} | {warm[cpu]}\n@none {m}\n@rows {} | {:.1f}")
    runs = [{"m": 40, "warm": {"cpu": 1}}, {"m": 1000}]
    output.check_fields("study", {"runs": runs, "none": [], "rows": [("a", 1.0), ["b", 2.0]]})


def test_rows_of_tuples_are_filled_by_place(fill):
    assert fill("@rows {} | {:.1f}", rows=[("a", 1.25), ["b", None]]) == "a | 1.2\nb | -"


def test_lists_are_lines_only_where_they_stand_alone(fill):
    names = ["first", "second"]
    assert fill("{NAMES}\nfrom {NAMES[0]}", NAMES=names) == "first\nsecond\nfrom first"


def test_half_width_is_that_of_the_t_interval():
    values = [1.0, 2.0, 4.0, 7.0]
    low, high = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert output.half_width(values) == pytest.approx((high - low) / 2)


def test_a_process_is_timed_with_its_environment():
    program = "import os; print(os.environ['GIVEN'])"
    printed, took = output.timed_process([sys.executable, "-c", program], GIVEN="here")
    assert printed == "here\n"
    assert set(took) == {"clock", "cpu", "megabytes"}
    assert min(took.values()) > 0
    with pytest.raises(SystemExit, match="ZeroDivisionError"):
        output.timed_process([sys.executable, "-c", "1 / 0"])


def test_constants_are_those_of_the_module_of_a_function():
    assert output.constants_of(slots) == {"KEPT": KEPT}
    assert output.constants_of(output.filled)["RESULTS"] == output.RESULTS


def test_interrupted_run_keeps_the_parts_before(tmp_path):
    def parts():
        yield [{"table": "first", "score": 2.0}]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        output.write_parts(tmp_path / "out", "study", 0, parts(), slots, [KEPT])
    runs = output.stored_runs(tmp_path / "out", "study", 0)
    assert [run["table"] for run in runs] == ["kept", "first"]
    assert (tmp_path / "out" / "study.md").read_text().startswith("2 runs")


def test_stored_runs_of_another_seed_are_refused(tmp_path):
    (tmp_path / "study.json").write_text(json.dumps({"seed": 0, "runs": [KEPT]}))
    assert output.stored_runs(tmp_path, "study", 0) == [KEPT]
    assert output.stored_runs(tmp_path, "study") == [KEPT]  # where all runs have one seed
    assert output.stored_runs(tmp_path / "none", "study", 0) == []
    with pytest.raises(SystemExit, match="runs of another seed"):
        output.stored_runs(tmp_path, "study", 1)


@pytest.fixture
def representation(tmp_path, monkeypatch):
    """The benchmark itself, with one measurement that ends and one that is interrupted."""
    module = pytest.importorskip("representation")

    def measure(name, splits, seed):
        if name == "ixi OLD":
            raise KeyboardInterrupt
        yield {"table": name, "seed": seed}

    monkeypatch.setattr(module, "measure", measure)
    monkeypatch.setattr(module, "slots", slots)
    (tmp_path / "representation.md").write_text("{count} runs")

    def start(*words):
        words = ["representation.py", "--out", str(tmp_path), *words]
        monkeypatch.setattr("sys.argv", words)
        module.main()

    return start


def test_representation_writes_after_each_table(tmp_path, representation):
    with pytest.raises(KeyboardInterrupt):
        representation("--tables", "abide CTR", "ixi OLD")
    assert output.stored_runs(tmp_path, "representation") == [{"table": "abide CTR", "seed": 0}]


def test_representation_refuses_another_seed(representation):
    representation("--tables", "abide CTR")
    with pytest.raises(SystemExit, match="another seed"):
        representation("--tables", "abide ASD", "--seed", "1")
