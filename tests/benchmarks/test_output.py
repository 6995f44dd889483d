import json

import output
import pytest

KEPT = {"table": "kept", "score": 1.0}


@pytest.fixture(autouse=True)
def text(tmp_path, monkeypatch):
    (tmp_path / "study.md").write_text("{count} runs")
    monkeypatch.setattr(output, "TEXTS", tmp_path)


def slots(runs):
    return {"count": len(runs)}


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
    with pytest.raises(SystemExit, match="made with another seed"):
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
