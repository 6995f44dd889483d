"""`sgbn read-subjects`: a table of regions from the folders of FreeSurfer, FastSurfer or CAT12."""

from __future__ import annotations

import argparse
import shlex
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sgbn.cli.arguments import folder_of_results, write_whole
from sgbn.cli.commands import add_command, options_of
from sgbn.cli.options import add_options
from sgbn.exceptions import DataWarning, InputError, counted, listed

if TYPE_CHECKING:
    import pandas as pd

    from sgbn.io.subjects import SubjectsTable

REGIONS, QUALITY, FAILED = "regions.csv", "quality.csv", "failed.csv"
VISITS = "participants_visits.csv"  # one row per visit, where the user's has one per person
MAX_LISTED = 10  # failed subjects that are printed; the file has all


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `read-subjects` to the subcommands."""
    add_options(add_command(commands, "read-subjects", run), options_of("read-subjects"))


def run(arguments: argparse.Namespace) -> None:
    """Read the folder, write the tables, sum up."""
    with folder_of_results(arguments.out) as out, warnings.catch_warnings():
        # The warning that names who failed would say it twice: `_what_was_not` lists them.
        warnings.filterwarnings("ignore", r".*: \d+ subjects? left out of \d+", DataWarning)
        _refuse_to_replace(arguments.participants, out)
        collected = _collect(arguments)
        failed, joined = collected.failed, None
        if arguments.participants is not None:
            joined = _joined(collected, arguments.participants, out)
            failed = joined.failed
        write_whole(collected.table, out / REGIONS)
        write_whole(collected.quality, out / QUALITY)
        # Also without rows: the list of an earlier run must not stay.
        write_whole(failed, out / FAILED)
    _sum_up(collected, failed, joined, arguments)


def _collect(arguments: argparse.Namespace) -> SubjectsTable:
    from sgbn.io.subjects import collect_subjects

    return collect_subjects(
        arguments.folder,
        parcellation=arguments.parcellation,
        measure=arguments.measure,
        aseg=arguments.aseg,
        # A list may be given in parts, and a name twice.
        segmentations=list(dict.fromkeys(arguments.segmentations or ())),
        stream=arguments.stream,
        on_error=arguments.on_error,
    )


def _sum_up(
    collected: SubjectsTable,
    failed: pd.DataFrame,
    joined: _Joined | None,
    arguments: argparse.Namespace,
) -> None:
    """Print what was read, what was not, and what comes next."""
    out = arguments.out
    for line in (*_what_was_read(collected), *_what_was_not(collected, failed)):
        print(line)
    beside = f"{QUALITY} and {FAILED}"
    if joined is not None and joined.unlisted:
        who = counted(len(joined.unlisted), "subject is", "subjects are")
        print(f"{who} not listed in {arguments.participants}: {listed(joined.unlisted)}.")
    if joined is not None and joined.path == out / VISITS:
        beside = f"{QUALITY}, {FAILED} and {VISITS} (participants, one row per visit)"
    print(f"Wrote {out / REGIONS}, and beside it {beside}. Next:")
    print(f"  {next_command(collected, out, joined)}")


def _refuse_to_replace(participants: Path | None, out: Path) -> None:
    """Raise InputError if the participants are a file that is about to be written."""
    if participants is None or not participants.exists():
        return
    for path in (out / name for name in (REGIONS, QUALITY, FAILED, VISITS)):
        # samefile: the same file may be named by another path, or by a link.
        if path.exists() and path.samefile(participants):
            raise InputError(
                f"{str(participants)!r} (--participants) would be replaced by the {path.name} that "
                "this command writes. Give another folder (--out), or rename the file."
            )


@dataclass(frozen=True)
class _Joined:
    """Participants for the next command, subjects that failed, and subjects that are not listed."""

    path: Path
    failed: pd.DataFrame
    unlisted: list[str]


def _joined(collected: SubjectsTable, path: Path, out: Path) -> _Joined:
    """Compare with the participants; where they are persons, write a table of their visits."""
    import pandas as pd

    from sgbn.io.subjects.reader import PARTICIPANT, participants_by_visit
    from sgbn.io.tables.joins import absent_ids

    people, visits = participants_by_visit(collected, path)
    table, failed = collected.table, collected.failed
    ids, persons = list(table["subject_id"]), list(table.get("person", ()))
    # Participants may be listed by visit or by person; who failed has a folder, and a reason.
    absent = absent_ids(people.ids, [*ids, *persons, *failed["subject_id"]])
    reason = f"listed in {path.name}, but without a folder"
    rows = pd.DataFrame({"subject_id": absent, "source": "", "reason": reason}).astype(object)
    failed = pd.concat([failed, rows], ignore_index=True)
    if visits is None:
        return _Joined(path, failed, absent_ids(ids, people.ids))
    write_whole(visits, out / VISITS)
    return _Joined(out / VISITS, failed, absent_ids(ids, list(visits[PARTICIPANT])))


def _what_was_read(collected: SubjectsTable) -> list[str]:
    facts, quality = collected.facts, collected.quality
    versions = ", ".join(f"{name} ({count})" for name, count in facts["versions"].items())
    lines = [
        f"Read {counted(len(collected.regions), 'region')} of "
        f"{counted(len(collected.table), 'subject')}: {_what(facts)}.",
        f"Software: {versions}.",
    ]
    if facts.get("other_parcellations"):
        lines.append(
            f"There are also {listed(facts['other_parcellations'])} (--parcellation takes one)."
        )
    # One line for each combination of what is missing, not for each subject.
    for missing, count in quality["missing"][quality["missing"] != ""].value_counts().items():
        lines.append(f"{counted(count, 'subject has', 'subjects have')} no {missing}.")
    if facts.get("stream") == "longitudinal":
        lines.append("These are the runs of the longitudinal stream (--stream cross: the others).")
    if "person" in collected.table:
        lines.append("Somebody has several visits: the column person says who.")
    return lines


def _what(facts: dict[str, Any]) -> str:
    """Which measure of which parcellation, and which further files."""
    # The files of the parcellation itself are said by its name.
    further = [name for name in facts.get("files", ()) if str(facts["parcellation"]) not in name]
    cortex = f"{facts['measure']} of {facts['parcellation']}" if facts["parcellation"] else ""
    return "; volumes of ".join(part for part in (cortex, ", ".join(further)) if part)


def _what_was_not(collected: SubjectsTable, failed: pd.DataFrame) -> list[str]:
    facts = collected.facts
    lines = []
    for key, words in (
        ("templates", "Skipped templates"),
        ("bases", "Skipped longitudinal bases"),
        ("averages", "Skipped averages of longitudinal runs"),
        ("other_folders", "Folders that are not subjects"),
    ):
        if facts.get(key):
            lines.append(f"{words}: {listed(facts[key])}.")
    if len(failed):
        who = counted(len(failed), "subject is", "subjects are")
        lines.append(f"{who} not in the table ({FAILED}):")
        shown = failed.head(MAX_LISTED).itertuples(index=False)
        lines += [f"  {subject.subject_id}: {subject.reason}" for subject in shown]
    if len(failed) > MAX_LISTED:
        lines.append(f"  ... and {len(failed) - MAX_LISTED} more.")
    return lines


def next_command(collected: SubjectsTable, out: Path, joined: _Joined | None) -> str:
    """Return the next command, with words in capitals that the user must replace."""
    from sgbn.atlases import match_columns
    from sgbn.io.subjects.layouts import parcellation_atlas

    columns = list(collected.table.columns)
    by_names = match_columns(columns)  # what `sgbn check` would find by itself
    atlas = parcellation_atlas(collected.facts["parcellation"]) or by_names.atlas
    words = ["sgbn", "check", str(out / REGIONS)]
    words += ["--participants", str(joined.path) if joined else "participants.tsv"]
    # If nobody is listed, the names of both tables do not fit: dropping all would hide that.
    if joined and 0 < len(joined.unlisted) < len(collected.table):
        words += ["--participants-missing", "drop"]
    words += ["--group", "COLUMN"]
    # FreeSurfer has the first, CAT12 the second.
    etiv = [name for name in ("eTIV", "TIV") if name in collected.table]
    if etiv:
        words += ["--covariates", *etiv]
    if "person" in collected.table:
        # Visits of one person are not independent.
        words += ["--subject", "person"]
    # Where the names fit one atlas only, and the right one, the reader finds it by itself.
    if atlas is not None and (atlas != by_names.atlas or by_names.others):
        words += ["--atlas", atlas.name]
    # By default a reader takes the regions that the atlas knows, and would lose these.
    if set(match_columns(columns, atlas).unmatched).intersection(collected.regions):
        words += ["--regions", "all"]
    return shlex.join(words)
