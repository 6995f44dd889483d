"""Networks drawn from the posteriors of parts of a sample: nearly all rows, and halves.

Halves are used and not bootstrap samples. A row that is drawn twice looks like two subjects who
agree, and this leads to several times as many false edges. All that is fitted to rows (effects
of covariates and sites, outliers, normal scores, scales) is fitted to each half separately.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import joblib
import numpy as np
from sklearn.base import clone

from sgbn.cohort.design import N_TENTHS, Sample, deal_rows
from sgbn.cohort.effects import without_nuisance
from sgbn.core.exceptions import DataWarning, counted, warn
from sgbn.core.moments import Moments, constant_columns, moments_of, one_blas_thread
from sgbn.core.types import Array, Indices, Mask
from sgbn.prepare.outliers import normal_scores
from sgbn.runs.files import Arrays
from sgbn.runs.study import Study
from sgbn.structure import SGBN
from sgbn.structure.ensemble.confidence import EdgeConfidence, agreement_from, agreement_of
from sgbn.structure.knowledge import Knowledge
from sgbn.structure.posterior.sampling import ChainPlan, sample_networks

N_CANDIDATE_PARENTS = 10  # per variable (benchmarks/replication.py)
PLAN = ChainPlan(n_candidates=N_CANDIDATE_PARENTS, n_chains=1, n_burn=60, n_kept=100, thin=1.0)
# Each use of random numbers has its own stream. So more chains or more pairs never change the
# numbers that the other chains and pairs draw.
WHOLES, WHOLE_CHAINS, HALVES, HALF_CHAINS = range(4)


def graph_moments(learner: SGBN, values: Array, names: Sequence[str]) -> Moments:
    """Return the moments of the rows, or of their normal scores if the learner wants these."""
    if learner.column_transform == "normal-scores":
        values = normal_scores(values)
    return moments_of(values, list(names))


def learn_parts(
    sample: Sample,
    learner: SGBN,
    knowledge: Knowledge,
    n_chains: int,
    n_pairs: int,
    seed: int,
    study: Study,
) -> tuple[Array, EdgeConfidence | None]:
    """Return the share of each arrow in posteriors of nearly all rows, and the edge confidence.

    The confidence comes from half samples; it is None if `n_pairs` is 0.

    Parameters
    ----------
    sample : Sample
        The rows.
    learner : SGBN
        The learner of the starting points, not fitted; its settings also define the posterior.
    knowledge : Knowledge
        The allowed and the required edges.
    n_chains : int
        Number of chains on nearly all rows.
    n_pairs : int
        Number of splits of the rows into two halves.
    seed : int
        Seed of the splits and of the chains.
    study : Study
        Runs the tasks, and keeps their results. The result of a task depends only on the data, the
        learner, the seed and the number of the task. So a study can be continued with more pairs.
    """
    settings = {
        "data": joblib.hash([*sample]),
        "learner": repr(learner),
        "learner_parameters": joblib.hash(learner.get_params()),  # long ones are cut in the repr
        "seed": seed,
        "plan": list(PLAN),
    }
    wholes = {f"whole{k:05d}": {"kind": "whole", "number": k} for k in range(n_chains)}
    pairs = {f"pair{k:05d}": {"kind": "pair", "number": k} for k in range(n_pairs)}
    # These are sent to each worker once, and not with every task.
    shared = {"sample": sample, "learner": learner, "knowledge": knowledge, "seed": seed}
    tasks = wholes | pairs
    kinds = {name: str(task["kind"]) for name, task in tasks.items()}
    results = study.run(learn_task, tasks, settings, shared=shared, kinds=kinds)
    arrows: Array = np.mean([results[name]["arrows"] for name in wholes], axis=0)
    if not n_pairs:
        return arrows, None
    return arrows, gather_pairs([results[name] for name in pairs], sample.names)


def learn_task(
    sample: Sample, learner: SGBN, knowledge: Knowledge, seed: int, kind: str, number: int
) -> Arrays:
    """Return the share of each arrow, from nine tenths of the rows or from a pair of halves."""
    if kind == "whole":
        # Ten chains share one division of the rows into tenths. Each leaves out another tenth.
        tenths = deal(sample, seed, WHOLES, number // N_TENTHS, N_TENTHS)
        rows = np.flatnonzero(tenths != number % N_TENTHS)
        arrows, _ = _learn_part(sample, rows, learner, knowledge, [seed, WHOLE_CHAINS, number])
        return {"arrows": arrows}
    halves = deal(sample, seed, HALVES, number, 2)
    shares, constant = [], []
    for which in range(2):
        rows, half_seed = np.flatnonzero(halves == which), [seed, HALF_CHAINS, number, which]
        arrows, is_constant = _learn_part(sample, rows, learner, knowledge, half_seed)
        shares.append(arrows)
        constant.append(is_constant)
    return pair_result(shares, constant)


def pair_result(shares: Sequence[Array], constant: Sequence[Mask]) -> Arrays:
    """Return what is kept of two halves: mean shares, counts of agreement, constant columns."""
    first, second = shares
    return {
        "arrows": (first + second) / 2,
        "agreement": agreement_of(first, second),
        "constant": np.array(constant),
    }


def gather_pairs(pairs: Sequence[Arrays], names: Sequence[str]) -> EdgeConfidence:
    """Return the confidence from the results of all pairs of halves (see `pair_result`)."""
    _warn_about_constants(np.concatenate([pair["constant"] for pair in pairs]), names)
    return EdgeConfidence(
        tuple(names),
        2 * len(pairs),
        np.mean([pair["arrows"] for pair in pairs], axis=0),
        agreement_from(np.sum([pair["agreement"] for pair in pairs], axis=0), 2 * len(pairs)),
    )


def deal(sample: Sample, seed: int, stream: int, number: int, n_parts: int) -> Indices:
    """Return the part of each row in one random division of the rows (see `deal_rows`)."""
    rng = np.random.default_rng([seed, stream, number])
    return deal_rows(rng, len(sample.values), n_parts, sample.strata, sample.units)


def _learn_part(
    sample: Sample,
    rows: Indices,
    learner: SGBN,
    knowledge: Knowledge,
    seed: Sequence[int],
) -> tuple[Array, Mask]:
    """Return the share of each arrow in a part of the rows, and which columns are constant there.

    A constant column has no arrows.
    """
    with warnings.catch_warnings(), one_blas_thread():
        warnings.simplefilter("ignore", DataWarning)  # there are many parts, with similar warnings
        values, lost = without_nuisance(sample.values[rows], sample.nuisance[rows])
        # A clone, because `clean` stores in the learner which rows it left out.
        values = clone(learner).clean(np.ascontiguousarray(values), sample.names)
        constant = constant_columns(values)
        # A column such as a rare lesion may be constant in a half. The others still have a network.
        kept = np.flatnonzero(~constant)
        names = [sample.names[k] for k in kept.tolist()]
        moments = graph_moments(learner, np.ascontiguousarray(values[:, kept]), names)
        # Repeated visits and lost degrees of freedom must not count as subjects in the posterior.
        moments = moments.of_residuals(lost + sample.repeats(rows))
        sampled = sample_networks(moments, knowledge.among(kept), learner, PLAN, seed)
        arrows = np.zeros((len(constant), len(constant)))
        arrows[np.ix_(kept, kept)] = moments.to_user(sampled.arrows)
    return arrows, constant


def _warn_about_constants(constant: Mask, names: Sequence[str]) -> None:
    """Warn if columns are constant in some halves; `constant` has one row per half."""
    counts = constant.sum(axis=0)
    if counts.any():
        worst = int(np.argmax(counts))
        n_columns = int((counts > 0).sum())
        warn(
            f"{names[worst]!r} is constant in {counts[worst]} of {len(constant)} halves, and has "
            f"no edge there ({counted(n_columns, 'such column')}). So its shares are too low. "
            "Leave the column out, or read its shares with care."
        )
