from sgbn.experiments import exp2_figure


def test_a_figure_a_measure_is_drawn_from_the_files(exp2_folder):
    paths = exp2_figure.draw(exp2_folder)
    assert [path.name for path in paths] == [
        "exp2_errors.png",
        "exp2_false.png",
        "exp2_pdag.png",
    ]
    assert all(path.stat().st_size > 30_000 for path in paths)
