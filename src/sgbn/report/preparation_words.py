"""Sentences about sites and covariates, as they were taken out for the networks."""

from __future__ import annotations

from collections.abc import Callable

from sgbn.cohort import Cohort
from sgbn.comparison import Comparison
from sgbn.comparison.support import joined
from sgbn.preprocessing.analysis import has_repeated_visits
from sgbn.structure.smooth import effect_names

Cite = Callable[..., str]


def site_words(comparison: Comparison, cite: Cite) -> list[str]:
    """Say how sites were harmonised, if there are several."""
    if comparison.n_sites < 2:
        return []
    cohort, covariates = comparison.cohort, effect_names(comparison.cohort)
    kept = ["the means of the groups", *([f"effects of {joined(covariates)}"] * bool(covariates))]
    works, kind = ["johnson2007", "fortin2018"], "ComBat"
    if cohort.smooth:
        works.append("pomponio2020")
    if has_repeated_visits(cohort):
        works.append("beer2020")
        kind = "longitudinal ComBat"
        kept.append("an intercept of each person")
    return [
        f"Effects of {comparison.n_sites} sites on location and scale were removed by "
        f"{kind} {cite(*works)}, with {joined(kept)} held aside."
    ]


def covariate_words(cohort: Cohort, cite: Cite) -> list[str]:
    """Say how covariates were regressed out, if there are any."""
    if not cohort.covariates:
        return []
    linear = [name for name in cohort.covariates if name not in cohort.smooth]
    parts = [f"linear effects of {joined(linear)}"] if linear else []
    if cohort.smooth:
        parts.append(
            f"smooth effects of {joined(list(cohort.smooth))} (cubic splines, penalised with the "
            f"weight of greatest restricted likelihood {cite('wood2011')})"
        )
    text = joined(parts)
    return [f"{text[0].upper()}{text[1:]}, estimated within the groups, were regressed out."]
