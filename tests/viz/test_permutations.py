import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

from sgbn.core.exceptions import InputError
from sgbn.write.draw.differences import plot_permutations, threshold

NULL = np.arange(19) / 19.0


def legend(ax):
    return [text.get_text() for text in ax.get_legend().texts]


def test_all_permutations_are_in_the_histogram():
    ax = plot_permutations(Figure().subplots(), NULL, 1.5, label="balanced $accuracy$")
    assert sum(bar.get_height() for bar in ax.patches) == 19
    assert ax.get_xlabel() == r"balanced \$accuracy\$"


def test_the_observed_value_its_p_and_the_threshold():
    ax = plot_permutations(Figure().subplots(), NULL, 1.5)
    limit, observed = (line.get_xdata()[0] for line in ax.lines)
    assert observed == 1.5
    assert limit == NULL.max()
    assert "observed: 1.5, p = 0.05" in legend(ax)


def test_several_observed_values_keep_their_names():
    ax = plot_permutations(Figure().subplots(), NULL, {"_KL": 1.5, "a$b$": 0.0})
    assert len(ax.lines) == 3
    assert "_KL: 1.5, p = 0.05" in legend(ax)
    assert r"a\$b\$: 0, p = 1" in legend(ax)
    assert len({line.get_color() for line in ax.lines}) == 3


def test_too_few_permutations_for_the_level_are_said():
    ax = plot_permutations(Figure().subplots(), NULL[:18], 1.5)
    assert len(ax.lines) == 1
    assert "p ≤ 0.05 needs 19 permutations" in legend(ax)


@given(
    st.lists(st.integers(0, 30), min_size=1, max_size=120), st.sampled_from([0.01, 0.05, 0.1, 0.3])
)
def test_beyond_the_threshold_p_is_at_most_the_level_and_at_it_more(values, level):
    null = np.array(values, dtype=float)

    def p(value):
        return (1 + (null >= value).sum()) / (1 + len(null))

    limit = threshold(null, level)
    if limit is None:
        assert 1 / (1 + len(null)) > level
    else:
        assert p(limit + 1e-6) <= level + 1e-12
        assert p(limit) > level


@pytest.mark.parametrize("null", [[], [0.1, np.nan]])
def test_a_null_without_numbers_is_refused(null):
    with pytest.raises(InputError, match="null holds"):
        plot_permutations(Figure().subplots(), null, 1.0)


def test_a_level_that_is_none_is_refused():
    with pytest.raises(InputError, match="level is 1"):
        plot_permutations(Figure().subplots(), NULL, 1.0, level=1)
