"""Model files that earlier releases wrote still answer as they did."""

import json
from pathlib import Path

import numpy as np
import pytest

from sgbn.write.model_files import load

# Made by sgbn 0.1.0 from 60 rows of 6 columns in two groups; answers are those of 0.1.0 to five
# other rows: probabilities, else decision values, else log-likelihoods.
FOLDER = Path(__file__).parent / "version_0_1"
FROZEN = json.loads((FOLDER / "answers.json").read_text())


def test_every_frozen_file_has_answers():
    assert {path.stem for path in FOLDER.glob("*.sgbn")} == set(FROZEN["answers"])


@pytest.mark.parametrize("name", FROZEN["answers"])
def test_a_model_of_0_1_gives_the_answers_that_it_gave(name):
    model = load(FOLDER / f"{name}.sgbn")
    assert type(model).__name__ == name
    methods = ("predict_proba", "decision_function", "score_samples")
    answer = next(getattr(model, method) for method in methods if hasattr(model, method))
    np.testing.assert_allclose(answer(FROZEN["rows"]), FROZEN["answers"][name], rtol=1e-9)
