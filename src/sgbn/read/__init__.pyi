"""The public names of `sgbn.read`. `__init__.py` loads each name when it is first used."""

from .extract import Extraction as Extraction
from .extract import TimeSeries as TimeSeries
from .extract import extract_regions as extract_regions
from .extract import extract_time_series as extract_time_series
from .network import NamedGraph as NamedGraph
from .network import read_bif as read_bif
from .series import is_series as is_series
from .series import read_series as read_series
from .subjects import SubjectsTable as SubjectsTable
from .subjects import collect_subjects as collect_subjects
from .subjects import is_subjects_folder as is_subjects_folder
from .subjects import read_subjects as read_subjects
from .table import read_freesurfer as read_freesurfer
from .table import read_table as read_table
from .table import write_table as write_table

__all__: list[str]
