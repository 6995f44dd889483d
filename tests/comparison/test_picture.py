from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest

from sgbn import SGBN, Cohort, InputError, Settings, compare, simulate_cohort

TESTS = Settings.networks_only(n_permutations=39)


def table_of(*groups):
    """Cohort of a chain; the first edge is there in the first group only."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(60 * len(groups), 4))
    values[:60, 1] += 2 * values[:60, 0]
    values[:, 2] += values[:, 1]
    values[:, 3] += values[:, 2]
    ids = range(len(values))
    return Cohort(values, ["a", "b$x$", "c", "d"], ids, group=np.repeat(groups, 60))


@pytest.fixture(scope="module")
def three():
    return compare(table_of("CTR", "MCI", "SCZ"), TESTS, learner=SGBN())


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def names_of(ax):
    return [text.get_text() for text in ax.get_yticklabels()]


def test_the_surest_differences_are_drawn_in_a_figure_that_pyplot_knows():
    found = compare(table_of("CTR", "SCZ"), TESTS, learner=SGBN())
    ax = found.plot()
    assert plt.gcf() is ax.figure
    assert ax.get_title() == "Change from CTR to SCZ: 1 pair differs both ways (q ≤ 0.05)"
    assert len(names_of(ax)) == len(found.differences)
    assert names_of(ax)[0] in (r"a – b\$x\$", r"b\$x\$ – a")
    ax.figure.canvas.draw()


def test_axes_and_the_number_of_edges_can_be_chosen():
    found = compare(table_of("CTR", "SCZ"), TESTS, learner=SGBN())
    _, ax = plt.subplots()
    assert found.plot(ax=ax, top=1) is ax
    assert len(names_of(ax)) == 1


def test_of_three_groups_the_pair_is_drawn_that_is_named(three):
    ax = three.plot("SCZ")
    pair = three.tables.pairwise.query("group == 'CTR' and other == 'SCZ'")
    first = pair.sort_values("p", kind="stable").iloc[0]
    drawn = [line.get_xdata()[0] for line in ax.lines if len(line.get_xdata()) == 1]
    assert any(x == pytest.approx(first["difference_std"]) for x in drawn)
    for group in (None, "SZ", "CTR"):
        with pytest.raises(InputError, match="name the group whose difference from 'CTR'"):
            three.plot(group)
    together = replace(three, tests=replace(three.tests, pairwise={}))
    with pytest.raises(InputError, match="tested all together only"):
        together.plot("SCZ")


def test_regions_of_an_atlas_have_readable_names():
    found = compare(simulate_cohort(30, regions=6), TESTS, learner=SGBN())
    assert all(name[:2] in ("L ", "R ") for name in names_of(found.plot()))


def test_without_tests_there_is_nothing_to_draw():
    found = compare(table_of("CTR", "SCZ"), Settings.networks_only(), learner=SGBN())
    with pytest.raises(InputError, match=r"no difference was tested.*n_permutations"):
        found.plot()
