"""`sgbn demo` compares the groups of a simulated cohort, and shows the truth beside the results."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from sgbn.cli.arguments import OptionError, add_worker_options, make_folder
from sgbn.cli.commands import add_command, options_of
from sgbn.cli.compare import compare_and_write, ensemble_of
from sgbn.cli.finished import finished_key, tell_finished
from sgbn.cli.options import SUBJECTS_IN_REPORT, add_options

if TYPE_CHECKING:
    from sgbn.cohort.simulate import SimulatedCohort
    from sgbn.cohort.simulate_series import SimulatedSeries
    from sgbn.comparison.result import Comparison

OF_TABLES, OF_SERIES = 200, 40  # default number of subjects per group, also in the help


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `demo` to the subcommands."""
    parser = add_command(commands, "demo", run)
    add_options(parser, (*options_of("demo"), SUBJECTS_IN_REPORT))
    add_worker_options(parser)


def run(arguments: argparse.Namespace) -> None:
    """Simulate a cohort, compare its groups, and print the results."""
    if arguments.series and arguments.gamma is not None:
        raise OptionError(
            "--gamma is not for time series: SeriesSGBN learns the networks, and has no gamma. "
            "Leave --gamma out."
        )
    # Before the work, so that a folder that is not writable is reported at once.
    make_folder(arguments.out)
    key = finished_key(arguments)
    if tell_finished(arguments.out, key):
        return
    from sgbn.comparison.settings import Settings

    cohort = _simulated(arguments)
    # Deviations are measured on one row per subject, which time series do not have.
    settings = Settings.quick(seed=arguments.seed, deviations=not arguments.series)
    learner = None if arguments.series else ensemble_of(settings, arguments.gamma)
    truth = partial(_truth_words, cohort)
    compare_and_write(cohort, settings, learner, arguments, key, more=truth)


def _truth_words(cohort: SimulatedCohort | SimulatedSeries, comparison: Comparison) -> str:
    return "\n".join([*_networks(cohort, comparison), *_differences(cohort, comparison)])


def _simulated(arguments: argparse.Namespace) -> SimulatedCohort | SimulatedSeries:
    from sgbn.cohort.simulate import simulate_cohort
    from sgbn.cohort.simulate_series import simulate_series

    cohort: SimulatedCohort | SimulatedSeries
    if arguments.series:
        cohort = simulate_series(arguments.subjects or OF_SERIES, arguments.seed)
        what = f", time series of {cohort.n_volumes[0]} volumes"
    else:
        cohort = simulate_cohort(arguments.subjects or OF_TABLES, arguments.seed)
        what = ""
    print(
        f"Simulated {cohort.sizes['control']} subjects in each of 2 groups, "
        f"{len(cohort.regions)} regions{what}, with known networks."
    )
    return cohort


def _networks(cohort: SimulatedCohort | SimulatedSeries, comparison: Comparison) -> Iterator[str]:
    """Yield the lines of a table that says how much of each network was found."""
    from sgbn.core.equivalence import compare_graphs

    yield "How much of the truth was found"
    heads = ("", "true", "learned", "joined pairs", "arrows", "held-out log-lik.")
    units = ("group", "edges", "edges", "prec.  recall", "prec.  recall", "learned    truth")
    # The last column is the likelihood of rows, which time series do not have.
    n_columns = 5 if comparison.of_series else 6
    for words in (heads, units):
        # Empty words fill the columns that are left out; `format` ignores additional words.
        row = "  {:10}{:>8}{:>9}{:>16}{:>16}{:>20}".format(*words[:n_columns], *[""] * 6)
        yield row.rstrip()
    for group, network in cohort.networks.items():
        learner = comparison.learners[group]
        scores = compare_graphs(learner.coef_, network.coef)
        row = (
            f"  {group:10}{scores.n_true:8d}{scores.n_learned:9d}"
            f"{scores.skeleton_precision:9.2f}{scores.skeleton_recall:7.2f}"
            f"{scores.precision:9.2f}{scores.recall:7.2f}"
        )
        if not comparison.of_series:
            fresh = network.sample(1000, 1)  # new rows, with a fixed seed
            row += (
                f"{learner.network_.log_likelihood(fresh).mean():11.1f}"
                f"{network.log_likelihood(fresh).mean():9.1f}"
            )
        yield row


def _differences(
    cohort: SimulatedCohort | SimulatedSeries, comparison: Comparison
) -> Iterator[str]:
    """Yield lines that say how many of the found differences are true."""
    table = comparison.tables.differences
    if "differences" in comparison.skipped:
        yield f"  The differences were not tested: {comparison.skipped['differences']}"
        return
    # The direction is ignored, because the data do not determine the direction of many edges.
    changed = {frozenset(edge) for edges in cohort.changed.values() for edge in edges}
    ends = zip(table["source"], table["target"], strict=True)
    # Only changes of edges that were tested can be found.
    true = table.index[[frozenset(pair) in changed for pair in ends]]
    for by, how in (("q_both", "both ways"), ("q", "as the arrow is written")):
        significant = table.index[table[by] <= comparison.settings.level]
        hits = len(significant.intersection(true))
        yield f"  Edges found to differ {how}: {len(significant)}. Of these, {hits} truly differ."
    yield f"  {len(true)} of {len(table)} tested edges truly differ."
