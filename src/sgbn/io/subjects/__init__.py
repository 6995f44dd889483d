"""Functions that read the folders of subjects that FreeSurfer, FastSurfer and CAT12 write."""

from sgbn.io.subjects.collection import SubjectsTable, collect_subjects, is_subjects_folder
from sgbn.io.subjects.reader import read_subjects

__all__ = ["SubjectsTable", "collect_subjects", "is_subjects_folder", "read_subjects"]
