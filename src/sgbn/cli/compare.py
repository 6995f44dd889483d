"""`sgbn compare`: from a table to a report."""

from __future__ import annotations

import argparse
import shlex
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sgbn.cli.arguments import (
    add_worker_options,
    at_least,
    local_workers,
    make_folder,
    number_from,
    workers,
)
from sgbn.cli.check import print_cohort
from sgbn.cli.config import config_text
from sgbn.cli.help import examples
from sgbn.cli.tables import OPTIONS, add_table_options, read_cohort
from sgbn.exceptions import InputError, did_you_mean

if TYPE_CHECKING:
    from sgbn.cohort import Cohort
    from sgbn.comparison import Comparison, Settings
    from sgbn.structure.base import NetworkEstimator

ENSEMBLE = "ensemble"
LEARNERS = (ENSEMBLE, "SGBN", "ORSGBN", "HSGBN", "L1MB", "GS", "TC", "TCbw", "IAMB", "InterIAMB")
TABLE_OPTIONS = (*OPTIONS, "freesurfer", "sheet")
PENALISED = ("ORSGBN", "HSGBN")
# option -> setting
SETTINGS = {
    "reference": "reference",
    "select": "select",
    "permutations": "n_permutations",
    "replicate": "replicate",
    "among": "among",
    "half_samples": "n_pairs",
    "folds": "n_folds",
    "repeats": "n_repeats",
    "refinements": "refinements",
    "models": "models",
    "deviations": "deviations",
    "model": "model",
    "peers": "peers",
    "level": "level",
    "outliers": "outliers",
    "transform": "transform",
    "rows_are_subjects": "rows_are_subjects",
    "seed": "seed",
}
CONFIG = "config.toml"
WIDTH = 100
EXITS = (
    "exit codes: 0 done, also when nothing differs; 1 the data or a setting cannot be used, the "
    "message says why; 2 an option is misspelt or has no such value; 130 stopped by Ctrl-C (the "
    "same command goes on)."
)


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `compare` to the subcommands."""
    parser = commands.add_parser(
        "compare",
        help="compare groups: networks, differences, accuracy, report",
        description="Checks a table, imputes missing cells, harmonises sites, regresses covariates "
        "out; learns a network per group, says how sure its edges are, tests which differ between "
        "the groups, and how well the groups can be told apart; writes a report, tables, pictures "
        "and files for other programs. Run again with the same --out it does only what is missing.",
        epilog=examples(
            {
                "sgbn compare table.csv --group diagnosis --out results --quick": "a first look",
                "sgbn compare table.csv --group diagnosis --reference control --covariates age sex "
                "--site scanner --out results": "for a paper",
                "sgbn compare --config results/config.toml --out again": "the same run once more",
                "sgbn compare table.csv --group visit --pair person --out results": "paired visits",
                "sgbn compare table.csv --group diagnosis --dask tcp://host:8786 --out results": (
                    "on a cluster"
                ),
            },
            EXITS,
        ),
    )
    add_table_options(parser, needed=False)
    parser.add_argument("--out", type=Path, required=True, help="folder to write to")
    parser.add_argument(
        "--config",
        type=Path,
        metavar="FILE",
        help="TOML file of options, as each run writes (config.toml); the command line goes before",
    )
    add_step_options(parser)
    parser.set_defaults(
        run=run, parser=parser, after_interrupt="Start the same command again to go on."
    )


def add_step_options(parser: argparse.ArgumentParser) -> None:
    """Add what a comparison does, and how thoroughly."""
    what = parser.add_argument_group("what is done")
    what.add_argument(
        "--reference", metavar="GROUP", help="compare with this group (the first by name)"
    )
    what.add_argument("--learner", choices=LEARNERS, help="of the networks (ensemble)")
    what.add_argument(
        "--gamma",
        type=number_from(0),
        help="sparsity of the networks by the ensemble or SGBN, 0 or more, the same for all "
        "groups; smaller gives more edges (ensemble, a prior: 0.75; SGBN: 1 up to 100 subjects in "
        "the largest group, half the decimal logarithm of their number beyond)",
    )
    what.add_argument(
        "--alpha", type=number_from(0), help="penalty of ORSGBN and HSGBN, above 0 (0.1)"
    )
    what.add_argument(
        "--outliers",
        choices=("trim", "keep"),
        help="leave subjects that lie far from the others of their group out of networks, half "
        "samples and tests of differences, by name, or keep them (trim)",
    )
    what.add_argument(
        "--transform",
        choices=("none", "normal-scores"),
        help="learn graphs from the values or from their ranks, for curved relations; `sgbn check` "
        "says where it helps (none)",
    )
    what.add_argument(
        "--replicate",
        metavar="HOW",
        help="half, or COLUMN=VALUE such as site=NYU: hold back a random half, or these subjects, "
        "and test in them the differences that the others show (no)",
    )
    what.add_argument(
        "--edges",
        nargs="+",
        action="extend",
        metavar="SOURCE:TARGET",
        help="edges that you named before you saw the data: each is tested by itself as well",
    )
    what.add_argument(
        "--among",
        nargs="+",
        action="extend",
        metavar="NAME",
        help="regions or lobes that you named beforehand: all edges between them are tested "
        "together as well",
    )
    what.add_argument(
        "--select",
        type=at_least(1),
        metavar="N",
        help="regions that classifiers may use, chosen anew in each training part; networks and "
        "tests keep all (all)",
    )
    _add_effort(parser.add_argument_group("how thoroughly"))


def _add_effort(how: argparse._ArgumentGroup) -> None:
    how.add_argument(
        "--quick", action="store_true", help="a first look: fewer of everything below, few peers"
    )
    _counts(how)
    how.add_argument(
        "--refinements",
        nargs="*",
        action="extend",
        choices=("KL-SGBN", "MM-SGBN", "CL-SGBN"),
        metavar="NAME",
        help="discriminative refinements: KL-SGBN MM-SGBN CL-SGBN (all; none: leave the step out)",
    )
    how.add_argument(
        "--models",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="say whether hidden factors predict unseen subjects better than a network (yes)",
    )
    how.add_argument(
        "--deviations",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="say how far each subject is from the reference group (yes)",
    )
    how.add_argument(
        "--model",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="write model.sgbn, the classifier fitted to all subjects, for sgbn predict (yes)",
    )
    how.add_argument(
        "--peers",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="classify by common methods and networks of other sparsity as well (yes)",
    )
    how.add_argument("--level", type=number_from(0), help="of tests and intervals (0.05)")
    how.add_argument("--seed", type=at_least(0), help="of everything random (0)")
    add_worker_options(how)


def _counts(how: argparse._ArgumentGroup) -> None:
    counts = {
        "permutations": "of the tests of differences (999; 0: no tests)",
        "half-samples": "pairs of half samples, for the confidence of edges (50; 0: none)",
        "repeats": "of the cross-validation (5; 0: none)",
    }
    for name, text in counts.items():
        how.add_argument(f"--{name}", type=at_least(0), metavar="N", help=text)
    how.add_argument("--folds", type=at_least(2), metavar="N", help="of the cross-validation (5)")


def run(arguments: argparse.Namespace) -> None:
    """Read, compare, write, print."""
    if not arguments.tables:
        raise InputError("no table is named. Give one, or a --config that names it.")
    settings = read_settings(arguments)
    cohort = read_cohort(arguments)
    print_cohort(cohort)
    print()
    settings = with_names(settings, arguments.edges, cohort)
    make_folder(arguments.out)
    learner = read_learner(arguments, settings, cohort)
    options = {name: getattr(arguments, name) for name in ("tables", *TABLE_OPTIONS)}
    options |= chosen_options(arguments, settings)
    config = config_text(arguments.out / CONFIG, options)
    compare_and_write(cohort, settings, learner, arguments, config)


def read_settings(arguments: argparse.Namespace) -> Settings:
    """Read settings from the options; what is not given has its default, or that of --quick."""
    from sgbn.comparison import Settings

    given = {
        setting: getattr(arguments, option)
        for option, setting in SETTINGS.items()
        if getattr(arguments, option) is not None
    }
    if (arguments.learner or "SGBN") == "SGBN":  # said in config.toml, whatever becomes default
        given = {"outliers": "trim", "transform": "none"} | given
    settings = Settings.quick(**given) if arguments.quick else Settings(**given)
    if arguments.edges and not settings.n_permutations:
        raise InputError("--edges are tested by permutations: give some (--permutations 999).")
    return settings


def with_names(settings: Settings, edges: Sequence[str] | None, cohort: Cohort) -> Settings:
    """Read the edges of ``--edges``, and check all names that were given beforehand."""
    named = tuple(split_edge(text, cohort.regions) for text in dict.fromkeys(edges or ()))
    settings = replace(settings, edges=named)
    settings.check_names(cohort)
    return settings


def split_edge(text: str, regions: Sequence[str]) -> tuple[str, str]:
    """Source and target of SOURCE:TARGET; names of regions may have colons themselves."""
    words = text.split(":")
    pairs = [(":".join(words[:k]), ":".join(words[k:])) for k in range(1, len(words))]
    known = [pair for pair in pairs if set(pair) <= set(regions)]
    if len(known) == 1:
        return known[0]
    if known:
        ways = " or ".join(f"{source!r} to {target!r}" for source, target in known)
        raise InputError(f"--edges {text!r} can be read as {ways}. Rename one of these regions.")
    if not pairs:
        raise InputError(f"--edges {text!r} has no colon: give SOURCE:TARGET, two regions.")
    half_known = [pair for pair in pairs if set(pair) & set(regions)]
    unknown = next(name for name in (half_known or pairs)[0] if name not in regions)
    raise InputError(
        f"--edges {text!r}: no region is called {unknown!r}. {did_you_mean(unknown, regions)}"
    )


def chosen_options(arguments: argparse.Namespace, settings: Settings) -> dict[str, Any]:
    """Every setting under the name of its option, so that later defaults change nothing."""
    chosen = {option: getattr(settings, setting) for option, setting in SETTINGS.items()}
    chosen |= {name: getattr(arguments, name) for name in ("learner", "gamma", "alpha", "edges")}
    return chosen | {"among": settings.among or None}


def read_learner(
    arguments: argparse.Namespace, settings: Settings, cohort: Cohort
) -> NetworkEstimator | None:
    """Learner by its name; None for the default."""
    import sgbn

    name = arguments.learner or ENSEMBLE
    if arguments.gamma is not None and name not in (ENSEMBLE, "SGBN"):
        raise InputError(f"--gamma is for the ensemble and SGBN, not for {name}. Leave it out.")
    if arguments.alpha is not None and name not in PENALISED:
        raise InputError(f"--alpha is for {' and '.join(PENALISED)}, not for {name}. Leave it out.")
    if name == ENSEMBLE:
        return ensemble_of(settings, arguments.gamma)
    if name == "SGBN":
        import numpy as np

        from sgbn.discriminative.class_networks import default_learner

        one = default_learner(np.asarray(cohort.group))  # one gamma for all groups
        return one if arguments.gamma is None else sgbn.SGBN(arguments.gamma)
    learner: type[NetworkEstimator] = getattr(sgbn, name)
    return learner() if arguments.alpha is None else learner(alpha=arguments.alpha)  # type: ignore[call-arg]


def ensemble_of(settings: Settings, gamma: float | None) -> NetworkEstimator | None:
    """Make the default learner of this sparsity; None, which means it, without one."""
    from sgbn.comparison.networks import default_ensemble

    return None if gamma is None else default_ensemble(settings, gamma)


def compare_and_write(
    cohort: Cohort,
    settings: Settings,
    learner: NetworkEstimator | None,
    arguments: argparse.Namespace,
    config: str = "",
) -> Comparison:
    """Compare with progress, write everything, and say in plain words what came out."""
    from sgbn.comparison import compare
    from sgbn.comparison.compare import STEPS
    from sgbn.comparison.networks import steps_of
    from sgbn.report import write_comparison

    steps = steps_of(settings, learner)
    numbers = {STEPS[name]: number for number, name in enumerate(steps, start=1)}
    with workers(arguments) as n_jobs:
        comparison = compare(
            cohort,
            settings,
            learner=learner,
            n_jobs=n_jobs,
            folder=arguments.out / "work",
            progress=sys.stderr.isatty(),
            on_step=lambda text: print(f"[{numbers[text]}/{len(numbers)}] {text}", flush=True),
        )
    command = shlex.join(["sgbn", *sys.argv[1:]])
    written = write_comparison(
        comparison, arguments.out, command=command, config=config, n_jobs=local_workers(arguments)
    )
    print_summary(comparison)
    print(f"\nWrote {len(written)} files to {arguments.out}. Open {written[0]} in a browser.")
    return comparison


def print_summary(comparison: Comparison) -> None:
    """Print what came out, in plain words."""
    from sgbn.comparison.summary import summarise

    for one in summarise(comparison):
        print(f"\n{one.question}")
        marks = ("  - ", "    ") if len(one.lines) > 1 else ("  ", "  ")
        for line in one.lines:
            print(textwrap.fill(line, WIDTH, initial_indent=marks[0], subsequent_indent=marks[1]))
