import numpy as np
import pytest

from sgbn.experiments import exp3
from sgbn.experiments.exp3_figure import ROWS, STYLES, draw
from sgbn.experiments.exp3_methods import BIASES, NETWORKS, grid


def test_a_figure_for_each_reading_is_drawn_from_the_files(exp3_folder):
    paths = draw(exp3_folder)
    assert [path.name for path in paths] == ["exp3_free.png", "exp3_penalised.png"]
    assert all(path.stat().st_size > 20_000 for path in paths)


@pytest.mark.filterwarnings("error")
def test_a_method_that_always_fails_is_left_out(exp3_folder, monkeypatch):
    results = exp3.read(exp3_folder)
    data = results.data["table"]
    failed = [label.startswith("KL-SGBN") for label in data.methods]
    data.values["balanced"][np.array(failed)] = np.nan
    monkeypatch.setattr("sgbn.experiments.exp3_figure.read", lambda folder: results)
    assert all(path.exists() for path in draw(exp3_folder))


def test_the_panels_show_methods_that_are_run():
    known = {method.label for method in grid()}
    for row in ROWS:
        for bias in BIASES:
            labels = {row.method(n, bias, x).label for n in row.networks for x in row.values}
            assert labels <= known
            assert len(labels) >= len(row.values)


def test_networks_differ_in_colour_and_marker():
    assert set(STYLES) == set(NETWORKS)
    for what in ("color", "marker"):
        assert len({style[what] for style in STYLES.values()}) == len(NETWORKS)
