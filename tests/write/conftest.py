import json
import zipfile
from hashlib import sha256

import numpy as np
import pandas as pd
import pytest

import sgbn
from sgbn.core.gaussian import GaussianNetwork

# What names of regions look like, and what each format has trouble with.
NASTY = [
    *("7Networks_LH_Vis_1", "Left-Hippocampus", 'a "b"', "Köln", "a|b:c[d]", "NA", "graph", "a b"),
    *("x", "X", "日本", "end\\", "#c", "=cmd()", "1", "a;b,c", "e\u0301", "(f)", "-> y", " lead"),
]


@pytest.fixture
def nasty():
    """Network with awkward names, all sizes of numbers, and columns in no causal order."""
    rng = np.random.default_rng(0)
    m = len(NASTY)
    coef = np.triu(rng.standard_normal((m, m)) * (rng.random((m, m)) < 0.3), 1)
    coef *= 10.0 ** rng.integers(-8, 9, (m, m))
    order = rng.permutation(m)
    coef = coef[np.ix_(order, order)]
    variance = 10.0 ** rng.integers(-6, 7, m)
    return GaussianNetwork(coef, 1e3 * rng.standard_normal(m), variance, NASTY)


@pytest.fixture(scope="session")
def table():
    """Regions with a gap, age, sex and site; and the groups."""
    cohort = sgbn.simulate_cohort(30, regions=6)
    frame = pd.DataFrame(cohort.values.copy(), columns=list(cohort.regions))
    frame.iloc[3, 2] = np.nan
    frame["age"] = np.linspace(20, 60, 60)
    frame["sex"] = ["M", "F", "F"] * 20
    frame["site"] = list("AABB") * 15
    return frame, np.asarray(cohort.group)


@pytest.fixture(scope="session")
def regions(table):
    """Regions alone, without gaps, and the groups."""
    frame, groups = table
    columns = frame.columns[:6]
    return frame[columns].fillna(frame[columns].median()), groups


@pytest.fixture(scope="session")
def analysis(table):
    made = sgbn.make_analysis(covariates=["age", "sex"], site="site", k=4)
    return made.fit(*table)


@pytest.fixture(scope="session")
def classifier(regions):
    """Classifier by likelihood; a test that changes it takes a copy."""
    return sgbn.SGBNClassifier(sgbn.SGBN(n_kicks=0), temperature=1.0).fit(*regions)


@pytest.fixture
def saved(analysis, tmp_path):
    """File of the analysis."""
    return sgbn.save(analysis, tmp_path / "model.sgbn")


@pytest.fixture
def forge(tmp_path):
    """Function (file, change) -> another file; `change` gets its parts, checksums are made anew."""

    def run(source, change, *, manifest=None, name="forged.sgbn"):
        with zipfile.ZipFile(source) as archive:
            parts = {name: archive.read(name) for name in archive.namelist()}
        about = json.loads(parts.pop("manifest.json"))
        change(parts)
        about["files"] = {name: sha256(part).hexdigest() for name, part in parts.items()}
        if manifest is not None:
            manifest(about)
        target = tmp_path / name
        with zipfile.ZipFile(target, "w") as archive:
            for member, part in {**parts, "manifest.json": json.dumps(about).encode()}.items():
                archive.writestr(member, part)
        return target

    return run


@pytest.fixture
def forge_model(forge):
    """Function (file, change) -> another file; `change` gets the JSON of the model."""

    def run(source, change):
        def edit(parts):
            model = json.loads(parts["model.json"])
            parts["model.json"] = json.dumps(change(model) or model).encode()

        return forge(source, edit)

    return run
