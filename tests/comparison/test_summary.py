from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from sgbn import Cohort
from sgbn.comparison.compare import compare
from sgbn.comparison.settings import Settings
from sgbn.comparison.step import not_done
from sgbn.comparison.steps.accuracy import OURS
from sgbn.comparison.steps.told_apart import _verdict
from sgbn.core.gaussian import GaussianNetwork
from sgbn.core.problems import Finding, Problem, counted
from sgbn.learn.confidence import Agreement, EdgeConfidence
from sgbn.learn.ensemble import SGBNEnsemble
from sgbn.learn.sgbn import SGBN

FEW = Settings.networks_only(n_permutations=39, n_folds=3, n_repeats=1, peers=False)


@pytest.fixture(scope="module")
def different():
    """One edge of opposite signs, and groups that differ in their means."""
    rng = np.random.default_rng(0)
    sign = np.repeat([1.0, -1.0], 80)
    values = rng.normal(size=(160, 5))
    values[:, 1] += sign * values[:, 0]
    values[:, 4] += 3 * sign
    group = np.where(sign > 0, "well", "ill")
    cohort = Cohort(values, ["a", "b", "c", "d", "e"], range(160), group=group)
    chains = SGBNEnsemble(n_chains=4, n_pairs=0)
    return compare(cohort, replace(FEW, reference="well", models=True), learner=chains)


def answers(comparison):
    return {one.question: "\n".join(one.lines) for one in comparison.words.statements}


def test_whether_a_network_is_the_right_picture_is_said_of_each_group(different):
    lines = answers(different)["Is a network the right picture?"].split("\n")
    assert [line.partition(":")[0] for line in lines] == ["well", "ill"]
    for group, line in zip(("well", "ill"), lines, strict=True):
        found = different.beside_factors[group]
        assert different.models[group].verdict in line
        assert f"{found.stays.sum()} of the {counted(len(found), 'edge')} of the network " in line
    bare = replace(different, models={}, beside_factors={})
    assert "Is a network the right picture?" not in answers(bare)
    partly = replace(different, models={"well": different.models["well"]}, skipped={"models": "x"})
    assert "Models of ill left out: x" in answers(partly)["What should be kept in mind?"]


def test_no_difference_is_an_answer_with_the_detectable_effect():
    rng = np.random.default_rng(1)
    cohort = Cohort(
        rng.normal(size=(80, 4)), list("abcd"), range(80), group=np.repeat(["x", "y"], 40)
    )
    found = compare(cohort, FEW, learner=SGBN(0.0))
    said = answers(found)
    edges = said["Which edges differ, and how sure is that?"]
    assert len(found.tests.edges)  # without a price some edge is found in noise
    assert "would have been found family-wise" in edges
    assert said["Can the groups be told apart?"].startswith("Not reliably")


@pytest.mark.parametrize(
    ("global_p", "q", "said"),
    [
        (
            0.08,
            0.01,
            "differ at single pairs of regions. The test of all edges together (p = 0.080)",
        ),
        (0.01, 0.5, "differ in a test of all edges together (p = 0.010)"),
        (0.08, 0.5, "no proof of equality"),
    ],
)
def test_the_test_of_all_edges_and_those_of_single_ones_do_not_contradict(
    different, global_p, q, said
):
    edges = different.tests.edges.copy()
    edges["q"] = edges["q_both"] = q
    found = replace(different.tests, edges=edges, global_p=global_p, global_p_both=0.01)
    assert said in answers(replace(different, tests=found))["Do the networks differ?"]


def sure_of(row):
    return row["source"], row["target"]


def with_halves(comparison, arrows):
    """Comparison by a learner without half samples of its own, in which one arrow is sure."""
    regions, learners, confidence = comparison.cohort.regions, {}, {}
    m = len(regions)
    for group, ends in arrows.items():
        arrow, coef = np.zeros((m, m)), np.zeros((m, m))
        order = sorted(range(m), key=lambda k, ends=ends or (): regions[k] not in ends)
        if ends is not None:
            i, j = order[:2] = [regions.index(name) for name in ends]
            arrow[i, j] = 1.0
        coef[np.ix_(order, order)] = np.triu(np.ones((m, m)), 1)
        network = GaussianNetwork(coef, names=regions)
        learners[group] = SimpleNamespace(network_=network, coef_=coef)
        confidence[group] = EdgeConfidence(regions, 20, arrow, Agreement(8.0, 0.75, 4.0, 0.5))
    return replace(comparison, learners=learners, confidence=confidence)


def test_only_directions_that_half_samples_share_are_supported(different):
    regions = different.cohort.regions
    edges = len(regions) * (len(regions) - 1) // 2
    found = with_halves(different, {"well": regions[:2], "ill": None})
    said = answers(found)["Can the arrows be trusted?"]
    wanted = f"The direction of 1 of {edges} edges in well and 0 of {edges} in ill is supported"
    assert said.startswith(wanted)
    assert "half of well joins 8 pairs of regions on average, and the other half joins 75%" in said
    assert "directions on average, and the other half has 50%" in said
    said = answers(different)["Can the arrows be trusted?"]
    assert "No direction is supported: half samples were not asked for." in said


def test_an_edge_is_named_with_the_weight_of_each_group_per_sd(different):
    row = different.tables.differences.iloc[0]
    said = answers(different)["Which edges differ, and how sure is that?"]
    wanted = f"well {row['weight_std_well']:.2f}, ill {row['weight_std_ill']:.2f}; q = "
    named = f"{row['source']} – {row['target']} {row['kind_ill']} ({wanted}"
    assert named.replace("-", "−") in said
    assert "→" not in said  # without half samples nothing is supported
    arrow = answers(with_halves(different, {"well": sure_of(row), "ill": None}))
    assert (
        f"{row['source']} → {row['target']}" in arrow["Which edges differ, and how sure is that?"]
    )


@pytest.mark.parametrize(("right", "said"), [(True, "Yes. "), (False, "Not reliably. ")])
def test_folds_that_all_score_the_same_are_judged_by_the_interval(different, right, said):
    found = different.accuracy
    truth = (found.labels[:, None] == np.array(found.groups)).astype(float)
    sure = truth if right else np.full(truth.shape, 0.5)  # all are then called the first group
    same = replace(found, probabilities={**found.probabilities, OURS: sure[None]})
    assert np.isnan(same.p_value(OURS))  # no spread over the folds
    score = 1.0 if right else 0.5
    answer = answers(replace(different, accuracy=same))["Can the groups be told apart?"]
    assert answer.startswith(f"{said}The balanced accuracy in unseen subjects is {score}")


@pytest.mark.parametrize(
    ("p", "low", "said"),
    [
        (0.0004, 0.6, "Yes (one-sided p < 0.001)"),
        (0.037, 0.51, "Yes (one-sided p = 0.037)"),
        (0.037, 0.49, "Perhaps (one-sided p = 0.037, but the interval includes a guess)"),
        (0.06, 0.48, "Not reliably (one-sided p = 0.060)"),
    ],
)
def test_an_accuracy_is_a_yes_only_if_p_and_interval_agree(p, low, said):
    assert _verdict({"p": p, "low": low}, 0.5, 0.05) == said


def test_remarks_are_one_a_line_and_say_for_whom_a_step_was_left_out(different):
    odd = Finding("warning", "odd").says("something is odd", "Look.")
    findings = [odd, Finding("note", "no").says("no", "No.")]
    found = replace(
        different,
        review=replace(different.review, findings=findings),
        confidence=with_halves(different, {"well": None}).confidence,
        skipped={"confidence": Problem("few").says("too few rows")},
        warnings=(Problem("mind").says("mind\nthis"),),
    )
    (remarks,) = [one for one in found.words.statements if "kept in mind" in one.question]
    assert remarks.lines == [
        "Something is odd. Look.",
        "Confidence of ill left out: too few rows.",
        "Mind this.",
    ]


@pytest.mark.parametrize(
    ("pending", "skipped", "text"),
    [
        (["accuracy"], {}, "Not yet computed."),
        ([], {"accuracy": "too few subjects."}, "Not tried: too few subjects."),
        ([], {}, "Not tried: the settings of this run leave this step out."),
    ],
)
def test_why_a_step_has_no_result(pending, skipped, text):
    comparison = SimpleNamespace(pending=pending, skipped=skipped)
    assert not_done(comparison, "accuracy") == text
