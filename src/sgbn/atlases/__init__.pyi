"""The public names of `sgbn.atlases`: `__init__.py` loads each on first use from here."""

from .atlas import UNKNOWN_LOBE as UNKNOWN_LOBE
from .atlas import Atlas as Atlas
from .atlas import AtlasFile as AtlasFile
from .atlas import Region as Region
from .library import ATLASES as ATLASES
from .library import load_atlas as load_atlas
from .matching import AtlasMatch as AtlasMatch
from .matching import ColumnMatch as ColumnMatch
from .matching import match_columns as match_columns
from .sources import AtlasLike as AtlasLike
from .sources import as_atlas as as_atlas
from .tables import read_atlas as read_atlas
from .totals import is_total as is_total

__all__: list[str]
