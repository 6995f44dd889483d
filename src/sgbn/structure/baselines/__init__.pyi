"""All baselines, one line per class. `__init__.py` loads each class when it is first used."""

from .gs import GS as GS
from .iamb import IAMB as IAMB
from .iamb_npc import IAMBnPC as IAMBnPC
from .inter_iamb import InterIAMB as InterIAMB
from .inter_iamb_npc import InterIAMBnPC as InterIAMBnPC
from .l1mb import L1MB as L1MB
from .tc import TC as TC
from .tc_bw import TCbw as TCbw

__all__: list[str]
