from dataclasses import replace

import joblib
import numpy as np
import pandas as pd
import pytest
from tests.codes import refused, warned

from sgbn import Cohort
from sgbn.cohort.design import LABELS
from sgbn.cohort.rows import (
    Rows,
    check_groups_vary,
    check_varies,
    prepared_rows,
    refuse_cohort,
    region_index,
    residual_rows,
    residuals_by_group,
    rows_of_group,
    takes_effects_out,
)
from sgbn.core.gaussian import GaussianNetwork
from sgbn.inference.joint import JointSGBN
from sgbn.learn.base import network_of
from sgbn.learn.sgbn import SGBN


@pytest.fixture
def cohort():
    values = np.arange(12.0).reshape(6, 2) ** 2
    ids = [f"s{k}" for k in range(6)]
    return Cohort(values, ("insula", "amygdala"), ids, group=["AD", "NC"] * 3)


def test_rows_of_a_table_an_array_and_a_group(cohort):
    table = pd.DataFrame(cohort.values, columns=["a", "b"])
    assert residual_rows(table).names == ("a", "b")
    assert residual_rows(cohort.values).names == ("x0", "x1")
    rows = residual_rows(cohort, "NC")
    assert rows.names == cohort.regions
    own = cohort.subset(groups="NC").subset(rows=rows.places)
    np.testing.assert_array_equal(rows.values, own.values)
    assert rows.ids == own.ids
    whole = residual_rows(cohort.subset(groups="AD"))
    np.testing.assert_array_equal(whole.values, cohort.values[::2][whole.places])
    assert Rows.of(table.set_axis(list("uvwxyz"))).subset([4, 0]).ids == ("y", "u")


def test_rows_of_a_group_have_its_labels_and_columns_of_its_effects():
    cohort = confounded(person=np.arange(40) // 4 * 2 + np.arange(40) % 2)
    rows = rows_of_group(cohort, "AD")
    own = cohort.subset(groups="AD").subset(rows=rows.places)
    np.testing.assert_array_equal(rows.values, own.values)
    assert rows.effects.shape == (20, 5)  # age, one of two sexes, and all sites
    np.testing.assert_array_equal(rows.effects[:, 0], own.covariates["age"])
    part = rows.subset(np.arange(20) > 15)
    assert (len(part), part.ids, part.effects.shape) == (4, own.ids[16:], (4, 5))
    assert part.design.person.tolist() == own.person[16:].tolist()
    assert Rows.of(cohort.values).effects.shape == (40, 0)


def test_content_tells_rows_apart_by_all_that_results_depend_on(cohort):
    rows = Rows.of(cohort)
    labels = [{name: np.array(list("aabbcc"))} for name in LABELS]
    others = [replace(rows, design=replace(rows.design, **label)) for label in labels]
    others += [Rows.of(cohort.values), replace(rows, effects=np.ones((6, 1)))]
    assert len({joblib.hash(one.content) for one in (rows, *others)}) == 1 + len(others)
    assert joblib.hash(Rows.of(cohort).content) == joblib.hash(rows.content)


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (residual_rows, "group.several"),
        (lambda c: residual_rows(c.values, "AD"), "group.cohort"),
        (refuse_cohort, "cohort.estimator"),
        (lambda c: residuals_by_group({"AD": c.values}), "groups.few"),
        (lambda c: residuals_by_group(c.values), "groups.type"),
        (
            lambda c: residuals_by_group({"AD": c.values, "NC": c.values @ np.eye(2, 3)}),
            "groups.columns",
        ),
        (lambda c: region_index("insola", c.regions), "regions.unknown"),
        (lambda c: network_of(c, "truth"), "network.type"),
        (lambda c: network_of("network", "truth"), "network.type"),
        (lambda c: network_of(JointSGBN(), "truth"), "network.type"),
        (lambda c: network_of(SGBN(), "truth"), "network.unfitted"),
    ],
)
def test_what_is_not_as_it_is_needed_is_refused(cohort, call, code):
    with refused(code):
        call(cohort)


def test_what_is_as_it_is_needed_is_taken(cohort):
    refuse_cohort(cohort.values)
    assert region_index("b", ["a", "b"]) == 1


def test_a_missing_cell_is_named_by_region_and_subject(cohort):
    values = cohort.values.copy()
    values[3, 1] = np.nan
    holes = Cohort(values, cohort.regions, cohort.ids, group=cohort.group)
    assert len(residual_rows(holes, "AD").values) == 3
    with refused("cells.gaps"):
        residual_rows(holes, "NC")


def test_a_region_without_spread_is_named_with_its_group(cohort):
    codes = np.array([0, 1] * 3)
    check_groups_vary(cohort.values, codes, cohort.groups, cohort.regions)
    values = cohort.values.copy()
    values[codes == 1, 0] = 1e8 + np.array([0, 1e-9, 0])  # round-off is not spread
    with refused("regions.constant"):
        check_groups_vary(values, codes, cohort.groups, cohort.regions)
    check_varies(values, cohort.regions, "rows")


def test_groups_of_a_cohort_and_of_a_mapping_are_the_same(cohort):
    by_name = {name: cohort.of_group(name) for name in cohort.groups}
    for name, rows in residuals_by_group(cohort).items():
        np.testing.assert_array_equal(rows.values, residuals_by_group(by_name)[name].values)


def confounded(n=40, **changes):
    """Two groups of independent regions that sites, age and sex move."""
    rng = np.random.default_rng(0)
    site, sex = rng.choice(["A", "B", "C"], n), rng.choice(["f", "m"], n)
    age = rng.normal(70, 8, n)
    nuisance = 4.0 * (site == "B") + 0.5 * age + 3 * (sex == "m")
    values = rng.standard_normal((n, 3)) + nuisance[:, None] * [1, 2, -1]
    given = {
        "group": np.tile(["AD", "NC"], n // 2),
        "site": site,
        "covariates": {"age": age, "sex": sex},
    }
    return Cohort(values, ("a", "b", "c"), [f"s{k}" for k in range(n)], **(given | changes))


def test_sites_and_covariates_are_taken_out_within_each_group_and_its_mean_is_kept():
    cohort = confounded()
    for name, rows in residuals_by_group(cohort).items():
        np.testing.assert_array_equal(rows.values, residual_rows(cohort, name).values)
        own = cohort.subset(groups=name).subset(rows=rows.places)
        sites = own.site[:, None] == ["A", "B", "C"]
        sex = own.covariates["sex"] == "m"
        design = np.column_stack([sites, own.covariates["age"], sex]).astype(float)
        fitted = design @ np.linalg.lstsq(design, own.values, rcond=None)[0]
        expected = own.values - fitted + own.values.mean(axis=0)
        np.testing.assert_allclose(rows.values, expected, atol=1e-9)
        assert rows.effects.shape[1] == 4  # two sites beyond the first, a slope, and a second sex
    plain = confounded(site=None, covariates={})
    rows = residual_rows(plain, "AD")
    assert rows.effects.shape[1] == 0
    np.testing.assert_array_equal(rows.values, plain.of_group("AD")[rows.places])


@pytest.mark.parametrize("gap", [np.nan, ""])
def test_a_covariate_with_a_gap_or_that_explains_a_region_is_refused(gap):
    column = np.where(np.arange(40) == 6, gap, "m" if gap == "" else 70.0 + np.arange(40))
    with refused("covariate.gaps"):
        residual_rows(confounded(covariates={"z": column}), "AD")
    own = confounded().values[:, 1]
    with refused("regions.explained"):
        residual_rows(confounded(covariates={"z": own}), "AD")


def test_a_network_is_taken_from_a_fitted_learner():
    rows = np.random.default_rng(0).standard_normal((40, 2))
    learner = SGBN().fit(rows)
    assert network_of(learner) is network_of(learner.network_) is learner.network_
    joint = JointSGBN().fit(rows, np.repeat(["AD", "NC"], 20))
    assert isinstance(network_of(joint.networks_["AD"]), GaussianNetwork)
    with refused("network.type"):
        network_of(joint)


def test_a_curve_that_does_not_fit_one_group_is_linear_there():
    rng = np.random.default_rng(0)
    group = np.repeat(["AD", "NC"], 40)
    age = np.where(group == "AD", np.resize([60.0, 70.0, 80.0], 80), rng.uniform(50, 90, 80))
    ids = [f"s{k}" for k in range(80)]
    given = {"group": group, "covariates": {"age": age}}
    line = Cohort(rng.normal(size=(80, 2)), ("insula", "amygdala"), ids, **given)
    curve = replace(line, smooth=("age",))
    assert residual_rows(curve, "NC").effects.shape[1] == 5
    with warned("smooth.part"):
        found = residual_rows(curve, "AD")
    np.testing.assert_array_equal(found.values, residual_rows(line, "AD").values)


def prepared(**changes):
    """Two groups of 40 subjects without effects."""
    values = np.random.default_rng(0).standard_normal((80, 4))
    given = {"group": np.repeat(["a", "b"], 40)} | changes
    return Cohort(values, list("pqrs"), range(80), **given)


SITE = np.tile(["one", "two", "three", "four"], 20)


def test_prepared_rows_are_those_of_a_group_with_their_labels():
    cohort = prepared(site=SITE, person=np.arange(80) // 2, block=np.arange(80) // 4)
    found = prepared_rows(cohort, "b")
    places = 40 + found.places
    np.testing.assert_array_equal(found.values, cohort.values[places])
    assert (found.names, found.lobes) == (cohort.regions, cohort.lobes)
    for name in ("site", "person", "block", "units"):
        own = getattr(found.design, name)
        assert own.tolist() == getattr(cohort.design, name)[places].tolist()


def test_effects_of_prepared_rows_are_covariates_and_sites_without_the_mean():
    age = np.random.default_rng(1).normal(50, 10, 80)
    rows = prepared_rows(prepared(covariates={"age": age}, site=SITE), "b")
    effects, own = rows.effects, age[40:][rows.places] - age[40:].mean()
    assert effects.shape == (40, 4)  # age, and three of four sites
    np.testing.assert_allclose(effects.sum(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(effects @ (effects.T @ own), own, atol=1e-9)
    assert prepared_rows(prepared(), "a").effects.shape == (40, 0)


def test_more_effects_than_halves_can_tell_are_left_with_a_warning():
    many = {f"c{k}": np.random.default_rng(k).standard_normal(80) for k in range(11)}
    with warned("halves.effects"):
        assert prepared_rows(prepared(covariates=many), "a").effects.shape == (40, 0)
    for more, wanted in (({"covariates": many}, False), ({"site": SITE}, True), ({}, False)):
        assert takes_effects_out(prepared(**more)) is wanted
