from dataclasses import replace

import numpy as np

from sgbn.comparison.steps.models import models_section
from sgbn.inference.models import ModelComparison


def test_every_group_has_its_verdict_and_every_model_a_row(compared):
    section = models_section(compared)
    assert len(section["lines"]) == len(compared.groups)
    for group, line in zip(compared.groups, section["lines"], strict=True):
        assert line == f"{group}: {compared.models[group].verdict}"
    rows = section["table"].rows
    assert len(rows) == 4 * len(compared.groups)
    assert [row.mark for row in rows[:2]] == ["ours", ""]


def test_likelihoods_have_three_places_and_a_lasso_that_failed_a_dash(compared):
    folds = np.array([-1.1, -1.2, np.nan, -1.42]) + np.zeros((5, 1))
    bare = replace(compared, models={"control": ModelComparison(50, 12, folds, np.ones(5, int))})
    cells = [[cell.text for cell in row.cells] for row in models_section(bare)["table"].rows]
    assert cells[0] == ["control", "network", "–", "−1.100", "0.000", "0.000"]
    assert cells[1] == ["control", "factor analysis", "1", "−1.200", "−0.100", "0.000"]
    assert cells[2][3:] == ["–", "–", "–"]


def test_without_the_step_there_is_no_section(compared):
    assert models_section(replace(compared, models={})) is None
