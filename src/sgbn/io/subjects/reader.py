"""Cohorts from folders of FreeSurfer, FastSurfer and CAT12 subjects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from os import PathLike

import numpy as np
import pandas as pd

from sgbn.atlases import AtlasLike, match_columns
from sgbn.cohort import Cohort
from sgbn.io.subjects.collection import CAT12, ID, PERSON, SubjectsTable, collect_subjects
from sgbn.io.subjects.layouts import parcellation_atlas
from sgbn.io.tables.assembly import assemble, load_participants
from sgbn.io.tables.cells import Markers
from sgbn.io.tables.files import Source
from sgbn.io.tables.joins import absent_ids, join_participants, with_ids
from sgbn.io.tables.options import Options
from sgbn.io.tables.raw import Origin, RawTable

PARTICIPANT = "participant_id"  # ids in a table of participants, as BIDS calls them


def read_subjects(
    folder: str | PathLike[str],
    *,
    parcellation: str | None = None,
    measure: str | None = None,
    aseg: bool = True,
    segmentations: str | Sequence[str] = (),
    stream: str | None = None,
    on_error: str = "skip",
    group: str | None = None,
    id: str | None = None,
    covariates: str | Sequence[str] = (),
    smooth: str | Sequence[str] = (),
    site: str | None = None,
    pair: str | None = None,
    subject: str | None = None,
    block: str | None = None,
    participants: Source | None = None,
    participants_missing: str = "refuse",
    regions: str | Sequence[str] | None = None,
    exclude: str | Sequence[str] = (),
    groups: str | Sequence[str] | None = None,
    atlas: AtlasLike | None = None,
    missing: Markers = None,
) -> Cohort:
    """Read a folder of FreeSurfer, FastSurfer or CAT12 subjects into a cohort.

    Parameters
    ----------
    folder : path
        Folder with one folder per subject (``SUBJECTS_DIR``; sessions may be folders below), or one
        with ``catROI_*.xml`` and ``catROIs_*.xml`` of CAT12 anywhere in it.
    parcellation : str, optional
        ``"aparc"``, ``"aparc.a2009s"``, ``"aparc.DKTatlas"``, ``"aparc.DKTatlas.mapped"``,
        ``"aseg+DKT"``, or any other whose files are ``stats/lh.NAME.stats``; of CAT12 the name of
        an atlas. If not given: aparc, then DKT, then a2009s (CAT12: aparc_DK40, then
        neuromorphometrics), the first that at least half of the subjects have.
    measure : str, optional
        Of the cortex: ``"thickness"``, ``"volume"`` or ``"area"``; of CAT12 also its own names,
        such as ``"Vwm"``. If not given, thickness where there are surfaces, else volume.
    aseg : bool
        Whether subcortical volumes are regions too.
    segmentations : str or list of str
        Further tables of volumes: ``"thalamus"``, ``"hypothalamus"``, ``"hippocampus"``,
        ``"amygdala"``, ``"brainstem"``, ``"cerebellum"``.
    stream : {"cross", "long"}, optional
        Which runs are read where FreeSurfer's longitudinal stream was used. If not given, the
        longitudinal ones, if all visits have one; else there is an error.
    on_error : {"skip", "raise"}
        Subjects who cannot be read, or have other regions than most: they are left out with a
        warning that names them, or are an error.
    group, id, covariates, smooth, site, pair, subject, block : optional
        As in `read_table`; columns of `participants`, or totals such as ``eTIV`` and
        ``SurfaceHoles``. ``"person"`` is a column where somebody has several visits.
    participants, participants_missing : optional
        As in `read_table`. Where there are several visits, participants may be listed by person.
    regions, exclude, groups, atlas, missing : optional
        As in `read_table`. If no atlas is given, it is that of the parcellation, where the package
        has it.

    Returns
    -------
    Cohort
        Regions named as aparcstats2table, asegstats2table or CAT12 name them. Its provenance says
        what was read and who was left out.

    See Also
    --------
    sgbn.io.collect_subjects : The same tables with the sheet of quality.
    """
    # The measure is that of the files here, not one of several columns.
    options = Options.of(**{**locals(), "measure": None})
    collected = collect_subjects(
        folder,
        parcellation=parcellation,
        measure=measure,
        aseg=aseg,
        segmentations=segmentations,
        stream=stream,
        on_error=on_error,
    )
    if options.atlas is None:
        atlas_read = parcellation_atlas(collected.facts["parcellation"])
        options = replace(options, atlas=atlas_read)
    match = match_columns(list(collected.table.columns), options.atlas)
    known = not set(collected.regions).intersection(match.unmatched)
    # An atlas that knows only some regions would leave the others out.
    if options.regions is None and not known:
        named = tuple(name for name in collected.regions if name not in set(match.totals))
        options = replace(options, regions=named)
    raw = _raw(collected)
    person = _joined_by_person(raw, options, participants)
    cohort, _ = assemble(raw, options, participants, ID, person)
    if collected.facts["tool"] != CAT12 or options.atlas is not None or known:
        return cohort
    # Some names of CAT12's atlases are in others too, which does not make these the right ones.
    return replace(cohort, atlas=None, provenance={**cohort.provenance, "atlas": None})


def participants_by_visit(
    collected: SubjectsTable, participants: Source
) -> tuple[RawTable, pd.DataFrame | None]:
    """Return participants with their ids, and one row per visit if they are listed by person.

    Visits of persons who are not listed have no row.
    """
    raw = _raw(collected)
    people, id_name = load_participants(Options(), participants)
    if _joined_by_person(raw, Options(), participants) is None:
        return people, None
    visits = with_ids(replace(raw, frame=raw.frame[[ID, PERSON]]), PERSON)
    absent = set(absent_ids(visits.ids, people.ids))
    visits = visits.keep(np.array([name not in absent for name in visits.ids], dtype=bool))
    # The ids of the visits take the place of these.
    columns = [name for name in people.columns if name not in (id_name, ID, PERSON, PARTICIPANT)]
    joined = join_participants(visits, people, columns, may_lack=False)
    return people, joined.frame.drop(columns=PERSON).rename(columns={ID: PARTICIPANT})


def _joined_by_person(raw: RawTable, options: Options, participants: Source | None) -> str | None:
    """Return the column of persons, if participants are listed by these and not by visits."""
    if participants is None or PERSON not in raw.columns:
        return None
    people, _ = load_participants(options, participants, PERSON)
    # Whichever leaves fewer without a row.
    by_visit, by_person = (absent_ids(list(raw.frame[name]), people.ids) for name in (ID, PERSON))
    return PERSON if len(by_person) < len(by_visit) else None


def _raw(collected: SubjectsTable) -> RawTable:
    places = np.arange(1, len(collected.table) + 1, dtype=np.intp)
    origin = Origin(repr(collected.facts["source"]), places, unit="subject {}")
    return RawTable(collected.table, origin, facts=collected.provenance)
