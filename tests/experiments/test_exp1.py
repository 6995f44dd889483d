import numpy as np
import pytest

from sgbn import StudyError
from sgbn.experiments import exp1
from sgbn.runs import Study

SETTINGS = exp1.Settings(permutations=12, alpha=0.15, seed=1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A finished small run, without real data."""
    folder = tmp_path_factory.mktemp("exp1")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SGBN_DATA", str(folder))
        exp1.run(Study(folder), SETTINGS)
    return folder


def test_or_sgbn_does_not_depend_on_the_order_of_the_columns_and_h_sgbn_does(folder):
    invariances, _ = exp1.read(folder)
    assert len(invariances) == 4
    for (_, method), seen in invariances.items():
        assert len(seen.distances) == 12
        if method == "OR-SGBN":
            assert seen.distance < 1e-12
            assert seen.correlation == pytest.approx(1.0, abs=1e-12)
            assert not seen.changed_edges.any()
        else:
            assert seen.distance > 0.5
            assert seen.correlation < 0.95
            assert seen.changed_edges.min() > 0


def test_whole_oscillates_between_nothing_and_cycles_at_a_strong_penalty(folder):
    _, variants = exp1.read(folder)
    for result in variants.values():
        edges, dag = result["whole_1.0_n_edges"], result["whole_1.0_is_dag"]
        assert result["whole_1.0_period"] == 2
        assert sorted(edges[-2:] > 0) == [False, True]
        assert not dag[edges > 0].any()


def test_the_report_shows_the_papers_figures_beside_ours(folder):
    text = exp1.report(folder)
    assert "| simulated.control | OR-SGBN |" in text
    assert "| 0.00 | 1.0000 | 0.08 | 0.9996 |" in text
    assert "| 1.91 | 0.6828 |" in text
    assert "| simulated.control | whole | 1.0 | " in text
    assert "12 column permutations" in text


def test_the_figure_is_drawn_from_the_files(folder):
    path = exp1.draw(folder)
    assert path.stat().st_size > 50_000


def test_a_second_start_with_other_settings_is_refused(folder, monkeypatch):
    monkeypatch.setenv("SGBN_DATA", str(folder))
    other = exp1.Settings(permutations=12, alpha=0.3, seed=1)
    with pytest.raises(StudyError, match=r"alpha: 0\.15 there, 0\.3 now"):
        exp1.run(Study(folder), other)


def test_results_do_not_depend_on_the_number_of_processes(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("SGBN_DATA", str(folder))
    exp1.run(Study(tmp_path, n_jobs=2), SETTINGS)
    first, second = exp1.read(folder)[0], exp1.read(tmp_path)[0]
    for key, seen in first.items():
        assert np.array_equal(seen.average, second[key].average)
