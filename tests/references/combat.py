"""Answers of neuroHarmonize and neuroCombat, frozen in combat.json.

Made with Python 3.11, neuroHarmonize 2.5.2, neuroCombat 0.2.12, numpy 1.26.4, pandas 2.3.3:

    python -m venv combatvenv
    combatvenv/bin/pip install neuroCombat==0.2.12 neuroHarmonize==2.5.2
    combatvenv/bin/python tests/references/combat.py

72 simulated subjects of 4 sites with 8 regions; the first 60 are fitted, the last 12 are harmonised
with the estimates of the first. Age and sex (0, 1) are preserved. Ages are multiples of 1/4, since
neuroCombat holds covariates in single precision. Its empirical Bayes loop stops by default at a
relative change of 1e-4; here the default is set to 1e-13, so that the answer is that of the
equations and not of the stopping rule.
"""

import json
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd
from neuroCombat import neuroCombat
from neuroCombat.neuroCombat import it_sol
from neuroHarmonize import harmonizationApply, harmonizationLearn

TRAINED = 60
SITES = ["BERN", "LYON", "OSLO", "ROMA"]


def simulate():
    rng = np.random.default_rng(2007)
    n, m = 72, 8
    site = np.concatenate([rng.permutation(np.repeat(SITES, [24, 16, 12, 8])), SITES * 3])
    age = rng.integers(4 * 18, 4 * 70, n) / 4 + 5.0 * (site == "OSLO")
    sex = rng.integers(0, 2, n)
    values = 2.5 + 0.2 * rng.normal(size=m) - 0.01 * (age - 40)[:, None] * rng.uniform(0.5, 1.5, m)
    values += 0.1 * sex[:, None]
    noise = 0.15 * rng.normal(size=(n, m))
    for k, name in enumerate(SITES):
        mine = site == name
        values[mine] += 0.1 * rng.normal(k - 1.5, 0.5, m) + noise[mine] * rng.uniform(0.6, 1.6, m)
    return values, site, age, sex


def harmonize(values, covariates, empirical_bayes):
    model, trained = harmonizationLearn(values[:TRAINED], covariates[:TRAINED], eb=empirical_bayes)
    applied = harmonizationApply(values[TRAINED:], covariates[TRAINED:], model)
    return {
        "gamma_star": model["gamma_star"].tolist(),
        "delta_star": model["delta_star"].tolist(),
        "trained": trained.tolist(),
        "applied": applied.tolist(),
    }


def combat(values, covariates, empirical_bayes):
    answer = neuroCombat(
        dat=values[:TRAINED].T,
        covars=covariates[:TRAINED],
        batch_col="SITE",
        categorical_cols=["sex"],
        continuous_cols=["age"],
        eb=empirical_bayes,
    )
    return answer["data"].T.tolist()


def main():
    it_sol.__defaults__ = (1e-13,)
    values, site, age, sex = simulate()
    covariates = pd.DataFrame({"SITE": site, "age": age, "sex": sex})
    result = {
        "versions": {name: version(name) for name in ("neuroHarmonize", "neuroCombat", "numpy")},
        "values": values.tolist(),
        "site": site.tolist(),
        "age": age.tolist(),
        "sex": sex.tolist(),
        "n_trained": TRAINED,
        "neuroHarmonize": {
            "eb": harmonize(values, covariates, True),
            "raw": harmonize(values, covariates, False),
        },
        "neuroCombat": {
            "eb": combat(values, covariates, True),
            "raw": combat(values, covariates, False),
        },
    }
    path = Path(__file__).with_name("combat.json")
    path.write_text(json.dumps(result, indent=None) + "\n")


if __name__ == "__main__":
    main()
