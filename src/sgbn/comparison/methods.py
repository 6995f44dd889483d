"""The methods of a comparison as paragraphs for a paper, which describe only what was done.

`describe_methods` makes them. The words are in the templates ``methods*.txt.j2`` and
``folds.txt.j2``, and this file has the facts. `learned_by` describes the learner of the networks by
its source (`SOURCES`) and its settings. A `Reference` is a work that is cited, as a line of a list
or as BibTeX; ``references.toml`` in `sgbn.write` lists all works.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from jinja2 import Environment

from sgbn.cohort.cohort import Cohort
from sgbn.cohort.rows import takes_effects_out
from sgbn.cohort.series import MIN_EFFECTIVE_VOLUMES
from sgbn.comparison.names import joined
from sgbn.comparison.steps.accuracy import OURS, REFINED
from sgbn.comparison.steps.data import left_out_counts, visits_words
from sgbn.comparison.steps.networks import min_shares
from sgbn.comparison.steps.sensitivity import SAID
from sgbn.comparison.steps.series_data import is_lagged, spread
from sgbn.inference.intervals import gain_of_repeat
from sgbn.inference.permutations import COMPONENT_T
from sgbn.inference.series_differences import TESTED_PENALTY
from sgbn.learn.base import LearnedNetwork
from sgbn.learn.ensemble import SGBNEnsemble
from sgbn.learn.peers import COVARIATES_ALONE
from sgbn.learn.posterior import GAMMA
from sgbn.learn.search.plan import default_gamma
from sgbn.learn.series import SeriesSGBN
from sgbn.learn.sgbn import SGBN
from sgbn.paper.h_sgbn import HSGBN
from sgbn.paper.l1mb import L1MB
from sgbn.paper.markov import GS, IAMB
from sgbn.paper.or_sgbn import ORSGBN
from sgbn.paper.penalised import PenalizedEstimator
from sgbn.paper.tc import TC
from sgbn.prepare.balance import known_cells
from sgbn.prepare.outliers import OUTLIER_SD
from sgbn.prepare.pipeline import has_repeated_visits
from sgbn.prepare.review import REGION_MISSING, SUBJECT_MISSING
from sgbn.prepare.series_review import REGION_EMPTY, motion_column
from sgbn.runs.files import versions
from sgbn.write.page import own_table, own_templates

if TYPE_CHECKING:
    from sgbn.comparison.result import Comparison


NEXT_PARAGRAPH = "¶"  # mark in the templates; their blank lines have no meaning
# White space in names must stay when the line breaks of the templates are removed. Until then,
# letters that Unicode reserves for private use replace this white space.
SPACES = [code for code in range(0x3001) if chr(code).isspace()]
KEPT = {code: 0xF0000 + code for code in SPACES}
SHOWN = {kept: code for code, kept in KEPT.items()}
PROGRAM = "sgbn"  # key of the reference to this package
MOVED_BY = {
    "KL-SGBN": "KL-SGBN (the radius-margin bound of a support vector machine on Fisher vectors)",
    "MM-SGBN": "MM-SGBN (the margin between the log-likelihoods of the groups)",
    "CL-SGBN": "CL-SGBN (the conditional likelihood of the groups; not part of the cited paper)",
}

Facts = dict[str, Any]


class Methods(NamedTuple):
    """Paragraphs with numbered citations, and the works that they cite."""

    paragraphs: list[str]
    references: list[Reference]

    @property
    def text(self) -> str:
        """Paragraphs and list of references as plain text."""
        numbered = [f"[{k}] {work.text}" for k, work in enumerate(self.references, start=1)]
        return "\n\n".join(self.paragraphs) + "\n\nReferences\n" + "\n".join(numbered) + "\n"

    @property
    def bibtex(self) -> str:
        """All references as BibTeX, also the reference to this package."""
        return "\n\n".join(work.bibtex for work in self.references) + "\n"


class Citations:
    """A function that numbers the works in the order of their first citation."""

    def __init__(self) -> None:
        self.keys: list[str] = []

    def __call__(self, *keys: str) -> str:
        """Return the numbers of the works in brackets, such as "[1, 3]"."""
        self.keys += [key for key in keys if key not in self.keys]
        numbers = sorted(self.keys.index(key) + 1 for key in keys)
        return "[" + ", ".join(map(str, numbers)) + "]"


def describe_methods(comparison: Comparison) -> Methods:
    """Describe the methods of a comparison, with citations.

    Parameters
    ----------
    comparison : Comparison
        The results, with all settings.

    Returns
    -------
    methods : Methods
        Paragraphs and references.
    """
    # The template calls `cite` while it is rendered, so the numbers follow the order of the text.
    cite = Citations()
    learners = list(comparison.learners.values())
    facts = _facts(comparison) | {"cite": cite}
    if comparison.of_series:
        text = _render("methods_of_series.txt.j2", facts | _facts_of_series(comparison))
    else:
        # A function, not a text: it cites works, so the template must call it at the right place.
        facts |= {"learned_by": partial(learned_by, learners, cite)}
        text = _render("methods.txt.j2", facts | _facts_of_tables(comparison))
    # Templates have line breaks anywhere, so only the mark separates paragraphs.
    paragraphs = [_one_line(part) for part in text.split(NEXT_PARAGRAPH) if part.strip()]
    works = REFERENCES | {PROGRAM: software(versions()["sgbn"])}
    # Only after rendering is it known which works were cited.
    return Methods(paragraphs, [works[key] for key in cite.keys])


def prepared_in_folds(comparison: Comparison) -> str:
    """Return words that say how each training part of the cross-validation was prepared."""
    return _one_line(_render("folds.txt.j2", _facts(comparison)))


def _render(template: str, facts: Facts) -> str:
    return _environment().get_template(template).render(facts)


def _with_kept_spaces(value: object) -> object:
    """Replace the white space of a name, so that `_one_line` can restore it."""
    # A text with line breaks comes from a macro, and names inside it are already treated.
    return value.translate(KEPT) if isinstance(value, str) and "\n" not in value else value


def _one_line(text: str) -> str:
    """Remove the line breaks of the templates; names keep their white space."""
    return " ".join(text.split()).translate(SHOWN)


@cache
def _environment() -> Environment:
    # The text is plain text. The page escapes it when it shows the text.
    environment = own_templates(autoescape=False)
    environment.finalize = _with_kept_spaces
    environment.filters |= {
        "joined": lambda names: joined(list(names)),
        # Jinja's own filter `format` uses the old formats with a % sign.
        "form": format,
        "n_unique": lambda labels: len(np.unique(labels)),
    }
    return environment


def covariate_gaps(cohort: Cohort) -> list[str]:
    """Return how often each covariate with gaps is missing, such as "fiq in 69"."""
    gaps = {name: int((~known_cells(cells)).sum()) for name, cells in cohort.covariates.items()}
    return [f"{name} in {n}" for name, n in gaps.items() if n]


def _facts(comparison: Comparison) -> Facts:
    """Collect the facts that the methods of tables and of time series share."""
    cohort, settings = comparison.cohort, comparison.settings
    # A list of one word, or an empty list: templates join it to other lists.
    sites = ["sites"] * (comparison.n_sites > 1)
    used = versions()
    return {
        "comparison": comparison,
        "cohort": cohort,
        "settings": settings,
        "level": settings.level,
        "sites": sites,
        "effects_and_sites": [*cohort.design.effect_names, *sites],
        "covariate_gaps": covariate_gaps(cohort),
        "steps_in_folds": _steps_in_folds(comparison),
        "sizes": [f"{group} (n = {cohort.subjects[group]})" for group in comparison.groups],
        "searcher": type(comparison.searcher).__name__,
        "covariates_alone": COVARIATES_ALONE,
        "component_t": COMPONENT_T,
        "versions": used,
        "libraries": [f"{name} {number}" for name, number in used.items() if name != PROGRAM],
        **_facts_of_rows(comparison),
        **_facts_of_confidence(comparison),
        **_facts_of_tests(comparison),
        **_facts_of_accuracy(comparison),
    }


def _facts_of_rows(comparison: Comparison) -> Facts:
    """Collect which rows belong together, and which steps kept these rows together."""
    cohort = comparison.cohort
    labels = {"person": cohort.person, "family": cohort.block}
    steps = {
        "exchanged": comparison.tests is not None,
        "halved": bool(comparison.settings.n_pairs),
        "cross-validated": comparison.accuracy is not None,
    }
    visits = "sessions" if comparison.of_series else "visits"
    return {
        "rows": "subjects" if cohort.pair is None else visits,
        "kept_together": [name for name, label in labels.items() if label is not None],
        "done_to_rows": [name for name, done in steps.items() if done],
    }


def _facts_of_confidence(comparison: Comparison) -> Facts:
    if not comparison.confidence:
        return {}
    joins, points = (f"{100 * share:.3g}%" for share in min_shares(comparison))
    # The number is the same for all groups: it comes from the settings or from the learner.
    n_halves = next(iter(comparison.confidence.values())).n_halves
    return {"n_halves": n_halves, "min_joined": joins, "min_pointing": points}


def _facts_of_tests(comparison: Comparison) -> Facts:
    tests, cohort = comparison.tests, comparison.cohort
    facts: Facts = {"tests": tests}
    if comparison.sensitivity is not None:
        repeated = comparison.sensitivity.tests
        facts["repetitions"] = [SAID[name] for name in repeated]
        # The number is the same in all repetitions, see `fewer_permutations`.
        facts["permutations_of_repetitions"] = next(iter(repeated.values())).n_permutations
    if tests is None:
        return facts
    named = () if tests.named is None else tests.named
    return facts | {
        "named_edges": [f"{edge['source']} to {edge['target']}" for edge in named],
        "exchanged_within": [
            *(["sites"] * (comparison.n_sites > 1)),
            *(["persons"] * (cohort.pair is not None)),
        ],
        "tests_trimmed": any(tests.left_out.values()),
    }


def _facts_of_accuracy(comparison: Comparison) -> Facts:
    accuracy = comparison.accuracy
    if accuracy is None:
        return {"accuracy": None}
    n_folds, n_repeats = int(accuracy.folds.max()) + 1, len(accuracy.folds)
    # All other classifiers are peers, and the text lists them by name.
    ours = (accuracy.ours, OURS, REFINED, COVARIATES_ALONE)
    return {
        "accuracy": accuracy,
        "n_folds": n_folds,
        "n_repeats": n_repeats,
        "gain_of_repeat": gain_of_repeat(n_folds, n_repeats),
        "peers": [name for name in accuracy.probabilities if name not in ours],
        "refined": REFINED,
        "covariates_and_site": [
            *comparison.cohort.covariates,
            *(["site"] * (comparison.n_sites > 0)),
        ],
    }


def _facts_of_tables(comparison: Comparison) -> Facts:
    cohort, first = comparison.cohort, next(iter(comparison.learners.values()))
    models = list(comparison.models.values())
    steps = {
        "networks": comparison.settings.outliers == "trim",
        "tests of differences": comparison.tests is not None,
    }
    return {
        "subject_missing": SUBJECT_MISSING,
        "region_missing": REGION_MISSING,
        "share_missing": np.isnan(cohort.values).mean(),
        "linear": [name for name in cohort.covariates if name not in cohort.smooth],
        **_facts_of_sites(comparison),
        "weights_are": weights_are(first),
        "without_outliers": [name for name, done in steps.items() if done],
        "outlier_sd": OUTLIER_SD,
        "far_out": left_out_counts(comparison, comparison.far_out),
        "visits_left_out": visits_words(comparison),
        "model_folds": models[0].n_folds if models else 0,
        "by_ensemble": isinstance(first, SGBNEnsemble),
        "by_sgbn": isinstance(first, SGBN),
        "halves_without_effects": takes_effects_out(comparison.prepared),
        "gamma_of_tests": _gamma_of_tests(comparison),
        "exchanged_whole": _exchanged_whole(comparison),
        "refined_by": [MOVED_BY.get(name, name) for name in comparison.refinements],
    }


def _facts_of_sites(comparison: Comparison) -> Facts:
    """Collect which kind of ComBat harmonised the sites, and which effects it preserved."""
    cohort, effects = comparison.cohort, comparison.cohort.design.effect_names
    repeated = has_repeated_visits(cohort)
    return {
        "repeated_visits": repeated,
        "combat": [
            *("johnson2007", "fortin2018"),
            *(["pomponio2020"] if cohort.smooth else []),
            *(["beer2020"] if repeated else []),
        ],
        "held_aside": [
            "the means of the groups",
            *([f"effects of {joined(effects)}"] if effects else []),
            *(["an intercept of each person"] if repeated else []),
        ],
    }


def _facts_of_series(comparison: Comparison) -> Facts:
    learner = cast(SeriesSGBN, next(iter(comparison.learners.values())))
    return {
        "series": comparison.tables.series,
        "spread": spread,
        "region_empty": REGION_EMPTY,
        "min_effective_volumes": MIN_EFFECTIVE_VOLUMES,
        "n_left_out": sum(len(finding.left_out) for finding in comparison.review.findings),
        "lagged": is_lagged(comparison),
        "motion_is_covariate": motion_column(comparison.cohort.covariates) is not None,
        "penalty": learner.penalty,
        "tested_penalty": TESTED_PENALTY,
    }


def _steps_in_folds(comparison: Comparison) -> list[str]:
    """List what was done to a table in each training part."""
    cohort, effects = comparison.cohort, comparison.cohort.design.effect_names
    steps = []
    # Only steps that changed something: a table without gaps needs no words about gaps.
    if not comparison.of_series and np.isnan(cohort.values).any():
        steps.append("missing cells were filled in")
    if comparison.n_sites > 1:
        steps.append("sites were harmonised by ComBat without regard to the groups")
    if effects:
        within = "over all its subjects, not within the groups"
        steps.append(f"effects of {joined(effects)} ({within}) were regressed out")
    if comparison.settings.select:
        steps.append(f"the {comparison.settings.select} regions with the largest F were chosen")
    return [*steps, "regions were standardised"]


def _exchanged_whole(comparison: Comparison) -> list[str]:
    """List the rows that the permutations exchanged as one unit."""
    cohort = comparison.cohort
    if cohort.pair is not None:  # permutations exchange the labels of both visits of a person
        return []
    units = ["all rows of a person"] * (cohort.person is not None)
    if cohort.block is not None:
        units += ["families of one group as a whole", "members of other families among themselves"]
    return units


def _gamma_of_tests(comparison: Comparison) -> float:
    """Return the gamma of the common order: the gamma given, or the default for all rows."""
    learner = comparison.searcher
    given = learner.gamma if isinstance(learner, SGBN) else None
    return default_gamma(len(comparison.cohort)) if given is None else float(given)


# Class of a learner -> key of the work that describes it; the first class that fits counts
SOURCES: dict[type[LearnedNetwork], str] = {
    ORSGBN: "zhou2016",
    HSGBN: "huang2013",
    GS: "margaritis1999",
    IAMB: "tsamardinos2003",
    L1MB: "schmidt2007",
    TC: "pellet2008",
}


def learned_by(learners: Sequence[LearnedNetwork], cite: Callable[..., str]) -> str:
    """Return words that say how the networks were learned, such as "by ORSGBN [1] with ...".

    Parameters
    ----------
    learners : sequence of LearnedNetwork
        The fitted learners, one per group, all of the same class.
    cite : callable
        A function that returns the number of a work in brackets, given the key of the work.
    """
    first = learners[0]
    if isinstance(first, SGBNEnsemble):
        # A fitted ensemble keeps its parameter as given, and None means this default.
        gamma = GAMMA if first.gamma is None else float(first.gamma)
        return (
            "by SGBNEnsemble, the consensus of networks drawn from posteriors over orders of the "
            f"regions {cite('friedman2003')} by {first.n_chains} chains. Each chain leaves out "
            "a tenth of the subjects. A priori the odds of an edge are (m - 1) to the power "
            f"of -{gamma:.3g}, with m regions. {_idea(cite)}"
        )
    if isinstance(first, SGBN):
        return (
            f"by SGBN, a search of this program over orders of the regions {cite('friedman2003')} "
            f"that minimises the extended BIC {cite('chen2008')} with gamma = "
            f"{_values(fitted.gamma_ for fitted in learners)}. {_idea(cite)}"  # type: ignore[attr-defined]
        )
    source = next((key for kind, key in SOURCES.items() if isinstance(first, kind)), "")
    text = f"by {type(first).__name__}{f' {cite(source)}' if source else ''}"
    if isinstance(first, PenalizedEstimator):
        chosen = f", chosen by {first.alpha}" if isinstance(first.alpha, str) else ""
        alphas = _values(fitted.alpha_ for fitted in learners)  # type: ignore[attr-defined]
        return f"{text} with the penalty alpha = {alphas}{chosen}"
    level = getattr(first, "significance", None)
    return text if level is None else f"{text} with tests at level {level:g}"


def _idea(cite: Callable[..., str]) -> str:
    """Cite the paper that proposed one network per group, and say that its search is different."""
    return (
        f"Sparse Gaussian Bayesian networks of groups were proposed in {cite('zhou2016')}, which "
        "learns them in another way"
    )


def weights_are(learner: LearnedNetwork) -> str:
    """Return the kind of weights that a learner gives."""
    lasso = getattr(learner, "weights", "refit") == "lasso"
    if isinstance(learner, PenalizedEstimator):
        lasso = not learner.refit
    return "lasso coefficients, which are shrunken" if lasso else "least-squares coefficients"


def _values(numbers: Iterable[Any]) -> str:
    # A value that several groups share is listed once.
    return joined(sorted({f"{number:.3g}" for number in numbers}))


OTHERS = "others"  # in BibTeX: there are more authors


class Reference(NamedTuple):
    """A work that can be cited.

    Attributes
    ----------
    key : str
        Key of the BibTeX entry.
    kind : str
        "article", "inproceedings", "book" or "software".
    authors : sequence of str
        Names such as "Family, Given".
    title : str
    where : str
        Journal, proceedings, publisher, or version of a program.
    year : int or None
    volume, issue, pages, doi : str
        "" if the work has none.
    """

    key: str
    kind: str
    authors: Sequence[str]
    title: str
    where: str
    year: int | None = None
    volume: str = ""
    issue: str = ""
    pages: str = ""
    doi: str = ""

    @property
    def text(self) -> str:
        """The work as a line of a list of references."""
        names = [_short(name) for name in self.authors]
        place = f"{self.where} {self.volume}" if self.volume else self.where
        place += f"({self.issue})" if self.issue else ""
        place += f", {self.pages.replace('--', '–')}" if self.pages else ""  # BibTeX writes "--"
        end = f" doi:{self.doi}" if self.doi else ""
        when = f" ({self.year})" if self.year else ""
        return f"{', '.join(names)}{when}. {self.title}. {place}.{end}"

    @property
    def bibtex(self) -> str:
        """The work as an entry of a BibTeX file."""
        homes = {"book": "publisher", "software": "note", "inproceedings": "booktitle"}
        home = homes.get(self.kind, "journal")
        fields = {
            "author": " and ".join(self.authors),
            "title": f"{{{self.title}}}",  # in braces, BibTeX keeps the capital letters
            home: self.where.replace("&", r"\&"),
            "year": str(self.year or ""),
            "volume": self.volume,
            "number": self.issue,
            "pages": self.pages,
            "doi": self.doi,
        }
        lines = [f"  {name} = {{{value}}}" for name, value in fields.items() if value]
        return f"@{self.kind}{{{self.key},\n" + ",\n".join(lines) + "\n}"


def _short(name: str) -> str:
    """Write a name as the family name and initials."""
    if name == OTHERS:
        return "et al."
    family, _, given = name.strip("{}").partition(", ")
    # "Jean-Pierre" has two initials, JP. A name in braces, {the sgbn developers}, is not split.
    initials = "".join(part[0] for part in given.replace("-", " ").split())
    return f"{family} {initials}".strip()


REFERENCES = {key: Reference(key, **entry) for key, entry in own_table("references.toml").items()}


def software(version: str) -> Reference:
    """Return the reference to a version of this package."""
    return Reference(
        "sgbn",
        "software",
        ("{the sgbn developers}",),
        "sgbn: sparse Gaussian Bayesian networks, one directed network per group",
        f"Version {version}",
    )
