from sgbn.experiments.exp3_figure import ROWS, STYLES, draw
from sgbn.experiments.exp3_methods import BIASES, NETWORKS, grid


def test_a_figure_for_each_reading_is_drawn_from_the_files(exp3_folder):
    paths = draw(exp3_folder)
    assert [path.name for path in paths] == ["exp3_free.png", "exp3_penalised.png"]
    assert all(path.stat().st_size > 20_000 for path in paths)


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
