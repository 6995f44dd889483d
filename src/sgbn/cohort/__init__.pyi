"""The public names of `sgbn.cohort`. `__init__.py` loads each name when it is first used."""

from .atlas import ATLASES as ATLASES
from .atlas import UNKNOWN_LOBE as UNKNOWN_LOBE
from .atlas import Atlas as Atlas
from .atlas import AtlasFile as AtlasFile
from .atlas import AtlasLike as AtlasLike
from .atlas import Region as Region
from .atlas import as_atlas as as_atlas
from .atlas import load_atlas as load_atlas
from .atlas import read_atlas as read_atlas
from .cohort import Cohort as Cohort
from .region_names import AtlasMatch as AtlasMatch
from .region_names import ColumnMatch as ColumnMatch
from .region_names import is_total as is_total
from .region_names import match_columns as match_columns
from .series import SeriesCohort as SeriesCohort
from .series import SubjectMoments as SubjectMoments
from .series import subject_moments as subject_moments
from .simulate import NETWORKS as NETWORKS
from .simulate import BenchmarkNetwork as BenchmarkNetwork
from .simulate import SimulatedCohort as SimulatedCohort
from .simulate import load_network as load_network
from .simulate import random_weights as random_weights
from .simulate import simulate_cohort as simulate_cohort
from .simulate import simulate_sem as simulate_sem
from .simulate_series import SimulatedSeries as SimulatedSeries
from .simulate_series import simulate_series as simulate_series

__all__: list[str]
