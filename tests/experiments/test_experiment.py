from dataclasses import dataclass

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from sgbn.core.exceptions import StudyError
from sgbn.paper.experiments import experiment
from sgbn.paper.experiments.experiment import (
    Experiment,
    Outcome,
    Outcomes,
    as_columns,
    gather,
    messages,
    repeats,
)
from sgbn.runs.study import Study


@dataclass(frozen=True)
class Settings:
    factor: int = 2


@dataclass(frozen=True)
class Sample:
    number: int

    @property
    def content(self):
        return bytes([self.number])


def work(settings, data, name, repeat):
    return {"product": settings.factor * data[name].number * repeat}


def drawing(results):
    figure = Figure(figsize=(2, 1), dpi=50)
    figure.subplots().plot(list(results.values()))
    return {"small.png": figure, "small.csv": "a,b\r\n"}


SMALL = Experiment(
    "small",
    lambda settings, data: repeats(data, settings.factor),
    work,
    lambda stored: {name: float(result["product"]) for name, result in stored.items()},
    lambda results, settings: {
        "rows": [list(pair) for pair in results.items()],
        "words": "two" if settings["factor"] == 2 else "others",
    },
    drawing,
)
TEMPLATE = "{words}, factor {settings[factor]}\n\n| a | b |\n|---|---|\n{rows}\n\n{provenance}\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(experiment, "_file", {"small.md": TEMPLATE}.__getitem__)
    SMALL.run(Study(tmp_path), Settings(), {"x": Sample(3), "y": Sample(5)})
    return tmp_path


def test_every_repeat_of_every_data_set_is_a_task(folder):
    assert SMALL.results(folder) == {"x.0000": 0, "x.0001": 6, "y.0000": 0, "y.0001": 10}


def test_a_report_fills_its_template_and_files_are_written_beside_it(folder):
    text, paths = SMALL.finish(folder)
    assert text.startswith(
        "two, factor 2\n\n| a | b |\n|---|---|\n| x.0000 | 0.0 |\n| x.0001 | 6.0 |"
    )
    assert "\n\nCommand: `" in text
    assert (folder / "small.md").read_text() == text
    assert [path.name for path in paths] == ["small.png", "small.csv"]
    assert Image.open(paths[0]).size == (100, 50)
    assert paths[1].read_bytes() == b"a,b\r\n"


def test_settings_and_data_must_be_the_same_to_go_on(folder):
    with pytest.raises(StudyError, match="factor: 2 there, 3 now"):
        SMALL.run(Study(folder), Settings(3), {"x": Sample(3), "y": Sample(5)})
    with pytest.raises(StudyError, match="samples: "):
        SMALL.run(Study(folder), Settings(), {"x": Sample(3), "y": Sample(6)})


def test_means_leave_failures_out():
    values = {"balanced": np.array([[0.5, np.nan, 0.7], [np.nan] * 3])}
    outcomes = Outcomes(["some", "none"], values, {"overlap": np.array(0.5)})
    assert outcomes.mean("some", "balanced") == pytest.approx(0.6)
    assert np.isnan(outcomes.mean("none", "balanced"))
    assert np.isnan(outcomes.mean("not run", "balanced"))
    estimate = outcomes.estimate(outcomes.of("some", "balanced"))
    assert estimate.error == pytest.approx(0.1 * np.sqrt(2) * np.sqrt(1 / 2 + 0.5))


def test_outcomes_of_tasks_are_gathered_in_the_order_asked_for():
    tasks = {
        f"{name}.{k:04d}": {
            key: np.asarray(value)
            for key, value in as_columns(
                {"a": Outcome(0.5 + k), "b": Outcome(failure="no good" if k else "")}
            ).items()
        }
        for name in ("x", "y")
        for k in range(2)
    }
    found = gather(tasks, Outcome._fields, ["y", "z", "x"])
    assert list(found) == ["y", "x"]
    assert found["x"].methods == ["a", "b"]
    assert found["x"].of("a", "balanced").tolist() == [0.5, 1.5]
    assert messages(found, ["failure"])[2:] == [
        "| failure | y | b | 1 | no good |",
        "| failure | x | b | 1 | no good |",
    ]
