"""Write networks as files of other tools, and read such files."""

from sgbn.io.networks.formats import read_network, write_network
from sgbn.io.networks.pgmpy_models import from_pgmpy, to_pgmpy
from sgbn.read.network import NamedGraph, read_bif

__all__ = ["NamedGraph", "from_pgmpy", "read_bif", "read_network", "to_pgmpy", "write_network"]
