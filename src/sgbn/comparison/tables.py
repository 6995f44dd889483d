"""A comparison as tables: what the report shows and what is written as CSV."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sgbn.comparison.result import Comparison
from sgbn.inference.held_out import FACTORS
from sgbn.io import edge_table
from sgbn.types import Array

TRUE = "true_"  # begins the names of columns with the truth of a simulation
PRESENT = 0.01  # a true difference of standardised weights, below which edges count as equal


def edges(comparison: Comparison) -> pd.DataFrame:
    """Edges of all groups, the strongest first.

    Columns group, source, target, their lobes, those of `sgbn.edge_table`, `beside_factors`
    ("stays" or "goes" when the leading hidden factors are taken out), and the true weight where
    known.
    """
    parts = []
    for group, learner in comparison.learners.items():
        table = edge_table(
            learner,
            confidence=comparison.confidence.get(group),
            supported=comparison.supported(group),
        )
        table.insert(0, "group", group)
        _add_lobes(table, comparison)
        if group in comparison.beside_factors:
            _add_beside_factors(table, comparison.beside_factors[group])
        if comparison.truth:
            table["true_weight_std"] = _at(table, comparison, comparison.truth[group])
        parts.append(table)
    return pd.concat(parts, ignore_index=True)


def differences(comparison: Comparison) -> pd.DataFrame:
    """List tested edges, the most different first, with lobes, confidence and the truth.

    ``weight_std_GROUP`` is ``weight_GROUP`` per standard deviation of the residuals of all groups,
    as `difference_std` is. `supported` is whether the network of any group has this edge with a
    direction that is supported. The other columns are those of `Differences.edges`.
    """
    found = comparison.differences
    if found is None:
        return pd.DataFrame()
    table = pd.DataFrame.from_records(found.edges)
    scale = _per_sd(comparison, table)
    where = list(table.columns).index("difference")
    for place, group in enumerate(comparison.groups):
        table.insert(where + place, f"weight_std_{group}", table[f"weight_{group}"] * scale)
    _add_lobes(table, comparison)
    any_group = np.any([comparison.supported(group) for group in comparison.groups], axis=0)
    table["supported"] = _at(table, comparison, any_group)
    for group, confidence in comparison.confidence.items():
        table[f"adjacent_{group}"] = _at(table, comparison, confidence.adjacency_)
    if comparison.truth:
        true = [_at(table, comparison, comparison.truth[group]) for group in comparison.groups]
        for group, weights in zip(comparison.groups, true, strict=True):
            table[f"{TRUE}{group}"] = weights
        table["true_change"] = np.ptp(true, axis=0) > PRESENT
    return table


def named(comparison: Comparison) -> pd.DataFrame:
    """List the edges that were named beforehand, as `Differences.named` has them."""
    found = comparison.differences
    if found is None or found.named is None:
        return pd.DataFrame()
    return pd.DataFrame.from_records(found.named)


def among(comparison: Comparison) -> pd.DataFrame:
    """List the edges between regions that were named beforehand, the surest first."""
    found = comparison.differences
    if found is None or found.among is None:
        return pd.DataFrame()
    table = pd.DataFrame.from_records(found.among.edges)
    return table.sort_values(["p_fwer", "q"], kind="stable", ignore_index=True)


def pairwise(comparison: Comparison) -> pd.DataFrame:
    """List the closed tests of each pair of more than two groups, `group` and `other`."""
    found = comparison.differences
    parts = []
    for (group, other), edges in ({} if found is None else found.pairwise).items():
        table = pd.DataFrame.from_records(edges)
        table.insert(0, "group", group)
        table.insert(1, "other", other)
        parts.append(table)
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def models(comparison: Comparison) -> pd.DataFrame:
    """Held-out log-likelihood per variable of the models of each group.

    `difference` is to the network, with its standard error; `factors` is the number of hidden
    factors, of the factor analysis only.
    """
    parts = []
    for group, compared in comparison.models.items():
        table = pd.DataFrame.from_records(compared.table)
        table.insert(0, "group", group)
        table["factors"] = np.where(table["model"] == FACTORS, float(compared.n_factors), np.nan)
        parts.append(table)
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def hubs(comparison: Comparison) -> pd.DataFrame:
    """List changes of in- and out-strength of every region, the surest first."""
    return _sorted(None if comparison.differences is None else comparison.differences.hubs)


def lobes(comparison: Comparison) -> pd.DataFrame:
    """List changes from lobe to lobe, the surest first."""
    return _sorted(None if comparison.differences is None else comparison.differences.lobes)


def components(comparison: Comparison) -> pd.DataFrame:
    """Edges of connected sets of changed edges, with the sign, strength and p of their set."""
    columns = ["component", "sign", "strength", "p_fwer", "error", "source", "target"]
    if comparison.differences is None:
        return pd.DataFrame()
    names = comparison.differences.regions
    rows = [
        (number, one.sign, one.strength, p, error, names[source], names[target])
        for number, (one, p, error) in enumerate(comparison.differences.components, start=1)
        for source, target in one.pairs.tolist()
    ]
    return pd.DataFrame(rows, columns=columns)


def subjects(comparison: Comparison) -> pd.DataFrame:
    """Subjects: predicted group with its probability, what spoke for it, and their deviation.

    Probabilities are means over the repeats, of models that had not seen the subject. `because` has
    the largest parts of the log-likelihood ratio of the likeliest group over the next.
    """
    cohort, accuracy = comparison.cohort, comparison.accuracy
    table = pd.DataFrame({"subject": cohort.ids, "group": cohort.group})
    if accuracy is not None:
        mean = next(iter(accuracy.probabilities.values())).mean(axis=0)
        table["predicted"] = np.array(accuracy.groups)[mean.argmax(axis=1)]
        for k, group in enumerate(accuracy.groups):
            table[f"probability_{group}"] = mean[:, k]
        pairs = np.array(accuracy.groups)[accuracy.explained].tolist()
        table["because"] = [
            _because(*one)
            for one in zip(accuracy.explanations, pairs, table["predicted"], strict=True)
        ]
    if comparison.deviations is not None:
        found = comparison.deviations
        farthest = np.abs(found.regions).argmax(axis=1)
        table["deviation_p"] = found.p_reference
        table["farthest_region"] = np.array(found.names, dtype=object)[farthest]
        table["farthest_z"] = found.regions[np.arange(len(table)), farthest]
    return table


def accuracy(comparison: Comparison) -> pd.DataFrame:
    """Scores of all classifiers; see `Accuracy.table`."""
    if comparison.accuracy is None:
        return pd.DataFrame()
    return comparison.accuracy.table(comparison.settings.level)


def refinements(comparison: Comparison) -> pd.DataFrame:
    """How the refinements move the weights."""
    parts = []
    for name, changes in comparison.refinements.items():
        table = pd.DataFrame.from_records(changes)
        table.insert(0, "method", name)
        parts.append(table)
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def _sorted(records: NDArray[Any] | None) -> pd.DataFrame:
    if records is None:
        return pd.DataFrame()
    table = pd.DataFrame.from_records(records)
    surest = np.lexsort((-table["z"].abs(), table["p_fwer"]))
    return table.iloc[surest].reset_index(drop=True)


def _because(parts: NDArray[Any], pair: list[str], predicted: str) -> str:
    """Largest parts, positive where they speak for the predicted group, if it was one of the two.

    The mean over repeats may predict another group than the repeat that was explained.
    """
    of, against = pair
    sign = -1 if predicted == against else 1
    texts = [
        f"{target if not source else f'{source} – {target}'} {round(sign * value, 2) + 0.0:+.2f}"
        for source, target, value in parts.tolist()
        if value
    ]
    return ("" if predicted in pair else f"{of} over {against}: ") + "; ".join(texts)


def _add_lobes(table: pd.DataFrame, comparison: Comparison) -> None:
    cohort = comparison.cohort
    lobe_of = dict(zip(cohort.regions, cohort.lobes, strict=True))
    for place, end in enumerate(("source", "target")):
        where = list(table.columns).index("target") + 1 + place
        table.insert(where, f"{end}_lobe", table[end].map(lobe_of))


def _add_beside_factors(table: pd.DataFrame, found: NDArray[Any]) -> None:
    rows = found[["source", "target", "stays"]].tolist()
    words = {(source, target): "stays" if stays else "goes" for source, target, stays in rows}
    table["beside_factors"] = [
        words.get(ends, "")
        for ends in table[["source", "target"]].itertuples(index=False, name=None)
    ]


def _per_sd(comparison: Comparison, table: pd.DataFrame) -> Array:
    """Find what turns a weight in the units of the data into one per standard deviation.

    It is in the table wherever the last group differs from the first. Elsewhere it comes from the
    spread within the groups, of the subjects that were tested, which is nearly the same.
    """
    found, cohort = comparison.differences, comparison.cohort
    gone = {one for ids in (found.left_out.values() if found else ()) for one in ids}
    kept = np.array([one not in gone for one in cohort.ids])
    regions = comparison.regions[kept]
    own = regions.groupby(np.asarray(cohort.group)[kept]).transform("mean")
    sd = (regions - own).std()
    spread = sd[table["source"]].to_numpy() / sd[table["target"]].to_numpy()
    change, std = (table[name].to_numpy(float) for name in ("difference", "difference_std"))
    known = np.isfinite(change) & (change != 0)
    scale: Array = np.where(known, std / np.where(known, change, 1.0), spread)
    return scale


def _at(table: pd.DataFrame, comparison: Comparison, matrix: NDArray[Any]) -> NDArray[Any]:
    """Entries of a matrix of regions at the edges of a table."""
    place = {name: k for k, name in enumerate(comparison.cohort.regions)}
    found: NDArray[Any] = matrix[table["source"].map(place), table["target"].map(place)]
    return found
