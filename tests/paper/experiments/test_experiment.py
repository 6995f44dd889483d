from dataclasses import dataclass, replace

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image
from sklearn.dummy import DummyClassifier
from sklearn.naive_bayes import GaussianNB
from tests.codes import refused

from sgbn import Cohort
from sgbn.cohort.simulate import simulate_cohort
from sgbn.core.problems import StudyError
from sgbn.learn.peers import COVARIATES_ALONE
from sgbn.paper.experiments import experiment
from sgbn.paper.experiments.exp3 import Method
from sgbn.paper.experiments.experiment import (
    Experiment,
    Outcome,
    Outcomes,
    as_columns,
    data_folder,
    gather,
    messages,
    most_different,
    one_site,
    read_neuro,
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
    with refused("study.settings", kind=StudyError):
        SMALL.run(Study(folder), Settings(3), {"x": Sample(3), "y": Sample(5)})
    with refused("study.settings", kind=StudyError):
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


@pytest.fixture(scope="module")
def protocol_table():
    return simulate_cohort(20, 0, regions=10, covariates=["age", "sex"], missing=0.01)


@pytest.fixture(scope="module")
def rows(protocol_table):
    [rows] = experiment.splits(protocol_table, (24, 12), 0)
    return rows


@pytest.fixture(scope="module")
def problem(protocol_table, rows):
    return experiment.prepare(protocol_table, np.asarray(protocol_table.group), rows, 6)


def test_splits_keep_the_groups_shares_and_the_rest_can_be_tested(protocol_table):
    several = list(experiment.splits(protocol_table, (24, None), 0, n_splits=3))
    assert len({tuple(sorted(test)) for _, test in several}) == 3
    for train, test in several:
        assert sorted([*train, *test]) == list(range(40))
        assert (protocol_table.group[train] == "patient").sum() == 12


def test_the_test_part_plays_no_role_in_training(protocol_table, rows, problem):
    _, test = rows
    values, y = protocol_table.values.copy(), np.asarray(protocol_table.group).copy()
    values[test] = 10 * np.nan_to_num(values[test])[::-1]
    y[test] = y[test][::-1]
    spoiled = experiment.prepare(replace(protocol_table, values=values, biology=values), y, rows, 6)
    assert np.array_equal(spoiled.train, problem.train)
    assert problem.train.shape == (24, 6)
    assert np.allclose(problem.train.mean(axis=0), 0)
    assert not np.allclose(spoiled.test, problem.test)
    assert list(problem.covariates[0]) == ["age", "sex"]


def test_covariates_alone_are_compared_where_there_are_any(problem):
    assert list(experiment.evaluate_all({"naive": GaussianNB()}, problem)) == [
        "naive",
        COVARIATES_ALONE,
    ]
    without = experiment.Problem(*problem[:4])
    assert list(experiment.evaluate_all({"naive": GaussianNB()}, without)) == ["naive"]


def test_outcomes_are_those_of_the_test_part(problem):
    prior = DummyClassifier(strategy="constant", constant="patient")
    outcome = experiment.evaluate(prior, problem)
    assert outcome.balanced == 0.5
    assert np.isnan(outcome.growth)
    assert outcome.failure == ""


def test_a_failure_is_part_of_the_result(problem):
    outcome = experiment.evaluate(DummyClassifier(strategy="none such"), problem)
    assert np.isnan(outcome.balanced)
    assert "none such" in outcome.failure


def test_a_move_adds_no_more_fitting_error_than_allowed(problem):
    method = Method("MM-SGBN", "free", edges=20, slack=0.05)
    growth = experiment.evaluate(method.make(), problem).growth
    assert 0 < growth < 0.05 + 1e-8


def test_the_folder_is_named_by_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("SGBN_DATA", str(tmp_path))
    assert data_folder() == tmp_path
    monkeypatch.setenv("SGBN_DATA", str(tmp_path / "absent"))
    with refused("data.folder"):
        data_folder()
    monkeypatch.delenv("SGBN_DATA")
    monkeypatch.chdir(tmp_path)
    assert data_folder() is None


def test_the_regions_that_differ_most_are_chosen():
    rng = np.random.default_rng(0)
    values = rng.standard_normal((60, 6))
    group = np.repeat(["SCZ", "CTR"], 30)
    values[:30, [1, 4]] += 3.0
    cohort = Cohort(values, list("abcdef"), [f"s{k}" for k in range(60)], group=group)
    chosen = most_different(cohort, n_regions=2)
    assert chosen.regions == ("b", "e")
    assert len(chosen) == 60


@pytest.mark.parametrize(
    ("name", "shape", "sizes"),
    [
        ("cobre_scz", (124, 173), {"CTR": 63, "SCZ": 61}),
        ("ixi_age", (558, 68), {"MID": 187, "OLD": 173, "YOUNG": 198}),
        ("abide1_asd", (1035, 93), {"ASD": 505, "CTR": 530}),
    ],
)
def test_the_real_tables_have_the_stated_size(name, shape, sizes):
    folder = data_folder()
    if folder is None or not (folder / "neuro" / f"{name}.csv").exists():
        pytest.skip("the real tables are not part of the package: set SGBN_DATA to their folder")
    cohort = read_neuro(folder, name)
    assert cohort.values.shape == shape
    assert cohort.sizes == sizes


def test_one_site_is_none():
    rng = np.random.default_rng(0)
    ids = [f"s{k}" for k in range(4)]
    cohort = Cohort(rng.standard_normal((4, 2)), ["a", "b"], ids, site=["x", "x", "y", "y"])
    assert one_site(cohort) is cohort
    assert one_site(cohort.subset([0, 1])).site is None


def test_a_covariate_that_is_left_out_does_not_become_a_region(tmp_path):
    (tmp_path / "neuro").mkdir()
    rows = "".join(f"s{k},{'AB'[k % 2]},x,{20 + k},{k % 3},{k},{k * k},{k**3}\n" for k in range(12))
    header = "subject_id,group,site,age,sex,eTIV,insula,cuneus\n"
    (tmp_path / "neuro" / "cobre_scz.csv").write_text(header + rows)
    cohort = read_neuro(tmp_path, "cobre_scz", exclude="age")
    assert list(cohort.covariates) == ["sex", "eTIV"]
    assert cohort.regions == ("insula", "cuneus")
