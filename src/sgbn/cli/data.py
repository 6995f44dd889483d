"""`sgbn check` prints what a table holds, and what a comparison would do about it.

`sgbn simulate` writes a simulated cohort and its known truth as files.

Functions that read a cohort from the tables of a command.
"""

from __future__ import annotations

import argparse
import shlex
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sgbn.cli.options import (
    COLUMNS,
    FILES,
    REFERENCE,
    ROWS,
    SERIES,
    TABLE,
    TABLES,
    WHAT,
    OptionError,
    add_command,
    add_options,
    make_folder,
    options_of,
)
from sgbn.core.problems import InputError, counted, listed

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from sgbn.cohort.cohort import Cohort
    from sgbn.cohort.series import SeriesCohort
    from sgbn.cohort.simulate import SimulatedCohort
    from sgbn.prepare.review import Review


SHEET = "series_quality.csv"


def add_check(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `check` to the subcommands."""
    parser = add_command(commands, "check", run_check)
    add_table_options(parser)
    add_options(parser, [REFERENCE, *options_of("check")])


def run_check(arguments: argparse.Namespace) -> None:
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
        raise OptionError("out.not-series", file=SHEET).says(
            "{out=} is the folder for {file}, which exists only for time series", "Leave it out."
        )
    reviewed = review(cohort, rows_are_subjects=arguments.rows_are_subjects)
    for finding in reviewed.findings:
        print(finding)
    if reviewed.stops:
        # Raised only after all findings were printed, so that the user can correct all at once.
        raise InputError("review.stop", n=len(reviewed.stops)).says(
            "the groups cannot be compared: see the {n:finding that begins/findings that begin} "
            "with 'stop' above"
        )
    # Notes are not counted, because they need no action.
    n_warnings = sum(finding.level == "warning" for finding in reviewed.findings)
    more, tested = show_prepared(reviewed)
    print(verdict(len(set(of_reading)) + n_warnings + more, tested=tested))


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
    from sgbn.core.problems import Finding
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
        print(line)
    n_warnings = sum(finding.level == "warning" for finding in later)
    return n_warnings + len(messages), not reason


def show_sheet(cohort: SeriesCohort, out: Path | None) -> None:
    """Print the quality of the series over all subjects, and write one row per subject."""
    from sgbn.prepare.series_review import series_quality
    from sgbn.write.tables import to_frame, write_csv

    sheet = series_quality(cohort)
    print("quality of the series, median (lowest to highest) over the subjects:")
    for line in sheet_lines(sheet, cohort.tr is not None):
        print(f"  {line}")
    if out is not None:
        path = write_csv(to_frame(sheet), make_folder(out) / SHEET)
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
    from sgbn.cohort.rows import rows_of_groups
    from sgbn.inference.difference_problem import FEWEST_PERMUTATIONS, check_request

    try:
        # These are the checks of the test itself, so that both commands say the same.
        design = rows_of_groups(cohort).design
        # With the fewest permutations that are allowed, only the design can be at fault.
        check_request(FEWEST_PERMUTATIONS, "two-sided", 0, design)
    except InputError as error:
        return str(error)
    return ""


COVARIATES = ("age", "sex", "eTIV")


def add_simulate(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `simulate` to the subcommands."""
    parser = add_command(commands, "simulate", run_simulate)
    add_options(parser.add_mutually_exclusive_group(), options_of("simulate", "sizes"))
    add_options(parser, options_of("simulate"))
    effects = parser.add_argument_group("what is in the data")
    add_options(effects, options_of("simulate", "effects"))


def run_simulate(arguments: argparse.Namespace) -> None:
    """Simulate a cohort, write its files, and print the next commands."""
    from sgbn.cohort.simulate import simulate_cohort
    from sgbn.read.table import write_table
    from sgbn.runs.files import versions, write_json

    settings = _settings(arguments)
    cohort = simulate_cohort(**settings)
    # After the simulation, which checks the options, so that a mistake leaves no folder.
    make_folder(arguments.out)
    table = arguments.out / "cohort.csv"
    write_table(cohort, table)
    written = [table, *_write_truth(cohort, arguments.out)]
    about = arguments.out / "about.json"
    # Without the folder of the program, which differs on other machines.
    command = [Path(sys.argv[0]).name, *sys.argv[1:]]
    write_json(about, {"settings": settings, "versions": versions(), "command": command})
    print(cohort.summary())
    print()
    for path in [*written, about]:
        print(f"Wrote {path}.")
    options = _reading_options(cohort, arguments.atlas)
    print("\nNext:")
    print(f"  sgbn check {shlex.quote(str(table))} {options}")
    # Quoted, so that the line can be copied even if a path has blanks.
    results = shlex.quote(str(arguments.out / "results"))
    print(f"  sgbn compare {shlex.quote(str(table))} {options} --out {results}")


def _settings(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments of `simulate_cohort`, in types that JSON has."""
    # The default is a tuple: a list is empty only if the user typed no name.
    all_three = arguments.covariates == []  # --covariates without a name
    return {
        "n_per_group": arguments.sizes or arguments.subjects,
        "random_state": arguments.seed,
        "atlas": arguments.atlas,
        "regions": arguments.regions,
        "groups": arguments.groups,
        "differ": arguments.differ,
        "n_sites": arguments.sites,
        "covariates": list(COVARIATES if all_three else arguments.covariates),
        "missing": arguments.missing,
        "confounding": arguments.confounding,
    }


def _reading_options(cohort: SimulatedCohort, atlas: str) -> str:
    """Return the options that name the columns, and the atlas if the columns do not show it."""
    from sgbn.cohort.region_names import match_columns

    words = ["--group", "group", "--id", "subject_id"]
    words += ["--covariates", *cohort.covariates] if cohort.covariates else []
    # Without --site the sites would not be harmonised.
    words += ["--site", "site"] if cohort.site is not None else []
    by_names = match_columns(cohort.regions)  # several atlases may have all of these names
    # --atlas is needed only if the names fit no atlas, another atlas, or several.
    if by_names.atlas != cohort.atlas or by_names.others:
        words += ["--atlas", atlas]
    return shlex.join(words)


def _write_truth(cohort: SimulatedCohort, folder: Path) -> list[Path]:
    """Write the tables of the truth, and remove tables of an earlier cohort from the folder."""
    from sgbn.write.tables import frame_of

    effects = cohort.covariate_effects
    slopes = frame_of({"region": cohort.regions, **effects}) if effects else None
    tables = {
        "truth_edges.csv": _edges(cohort),
        "truth_sites.csv": _sites(cohort),
        "truth_covariates.csv": slopes,
    }
    written = []
    for name, table in tables.items():
        if table is None:
            (folder / name).unlink(missing_ok=True)
        else:
            table.to_csv(folder / name, index=False)
            written.append(folder / name)
    return written


def _edges(cohort: SimulatedCohort) -> pd.DataFrame:
    """Return the edges of all groups; an edge that a group has lost has weight 0."""
    import numpy as np

    from sgbn.cohort.simulate import standardised
    from sgbn.write.tables import frame_of, stacked

    # One row per edge of any group, so that the tables of the groups have the same rows.
    anywhere = np.any([network.coef != 0 for network in cohort.networks.values()], axis=0)
    i, j = np.nonzero(anywhere)
    names = np.array(cohort.regions)
    edges = list(zip(names[i].tolist(), names[j].tolist(), strict=True))
    tables = {
        group: frame_of(
            {
                "source": names[i],
                "target": names[j],
                "weight": network.coef[i, j],
                "weight_std": standardised(network)[i, j],
                "changed": [edge in cohort.changed.get(group, ()) for edge in edges],
            }
        )
        for group, network in cohort.networks.items()
    }
    return stacked(tables, "group")


def _sites(cohort: SimulatedCohort) -> pd.DataFrame | None:
    from sgbn.write.tables import frame_of, stacked

    tables = {
        site: frame_of({"region": cohort.regions, "shift": shift, "scale": cohort.site_scale[site]})
        for site, shift in cohort.site_shift.items()
    }
    return stacked(tables, "site") if tables else None


SUFFIXES = (  # of tables
    *(".csv", ".tsv", ".txt", ".psv", ".gz"),
    *(".xlsx", ".xlsm", ".xls", ".ods"),
    *(".parquet", ".pq", ".npz"),
)
# Facts of the provenance that list columns which the reader left out.
LEFT_OUT = ("totals", "other_measures", "other_lobes", "excluded", "ignored")


def add_table_options(parser: argparse.ArgumentParser) -> None:
    """Add the argument for tables, and the options that describe columns, rows and files.

    `check_tables` raises an error if no table is given.
    """
    add_options(parser, [TABLES])
    add_column_options(parser)
    add_options(parser.add_argument_group("time series"), SERIES)
    add_options(parser, [ROWS])


def add_column_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that describe columns, rows and files, without the argument for tables."""
    add_options(parser.add_argument_group("columns"), COLUMNS)
    add_options(parser.add_argument_group("rows and files"), FILES)


def check_tables(arguments: argparse.Namespace) -> None:
    """Raise OptionError if no table is named.

    If an option took the table as one of its values, the error names the option. If the table is a
    folder of subjects, the error names the command that makes a table of it.
    """
    if arguments.tables:
        for path in arguments.tables:
            _refuse_subjects(path, arguments.command)
        return
    # An option of several values takes a table that follows it.
    for option in (*TABLE, *WHAT):
        taken = getattr(arguments, option.dest, None)
        # Only an option of several values has a list.
        if isinstance(taken, list) and (tables := [name for name in taken if _is_table(str(name))]):
            raise OptionError("table.taken", argument=option.dest, file=tables[0]).says(
                "no table is named: {argument} took {file} as one of its values",
                "Put the table before the options.",
            )
    raise OptionError("table.none", command=arguments.command).says(
        "no table is named", "Give its path, as in `sgbn {command:s} table.csv`."
    )


def _refuse_subjects(path: Path, command: str) -> None:
    if not path.is_dir():
        return
    from sgbn.read.subjects import is_subjects_folder

    if is_subjects_folder(path):
        raise OptionError("table.subjects-folder", folder=path, command=command).says(
            "{folder} is a folder of FreeSurfer, FastSurfer or CAT12 subjects",
            "Make a table of it with `sgbn read-subjects FOLDER --out OUT`, then `sgbn {command:s} "
            "OUT/regions.csv ...`.",
        )


def _is_table(name: str) -> bool:
    return Path(name).suffix.lower() in SUFFIXES or Path(name).exists()


def show_cohort(arguments: argparse.Namespace) -> Cohort:
    """Read a cohort, and print what it holds and which columns were left out."""
    cohort = read_cohort(arguments)
    print(cohort.summary())
    if len(cohort.groups) > 1:
        print(_reference_line(cohort.groups, arguments.reference))
    for name in LEFT_OUT:
        if cohort.provenance.get(name):
            print(f"columns left out, {name.replace('_', ' ')}: {listed(cohort.provenance[name])}")
    atlas_file = cohort.provenance.get("atlas_file")
    if atlas_file and arguments.atlas is None:
        print(f"atlas: {atlas_file}, written by sgbn extract (--atlas names another)")
    people = cohort.provenance.get("participants")
    # Printed, because the user did not name this file.
    if people and arguments.participants is None:
        print(f"participants: {people['source']}, found by sgbn (--participants names another)")
    if cohort.provenance.get("ids") == "row numbers":
        print("no column with subjects' names was found: rows are numbered (--id names a column)")
    print()
    return cohort


def _reference_line(groups: Sequence[str], asked: str | None) -> str:
    """Return a line that says which group is the reference, why, and how to change it."""
    from sgbn.cohort.design import choose_reference, why_reference

    change = "" if asked is not None else "; --reference GROUP names another"
    return f"reference: {choose_reference(groups, asked)} ({why_reference(groups, asked)}{change})"


def read_cohort(arguments: argparse.Namespace) -> Cohort:
    """Return the cohort that the options describe."""
    from sgbn.read.series import read_any
    from sgbn.read.table import read_freesurfer

    options = {option.dest: getattr(arguments, option.dest) for option in TABLE}
    for name, value in options.items():
        if isinstance(value, list):
            options[name] = list(dict.fromkeys(value))  # a name that is given twice counts once
    # Only options of both `read_freesurfer` and `read_any` stay in `options`.
    lobes = options.pop("lobes")  # used after reading, when the atlas is known
    sheet = options.pop("sheet")
    # None as default, because `sgbn reproduce` has no options for time series.
    series = {option.dest: getattr(arguments, option.dest, None) for option in SERIES}
    if options.pop("freesurfer") or len(arguments.tables) > 1:
        if sheet is not None:
            raise InputError("sheet.freesurfer").says(
                "{sheet=} is for one Excel table, and FreeSurfer tables have no sheets",
                "Leave it out.",
            )
        for name in [name for name, value in series.items() if value is not None]:
            raise InputError("series.freesurfer", argument=name).says(
                "{argument} is for time series, not for FreeSurfer tables", "Leave it out."
            )
        cohort = read_freesurfer(*arguments.tables, **options)
    else:
        cohort = read_any(arguments.tables[0], sheet=sheet, **options, **series)
    return cohort if lobes is None else _of_lobes(cohort, lobes)


def _of_lobes(cohort: Cohort, lobes: list[str]) -> Cohort:
    """Return the regions of these lobes; the provenance says which regions were left out."""
    part = cohort.subset(lobes=lobes)
    # Kept, so that a message about --edges or --among can say that --lobes left a region out.
    left_out = [name for name in cohort.regions if name not in set(part.regions)]
    return replace(part, provenance={**cohort.provenance, "lobes": lobes, "other_lobes": left_out})
