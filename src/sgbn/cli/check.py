"""`sgbn check` prints what a table holds, and what a comparison would do about it."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sgbn.cli.arguments import OptionError, make_folder
from sgbn.cli.commands import add_command, options_of
from sgbn.cli.options import REFERENCE, add_options
from sgbn.cli.tables import add_table_options, check_tables, show_cohort
from sgbn.cli.wording import in_options
from sgbn.core.exceptions import InputError, counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sgbn.cohort.cohort import Cohort
    from sgbn.cohort.series import SeriesCohort
    from sgbn.prepare.review import Review

SHEET = "series_quality.csv"


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `check` to the subcommands."""
    parser = add_command(commands, "check", run)
    add_table_options(parser)
    add_options(parser, [REFERENCE, *options_of("check")])


def run(arguments: argparse.Namespace) -> None:
    """Read and review the tables, and print the findings."""
    from sgbn.cohort.series import SeriesCohort
    from sgbn.prepare.review import review

    check_tables(arguments)
    with counted_warnings() as of_reading:
        cohort = show_cohort(arguments)
    if isinstance(cohort, SeriesCohort):
        show_sheet(cohort, arguments.out)
    # An error and not a warning, because the user expects a file.
    elif arguments.out is not None:
        raise OptionError(
            f"--out is the folder for {SHEET}, which exists only for time series. Leave out --out."
        )
    reviewed = review(cohort, rows_are_subjects=arguments.rows_are_subjects)
    for finding in reviewed.findings:
        print(in_options(str(finding)))
    if reviewed.stops:
        stops = counted(len(reviewed.stops), "finding that begins", "findings that begin")
        # Raised only after all findings were printed, so that the user can correct all at once.
        raise InputError(f"the groups cannot be compared: see the {stops} with 'stop' above.")
    # Notes are not counted, because they need no action.
    n_warnings = sum(finding.level == "warning" for finding in reviewed.findings)
    more, tested = show_prepared(reviewed)
    print(verdict(len(of_reading) + n_warnings + more, tested=tested))


@contextmanager
def counted_warnings() -> Iterator[list[str]]:
    """Yield a list that gets the messages of all warnings that are shown in this context."""
    messages: list[str] = []
    show = warnings.showwarning

    def note(message: Warning | str, *more: Any, **named: Any) -> None:
        messages.append(str(message))
        show(message, *more, **named)

    with warnings.catch_warnings():  # also restores `showwarning`
        warnings.showwarning = note
        yield messages


def show_prepared(reviewed: Review) -> tuple[int, bool]:
    """Print the warnings about the prepared regions, and say whether tests would run.

    Time series are not prepared.

    Returns
    -------
    n_warnings : int
        Number of warnings that were printed.
    tested : bool
        Whether `sgbn compare` would test which edges differ.
    """
    from sgbn.cohort.series import SeriesCohort
    from sgbn.prepare.findings import Finding
    from sgbn.prepare.pipeline import prepare
    from sgbn.prepare.review import review_prepared

    prepared, later = reviewed.cohort, list[Finding]()
    # Recorded, because the last line counts them. A warning that is raised twice counts once.
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        if not isinstance(prepared, SeriesCohort):
            prepared = prepare(prepared)
            later = review_prepared(prepared)
        reason = untestable(prepared)
    messages = list(dict.fromkeys(str(warning.message) for warning in raised))
    if reason:
        messages.append(f"differences of edges would not be tested: {reason}")
    for line in (*later, *(f"warning: {message}" for message in messages)):
        print(in_options(str(line)))
    n_warnings = sum(finding.level == "warning" for finding in later)
    return n_warnings + len(messages), not reason


def show_sheet(cohort: SeriesCohort, out: Path | None) -> None:
    """Print the quality of the series over all subjects, and write one row per subject."""
    import pandas as pd

    from sgbn.prepare.series_review import series_quality
    from sgbn.write.tables import write_csv

    sheet = series_quality(cohort)
    print("quality of the series, median (lowest to highest) over the subjects:")
    for line in sheet_lines(sheet, cohort.tr is not None):
        print(f"  {line}")
    if out is not None:
        path = write_csv(pd.DataFrame(sheet), make_folder(out) / SHEET)
        print(f"Wrote {path}, one row per subject.")
    print()


def sheet_lines(sheet: NDArray[Any], known_tr: bool) -> list[str]:
    """Return lines with numbers for the screen; frequencies are in Hz if the TR is known."""
    import numpy as np

    slow, fast = "0.01 Hz", "0.1 Hz"
    if not known_tr:
        # Shares of the highest frequency. With a TR of 2 s it is 0.25 Hz, and these are 0.01 and
        # 0.1 Hz.
        slow, fast = (f"{share} of the highest frequency" for share in ("4 %", "40 %"))
    rows = {
        "volumes": ("volumes", "{:.0f}"),
        "number of independent volumes that they are worth": ("effective_volumes", "{:.0f}"),
        "autocorrelation from volume to volume": ("autocorrelation", "{:.2f}"),
        f"variance below {slow}": ("slow_power", "{:.0%}"),
        f"variance above {fast}": ("fast_power", "{:.0%}"),
        "mean framewise displacement": ("mean_fd", "{:.3g}"),
    }
    lines = []
    for title, (name, shape) in rows.items():
        # A column without any known value has no line, for example motion.
        known = sheet[name][~np.isnan(sheet[name].astype(float))]
        if len(known):
            low, middle, high = map(shape.format, np.quantile(known, [0, 0.5, 1]))
            lines.append(f"{title}: {middle} ({low} to {high})")
    return lines


def verdict(n_warnings: int, tested: bool) -> str:
    """Return the last line: whether `sgbn compare` would run, and the number of warnings."""
    command = "`sgbn compare` with the same options and --out FOLDER"
    if not n_warnings:
        return f"No problem was found. Next: {command}."
    n_above = counted(n_warnings, "warning")
    it = "it" if n_warnings == 1 else "them"
    but = "" if tested else ", but would not test which edges differ"
    return f"{n_above} above: read {it} first. {command} would run{but}."


def untestable(cohort: Cohort) -> str:
    """Say why the design allows no permutation test of the groups; "" if it allows one."""
    from sgbn.inference.difference_input import read_group_data
    from sgbn.inference.difference_problem import FEWEST_PERMUTATIONS, check_request

    try:
        # These are the checks of the test itself, so that both commands say the same.
        data = read_group_data(cohort)
        # With the fewest permutations that are allowed, only the design can be at fault.
        check_request(FEWEST_PERMUTATIONS, "two-sided", 0, data)
    except InputError as error:
        return str(error)
    return ""
