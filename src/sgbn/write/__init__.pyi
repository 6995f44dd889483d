"""The public names of `sgbn.write`. `__init__.py` loads each name when it is first used."""

from . import draw as draw
from .formats import from_pgmpy as from_pgmpy
from .formats import read_network as read_network
from .formats import to_pgmpy as to_pgmpy
from .formats import write_network as write_network
from .model_files import inputs_of as inputs_of
from .model_files import load as load
from .model_files import read_inputs as read_inputs
from .model_files import save as save
from .network_files import Connectome as Connectome
from .network_files import connectome as connectome
from .network_files import export_network as export_network
from .network_files import write_brainnet as write_brainnet
from .network_files import write_graphml as write_graphml
from .network_files import write_node_link as write_node_link
from .network_files import write_relation_matrix as write_relation_matrix
from .tables import edge_table as edge_table
from .tables import node_table as node_table
from .tables import to_frame as to_frame
from .tables import write_csv as write_csv

__all__: list[str]
