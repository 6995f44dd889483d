"""Answers of neuroHarmonize with a smooth effect of age, frozen in combat_gam.json.

Made with Python 3.11, neuroHarmonize 2.5.2, neuroCombat 0.2.12, statsmodels 0.15.0, numpy 2.4:

    pip install neuroCombat==0.2.12 neuroHarmonize==2.5.2
    python tests/references/combat_gam.py

90 simulated subjects of 3 sites with 5 regions; the first 75 are fitted, the last 15 are harmonised
with the estimates of the first, and lie in their range of ages. neuroHarmonize chooses the penalty
of each region by folds that it draws at random. Here the penalty is given instead, so that the
answer is that of the equations. Its empirical Bayes loop stops at 1e-13, as in combat.py.
"""

import json
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd
from neuroCombat.neuroCombat import it_sol
from neuroHarmonize import harmonizationApply, harmonizationLearn
from statsmodels.gam.api import GLMGam

TRAINED = 75
PENALTIES = (1.0, 1000.0, 1e6)  # alpha of statsmodels: of age in years, and half of ours
PACKAGES = ("neuroHarmonize", "neuroCombat", "statsmodels", "numpy")


def simulate():
    rng = np.random.default_rng(2020)
    n, m = 90, 5
    site = rng.integers(0, 3, n)
    age = np.round(rng.uniform(10, 80, n) + 5 * (site == 1), 2)
    age[:2] = 9.0, 90.0  # the range of training holds all ages
    sex = rng.integers(0, 2, n)
    curve = np.sin(age / 12)[:, None] * rng.uniform(0.2, 0.6, m)
    noise = 0.2 * rng.normal(size=(n, m)) * rng.uniform(0.6, 1.6, (3, m))[site]
    values = 2.5 + curve + 0.1 * sex[:, None] + 0.3 * rng.normal(size=(3, m))[site] + noise
    return values, np.array(["BERN", "LYON", "OSLO"])[site], age, sex


def harmonize(values, covariates, penalty, empirical_bayes):
    GLMGam.select_penweight_kfold = lambda *_, **__: (np.array([penalty]), None)
    model, trained = harmonizationLearn(
        values[:TRAINED], covariates[:TRAINED], eb=empirical_bayes, smooth_terms=["age"]
    )
    applied = harmonizationApply(values[TRAINED:], covariates[TRAINED:], model)
    return {
        "penalty": penalty,
        "empirical_bayes": empirical_bayes,
        "gamma_star": model["gamma_star"].tolist(),
        "delta_star": np.asarray(model["delta_star"]).tolist(),
        "trained": trained.tolist(),
        "applied": applied.tolist(),
    }


def main():
    it_sol.__defaults__ = (1e-13,)
    values, site, age, sex = simulate()
    covariates = pd.DataFrame({"SITE": site, "age": age, "sex": sex})
    result = {
        "versions": {name: version(name) for name in PACKAGES},
        "values": values.tolist(),
        "site": site.tolist(),
        "age": age.tolist(),
        "sex": sex.tolist(),
        "n_trained": TRAINED,
        "answers": [
            harmonize(values, covariates, penalty, empirical_bayes)
            for penalty in PENALTIES
            for empirical_bayes in (True, False)
        ],
    }
    path = Path(__file__).with_name("combat_gam.json")
    path.write_text(json.dumps(result, indent=None) + "\n")


if __name__ == "__main__":
    main()
