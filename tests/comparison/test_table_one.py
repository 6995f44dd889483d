from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from sgbn.cohort.cohort import Cohort
from sgbn.comparison.steps.data import table_one


@pytest.fixture
def cohort():
    rng = np.random.default_rng(0)
    n = 60
    group = np.repeat(["control", "patient"], n // 2)
    return Cohort(
        rng.normal(size=(n, 3)),
        ["a", "b", "c"],
        [f"s{k}" for k in range(n)],
        group=group,
        site=rng.choice(["NYU", "UCLA"], n),
        covariates={
            "age": rng.normal(40, 10, n) + 5 * (group == "patient"),
            "sex": rng.integers(0, 2, n).astype(float),
            "hand": np.array([*"rrl" * (n // 3)]),
        },
    )


def rows_of(table, name):
    return table[table["characteristic"] == name]


def test_numbers_have_mean_and_sd_and_a_test(cohort):
    table = table_one(cohort, ["patient", "control"])
    (row,) = rows_of(table, "age").to_dict("records")
    age = cohort.covariates["age"]
    own, other = (age[cohort.group == name] for name in ("patient", "control"))
    mean, spread = row["in_patient"].rstrip(")").split(" (")
    assert float(mean) == pytest.approx(own.mean(), abs=0.51)
    assert float(spread) == pytest.approx(own.std(ddof=1), abs=0.51)
    assert row["test"] == "Welch's t"
    assert row["p"] == pytest.approx(stats.ttest_ind(own, other, equal_var=False).pvalue)
    assert [name for name in table if name.startswith("in_")] == ["in_patient", "in_control"]
    assert table["in_patient"][0] == table["in_control"][0] == "30"


def test_a_sex_of_0_and_1_is_counted_by_level_and_tested_once(cohort):
    sex = rows_of(table_one(cohort, ["control", "patient"]), "sex")
    assert sex["level"].tolist() == ["0", "1"]
    ones = int(cohort.covariates["sex"][:30].sum())
    assert sex["in_control"].tolist()[1] == f"{ones} ({ones / 30:.0%})"
    assert sex["p"].notna().tolist() == [True, False]
    assert not sex.astype(str).apply(lambda one: one.str.contains("1.0")).any(axis=None)


def test_sites_are_counted_and_gaps_said(cohort):
    hand = cohort.covariates["hand"].copy()
    hand[:4] = ""
    gaps = replace(cohort, covariates={**cohort.covariates, "hand": hand})
    table = table_one(gaps, ["control", "patient"])
    assert rows_of(table, "site")["level"].tolist() == ["NYU", "UCLA"]
    assert rows_of(table, "hand")["missing"].tolist() == [4, 0]
    assert sum(int(cell.split()[0]) for cell in rows_of(table, "hand")["in_control"]) == 26


def test_persons_count_once(cohort):
    person = np.array([f"{name}{k // 2}" for k, name in enumerate(cohort.group)])
    table = table_one(replace(cohort, person=person), ["control", "patient"])
    assert rows_of(table, "subjects")["in_control"].tolist() == ["15"]
    assert rows_of(table, "rows")["in_control"].tolist() == ["30"]


def test_pairs_are_compared_within_persons_and_families_not_at_all(cohort):
    pair = np.array([f"p{k}" for k in range(30)] * 2)
    table = table_one(replace(cohort, pair=pair), ["control", "patient"])
    age = cohort.covariates["age"]
    assert rows_of(table, "age")["p"].tolist() == [
        pytest.approx(stats.ttest_rel(age[:30], age[30:]).pvalue)
    ]
    assert rows_of(table, "sex")["p"].isna().all()
    block = np.array([f"f{k // 3}" for k in range(60)])
    assert table_one(replace(cohort, block=block), ["control", "patient"])["p"].isna().all()
