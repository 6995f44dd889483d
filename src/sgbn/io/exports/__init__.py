"""Networks as tables, and as files that other programs read."""

from sgbn.io.exports.brainnet import write_brainnet
from sgbn.io.exports.connectome import Connectome, connectome
from sgbn.io.exports.csv_files import write_csv
from sgbn.io.exports.graphs import write_graphml, write_node_link
from sgbn.io.exports.network_tables import edge_table, node_table
from sgbn.io.exports.relation_matrix import write_relation_matrix
from sgbn.io.exports.whole import export_network

__all__ = [
    "Connectome",
    "connectome",
    "edge_table",
    "export_network",
    "node_table",
    "write_brainnet",
    "write_csv",
    "write_graphml",
    "write_node_link",
    "write_relation_matrix",
]
