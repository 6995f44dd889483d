"""The eight methods that Exp-II of the paper compares with; one method a file."""

from sgbn.structure.baselines.gs import GS
from sgbn.structure.baselines.iamb import IAMB
from sgbn.structure.baselines.iamb_npc import IAMBnPC
from sgbn.structure.baselines.inter_iamb import InterIAMB
from sgbn.structure.baselines.inter_iamb_npc import InterIAMBnPC
from sgbn.structure.baselines.l1mb import L1MB
from sgbn.structure.baselines.tc import TC
from sgbn.structure.baselines.tc_bw import TCbw

__all__ = ["GS", "IAMB", "L1MB", "TC", "IAMBnPC", "InterIAMB", "InterIAMBnPC", "TCbw"]
