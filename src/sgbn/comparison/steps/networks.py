"""The networks of a comparison: their learners, their words, and their tables in the page.

First come the default learner and the functions that learn the network of one group, and the steps
that learn the networks of all groups and the confidence of their edges. Then come
sentences about supported arrows; benchmarks/results/replication.md shows how well halves of other
data agree. The tables at the end list edges, refinements, subjects, and how networks were learned.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from sgbn.cohort.cohort import Cohort
from sgbn.cohort.rows import Rows, prepared_rows
from sgbn.cohort.series import SeriesCohort
from sgbn.comparison.names import called, joined, lobe_fields, row_word, with_labels
from sgbn.comparison.settings import Settings
from sgbn.comparison.step import Job, Step
from sgbn.comparison.steps.refinements import in_parallel
from sgbn.comparison.steps.residuals import residual_words
from sgbn.comparison.steps.series_data import with_subjects_support
from sgbn.core.problems import Problem
from sgbn.inference.confidence import sample_confidence
from sgbn.learn.base import LearnedNetwork, warnings_about
from sgbn.learn.classifier import default_learner
from sgbn.learn.confidence import MIN_ADJACENCY, MIN_DIRECTION
from sgbn.learn.ensemble import MIN_ROWS_TO_HALVE, ConfidentNetwork, SGBNEnsemble
from sgbn.learn.knowledge import KNOWLEDGE
from sgbn.learn.series import MIN_SUBJECTS_TO_HALVE, SeriesSGBN
from sgbn.learn.sgbn import SGBN
from sgbn.prepare.outliers import trimmed
from sgbn.prepare.pipeline import regions_table
from sgbn.runs.study import Study
from sgbn.write.page import ENDS, HINTS, Field, Table, folded, in_words, make_table
from sgbn.write.tables import edge_table, frame_of, stacked

if TYPE_CHECKING:
    import pandas as pd

    from sgbn.comparison.result import Comparison


def default_ensemble(settings: Settings, gamma: float | None = None) -> SGBNEnsemble:
    """Make the default learner of the networks, with `n_pairs` splits into half samples.

    It has at most as many chains as half samples. Without half samples it has the default number
    of chains of an `SGBNEnsemble`.
    """
    ensemble = SGBNEnsemble(gamma, n_pairs=settings.n_pairs, random_state=settings.seed)
    if settings.n_pairs:
        # A quick run has few half samples, two per pair. More chains would take most of its time.
        ensemble.n_chains = min(ensemble.n_chains, 2 * settings.n_pairs)
    return ensemble


def searcher_of(learner: LearnedNetwork, labels: NDArray[Any]) -> LearnedNetwork:
    """Return the learner for steps with hundreds of networks: `SGBN` in place of an ensemble.

    It has the prior knowledge and `max_parents` of the ensemble, and one gamma for all groups. The
    gamma of an ensemble belongs to a prior, and has another meaning than the gamma of `SGBN`. These
    steps keep all subjects and do not transform their values.
    """
    if isinstance(learner, SGBNEnsemble):
        # Prior knowledge of the regions holds in every step, for every learner.
        shared = {name: getattr(learner, name) for name in ("max_parents", *KNOWLEDGE)}
        return default_learner(labels).set_params(**shared)
    plain = {"outliers": "keep", "column_transform": "none"}
    if not set(plain) <= set(learner.get_params()):
        return learner
    return clone(learner).set_params(**plain)


def fast_learner(learner: Any) -> Any:
    """Return a faster version of a learner, for steps that learn many networks.

    Its networks are nearly as good as the networks of the learner itself. For SGBN, this is the
    learner with ``effort="fast"`` and without kicks (new local searches from random changes of the
    best order). Other learners are returned as they are.
    """
    if not isinstance(learner, SGBN):
        return learner
    return clone(learner).set_params(effort="fast", n_kicks=0)


def rows_to_learn(learner: LearnedNetwork, cohort: Cohort, group: str) -> Rows:
    """Return the rows of a group of a prepared cohort, as a learner of networks sees them.

    An ensemble takes the effects of covariates and sites out again, also of each half sample.
    """
    if isinstance(learner, SGBNEnsemble):
        return prepared_rows(cohort, group)
    return Rows.of(cohort.subset(groups=[group]))


def learn_network(
    learner: LearnedNetwork, cohort: Cohort, group: str, study: Study
) -> LearnedNetwork:
    """Learn the network of one group of a prepared cohort.

    In each half sample, the effects of covariates and sites are taken out of tables again. Sites
    are balanced between the halves, and the rows of a person or of a family stay together. If the
    subjects are too few, there are no half samples. The fitted copy keeps the parameters `n_jobs`
    and `n_pairs` of the given learner.
    """
    fitted: Any = clone(learner)
    if not isinstance(learner, ConfidentNetwork):
        return fitted.fit(regions_table(cohort)[cohort.group == group])
    given = {name: getattr(learner, name) for name in ("n_jobs", "n_pairs")}
    fitted.set_params(n_jobs=study.n_jobs)
    part = cohort.subset(groups=[group])
    if part.design.n_units < fewest_to_halve(learner):
        fitted.set_params(n_pairs=0)  # `compare` says why there is no confidence
    if isinstance(part, SeriesCohort):
        fitted.fit(part, folder=study.folder, progress=study.progress)
    else:
        fitted.fit_rows(rows_to_learn(learner, cohort, group), study)
    # Results do not depend on n_jobs, and a client of a cluster cannot be written to files.
    return fitted.set_params(**given)


def fewest_to_halve(learner: LearnedNetwork) -> int:
    """Return the smallest number of subjects that a learner divides into halves."""
    return MIN_SUBJECTS_TO_HALVE if isinstance(learner, SeriesSGBN) else MIN_ROWS_TO_HALVE


class NetworksStep(Step):
    """Learn one network per group, and find the subjects that the networks leave out."""

    name, title = "networks", "One network per group"
    is_needed = True

    def run(self, job: Job, found: dict[str, Any]) -> None:
        """Learn the networks one by one if half samples run in parallel, otherwise in parallel."""
        networks = {}
        if isinstance(job.learner, ConfidentNetwork):
            for number, group in enumerate(job.groups):
                with warnings_about(group):
                    part = job.study.part(f"networks-{number}")
                    networks[group] = learn_network(job.learner, job.prepared, group, part)
            found["confidence"] = _known_confidence(job, networks)
        else:
            parts = [(group, job.table[job.prepared.group == group]) for group in job.groups]
            fitted = in_parallel(partial(_learned, job.learner), parts, job.study.n_jobs)
            networks = dict(zip(job.groups, fitted, strict=True))
            job.unkept.add(self.name)
        labels, far = np.asarray(job.cohort.group), np.zeros(len(job.cohort), bool)
        # A setting of None means that the learner does not look for outliers.
        if job.settings.outliers == "trim":
            for group in job.groups:
                far[labels == group] = trimmed(rows_to_learn(job.learner, job.prepared, group))
        found |= {"learners": networks, "outliers": far}

    def words(self, comparison: Comparison) -> dict[str, str]:
        """Say whether the residuals of the networks are as the model assumes."""
        return {"Do the residuals fit the model?": residual_words(comparison)}

    def tables(self, comparison: Comparison) -> dict[str, pd.DataFrame]:
        """Return the edges of all groups."""
        tables = {}
        for group, learner in comparison.learners.items():
            confidence, arrows = comparison.confidence.get(group), comparison.supported[group]
            table = edge_table(learner, confidence=confidence, supported=arrows)
            add_lobes(table, comparison)
            if comparison.of_series:
                table = with_subjects_support(table, learner)
            if group in comparison.beside_factors:
                _add_beside_factors(table, comparison.beside_factors[group])
            if comparison.truth:
                table["true_weight_std"] = at_edges(table, comparison, comparison.truth[group])
            tables[group] = table
        return {"edges": stacked(tables, "group")}


def add_lobes(table: pd.DataFrame, comparison: Comparison) -> None:
    """Add the lobes of both regions of each edge."""
    lobe_of = dict(zip(comparison.cohort.regions, comparison.cohort.lobes, strict=True))
    for place, end in enumerate(("source", "target")):
        where = list(table.columns).index("target") + 1 + place
        table.insert(where, f"{end}_lobe", table[end].map(lobe_of))


def _add_beside_factors(table: pd.DataFrame, refitted: NDArray[Any]) -> None:
    # Edges are found by name, because the two tables have different orders.
    words = {
        (edge["source"], edge["target"]): "stays" if edge["stays"] else "goes" for edge in refitted
    }
    ends = zip(table["source"], table["target"], strict=True)
    table["beside_factors"] = [words.get(pair, "") for pair in ends]


def at_edges(table: pd.DataFrame, comparison: Comparison, matrix: NDArray[Any]) -> NDArray[Any]:
    """Return the entries of a matrix of regions at the edges of a table."""
    place = {region: k for k, region in enumerate(comparison.cohort.regions)}
    entries: NDArray[Any] = matrix[
        [place[i] for i in table["source"]], [place[j] for j in table["target"]]
    ]
    return entries


def _learned(learner: LearnedNetwork, part: tuple[str, pd.DataFrame]) -> LearnedNetwork:
    group, rows = part  # only the rows of this group, because they are sent to a process
    with warnings_about(group):
        return clone(learner).fit(rows)


def _known_confidence(job: Job, networks: dict[str, Any]) -> dict[str, Any]:
    """Return the confidence that the learners of the networks know, by group."""
    known = {group: getattr(learner, "confidence_", None) for group, learner in networks.items()}
    confidence = {group: of_group for group, of_group in known.items() if of_group is not None}
    if getattr(job.learner, "n_pairs", 0) and len(confidence) < len(networks):
        least = fewest_to_halve(job.learner)
        job.skipped["confidence"] = Problem("halves.small-group", least=least).says(
            "a group of fewer than {least} subjects is too small for half samples"
        )
    return confidence


class ConfidenceStep(Step):
    """Count edges in networks of half samples, for learners that do not do it themselves."""

    name, title = "confidence", "Confidence of edges, from half samples"
    setting, off = "n_pairs", 0

    def run(self, job: Job, found: dict[str, Any]) -> None:
        """Learn the networks of half samples of each group."""
        found["confidence"] = {}  # if a group fails, the groups before it are kept
        for number, group in enumerate(job.groups):
            rows = prepared_rows(job.prepared, group)
            with warnings_about(group):
                found["confidence"][group] = sample_confidence(
                    rows,
                    fast_learner(job.learner),
                    job.settings.n_pairs,
                    job.settings.seed,
                    job.study.part(f"confidence-{number}"),
                )

    def words(self, comparison: Comparison) -> dict[str, str]:
        """Say how many directions are supported, and how well half samples agree."""
        some = any(mask.any() for mask in comparison.supported.values())
        drawn = "Only these are drawn as arrows, the other edges as lines."
        drawn = drawn if some else "All edges are drawn as lines."
        parts = support_words(comparison), drawn, agreement_words(comparison)
        return {"Can the arrows be trusted?": " ".join(filter(None, parts))}


# The lowest and highest share of the edges of one half of the subjects that the other half joins
# too, in the age groups of IXI and the controls of ABIDE
# (benchmarks/results/replication_same_rows.md).
USUAL_EDGES = (0.40, 0.53)
USUAL = (  # the numbers of arrows are from benchmarks/results/replication.md
    " On brain tables of 170 to 530 subjects, the other half usually joins {:.0%} to {:.0%} of the "
    "pairs. On brain tables of 250 subjects, three in four supported directions came back in 250 "
    "other subjects, and none was supported in the opposite direction. With 100 subjects, hardly "
    "any direction is supported."
).format(*USUAL_EDGES)
UNSEEN = (  # the numbers are from benchmarks/results/series-harder.md
    " Half samples cannot detect inputs that all subjects share and that no region measures: with "
    "two such inputs and 20 simulated regions, 37% of the supported arrows were wrong."
)


def support_words(comparison: Comparison) -> str:
    """Say how many directions are supported, and what this means."""
    if not comparison.confidence:
        why = comparison.skipped.get("confidence", "half samples were not asked for.")
        return f"No direction is supported: {why}"
    parts = _supported_counts(comparison)
    # Only the first count says "edges": "3 of 20 edges in CTR and 1 of 18 in SCZ".
    edges = "edge" if " of 1 in " in parts[0] else "edges"
    parts[0] = parts[0].replace(" in ", f" {edges} in ", 1)
    adjacency, direction = (f"{100 * share:.3g}%" for share in min_shares(comparison))
    halves = "half samples of the subjects" if comparison.of_series else "half samples"
    return (
        f"The direction of {joined(parts)} is supported: at least {adjacency} of the networks of "
        f"{halves} join the pair, and at least {direction} of these have this direction."
        f"{_too_few_words(comparison)}{_shadow_words(comparison)}"
    )


def trust_words(comparison: Comparison) -> str:
    """Say in short how far networks and arrows can be trusted, for the first screen.

    `support_words` and `agreement_words` give the details.
    """
    if not comparison.confidence:
        return support_words(comparison)  # it is short in this case
    text = (
        "Edges with a direction that half samples support: "
        f"{joined(_supported_counts(comparison))}. The other edges may point either way, and are "
        f"drawn as lines.{_too_few_words(comparison)}"
    )
    shares = [
        f"{confidence.agreement.edges:.0%} in {called(group)}"
        for group, confidence in comparison.confidence.items()
        if not math.isnan(confidence.agreement.edges)
    ]
    if shares:
        text += f" Edges that come back in the other half of the subjects: {joined(shares)}."
    models = comparison.models.items()
    shadows = [called(group) for group, compared in models if compared.edges_may_be_shadows]
    if shadows:
        text += (
            f" In {joined(shadows)}, hidden common causes predict unseen subjects better than the "
            "network: do not rely on single edges."
        )
    chance = [called(group) for group, compared in models if compared.edges_may_be_chance]
    if chance:
        text += (
            f" In {joined(chance)}, the network does not clearly predict unseen subjects better "
            "than independent regions do: its edges may be due to chance."
        )
    return text


def _supported_counts(comparison: Comparison) -> list[str]:
    """Return the count of supported directions in words, for each group with half samples."""
    sizes = {
        group: np.count_nonzero(learner.coef_) for group, learner in comparison.learners.items()
    }
    return [
        f"{comparison.supported[group].sum()} of {n} in {called(group)}"
        for group, n in sizes.items()
        # Small groups have no half samples. `_too_few_words` names them.
        if group in comparison.confidence
    ]


def _too_few_words(comparison: Comparison) -> str:
    """Name the groups that are too small for half samples. Return "" if there are none."""
    without = [called(group) for group in comparison.groups if group not in comparison.confidence]
    if not without:
        return ""
    verb = "has" if len(without) == 1 else "have"
    return f" {joined(without)} {verb} too few subjects for half samples."


def _shadow_words(comparison: Comparison) -> str:
    """Count the directions on which half samples agree, but which hidden factors explain."""
    counts = {
        group: (comparison.agreed[group] & ~comparison.supported[group]).sum()
        for group in comparison.confidence
    }
    parts = [f"{count} in {called(group)}" for group, count in counts.items() if count]
    if not parts:
        return ""
    return (
        f" Half samples agree on further directions ({joined(parts)}). These do not count, because "
        "hidden factors predict better than the network and these edges disappear when the factors "
        "are taken out."
    )


FEWEST_AGREED = 0.5  # edges or arrows of a half, on average; a share of fewer says nothing


def agreement_words(comparison: Comparison) -> str:
    """Say how well complementary halves of these data agree, and what is usual."""
    sentences = []
    for group, confidence in comparison.confidence.items():
        agreement = confidence.agreement
        if not agreement.n_edges >= FEWEST_AGREED:
            continue  # the halves have no edges to agree on
        sentences.append(
            f"One half of {called(group)} joins {agreement.n_edges:.0f} pairs of regions on "
            f"average, and the other half joins {agreement.edges:.0%} of these too."
        )
        if agreement.n_arrows >= FEWEST_AGREED:
            # A half of series has one network, and a half of a table has many.
            half = "The network of one half has" if comparison.of_series else "One half is sure of"
            sentences.append(
                f"{half} {agreement.n_arrows:.1f} directions on average, and the other half has "
                f"{agreement.arrows:.0%} of these too."
            )
    if not sentences:
        return ""
    return (
        f"Complementary halves of these data were compared. {' '.join(sentences)}"
        f"{UNSEEN if comparison.of_series else USUAL}"
    )


def min_shares(comparison: Comparison) -> tuple[float, float]:
    """Return the two shares that a direction needs to be supported.

    The first is the share of the networks that join the pair. The second is the share of these
    networks that have the direction.
    """
    learner = comparison.learners[comparison.reference]  # all groups have the same thresholds
    return (
        float(getattr(learner, "min_adjacency", MIN_ADJACENCY)),
        float(getattr(learner, "min_direction", MIN_DIRECTION)),
    )


def edges_table(comparison: Comparison) -> Table:
    """Make a table of all edges of the networks."""
    limits = HINTS["edges-table"]["limits_of_series"] if comparison.of_series else None
    fields = [
        Field("group", "group"),
        *ENDS,
        Field("weight_std", "weight per SD", "weight"),
        Field("supported", "direction supported"),
        Field("adjacent", "confidence", "share"),
        Field("this_way", "this way", "share"),
        Field("support_share", "subjects that support it", "share"),
        Field("survives", "stays without a tenth"),
        *folded(
            [
                # Weights of time series are standardised, so this column would repeat another.
                *([] if comparison.of_series else [Field("weight", "weight", "number")]),
                Field("low", "weight, low", "number", limits),
                Field("high", "weight, high", "number", limits),
                *lobe_fields(comparison),
                Field("beside_factors", "beside factors"),
                Field("graph_direction", "in this graph"),
                Field("true_weight_std", "true weight per SD", "number"),
            ]
        ),
    ]
    caption = "Edges of all networks, the strongest of each group first"
    table = in_words(with_labels(comparison, comparison.tables.edges), "supported", "survives")
    return make_table("edges-table", caption, table, fields)


def refinements_section(comparison: Comparison) -> dict[str, Any] | None:
    """Collect the table of refined weights, and whether the groups differ; None without a table."""
    table = refinements_table(comparison)
    return None if table is None else {"table": table, "differ": groups_differ(comparison)}


def groups_differ(comparison: Comparison) -> bool:
    """Return whether all edges together or any pair differ; False if that was not tested."""
    tests, level = comparison.tests, comparison.settings.level
    if tests is None:
        return False
    return bool(tests.global_p <= level or (tests.edges["q_both"] <= level).any())


def refinements_table(comparison: Comparison) -> Table | None:
    """Make a table of the weights before and after refinement; return None if none was moved."""
    table = with_labels(comparison, comparison.tables.refinements)
    if table.empty:
        return None
    fields = [
        *(Field("method", "method"), Field("class", "group")),
        *ENDS,
        Field("before", "before", "number"),
        Field("after", "after", "number"),
        Field("difference", "change", "number"),
        Field("rank", "rank", "count"),
    ]
    return make_table("refinements-table", "Weights before and after", table, fields)


def subjects_table(comparison: Comparison) -> Table:
    """Make a table of the subjects, in the order of the data."""
    table = comparison.tables.subjects
    # The table has this column only if classifiers were tried.
    if "predicted" in table:
        right = table["predicted"] == table["group"]
        table = table.assign(right=np.where(right, "yes", "no"))
    groups = () if comparison.accuracy is None else comparison.accuracy.groups
    because = HINTS["subjects-table"]["because_of_series"] if comparison.of_series else None
    fields = [
        *(Field("subject", "subject"), Field("group", "group")),
        Field("predicted", "predicted"),
        Field("right", "correct"),
        *(Field(f"probability_{group}", f"probability, {group}", "share") for group in groups),
        Field("because", "reasons", "prose", because),
        Field("deviation_p", "p of deviation", "p"),
        Field("farthest_region", "most deviating region"),
        Field("farthest_z", "z of that region", "number"),
    ]
    return make_table("subjects-table", "Subjects", table, fields)


def networks_table(comparison: Comparison) -> Table:
    """Make a table of how the network of each group was learned."""
    rows = []
    for group, learner in comparison.learners.items():
        confidence = comparison.confidence.get(group)
        rows.append(
            {
                "group": group,
                # Only the rows that the network was learned from
                "rows": comparison.cohort.sizes[group] - len(comparison.left_out[group]),
                "edges": np.count_nonzero(learner.coef_),
                "supported": int(comparison.supported[group].sum()),
                "halves": 0 if confidence is None else confidence.n_halves,
                "edges_again": np.nan if confidence is None else confidence.agreement.edges,
                "arrows_again": np.nan if confidence is None else confidence.agreement.arrows,
                "gamma": getattr(learner, "gamma_", np.nan),
                "score": getattr(learner, "score_", np.nan),
            }
        )
    fields = [
        *(Field("group", "group"), Field("rows", row_word(comparison), "count")),
        Field("edges", "edges", "count"),
        Field("supported", "directions supported", "count"),
        Field("halves", "half samples", "count"),
        Field("edges_again", "edges found again", "share"),
        Field("arrows_again", "arrows found again", "share"),
        *(Field("gamma", "sparsity (gamma)", "number"), Field("score", "criterion", "number")),
    ]
    # Some learners have no gamma or no score. Without half samples, two more columns are empty.
    known = frame_of(rows).dropna(axis="columns", how="all")
    return make_table("learned", "Networks", known, fields, searched=False)
