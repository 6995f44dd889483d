"""The public names of `sgbn.io`. `__init__.py` loads each of them on first use."""

from .exports.brainnet import write_brainnet as write_brainnet
from .exports.connectome import Connectome as Connectome
from .exports.connectome import connectome as connectome
from .exports.csv_files import write_csv as write_csv
from .exports.graphs import write_graphml as write_graphml
from .exports.graphs import write_node_link as write_node_link
from .exports.network_tables import edge_table as edge_table
from .exports.network_tables import node_table as node_table
from .exports.relation_matrix import write_relation_matrix as write_relation_matrix
from .exports.whole import export_network as export_network
from .frames import to_frame as to_frame
from .models import inputs_of as inputs_of
from .models import load as load
from .models import read_inputs as read_inputs
from .models import save as save
from .networks import from_pgmpy as from_pgmpy
from .networks import read_network as read_network
from .networks import to_pgmpy as to_pgmpy
from .networks import write_network as write_network

__all__: list[str]
