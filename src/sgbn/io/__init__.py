"""Where sgbn meets tables, images and other files."""

from sgbn.io.exports import (
    Connectome,
    connectome,
    edge_table,
    export_network,
    node_table,
    write_brainnet,
    write_csv,
    write_graphml,
    write_node_link,
    write_relation_matrix,
)
from sgbn.io.frames import to_frame
from sgbn.io.images import Extraction, extract_regions, extract_time_series
from sgbn.io.models import inputs_of, load, read_inputs, save
from sgbn.io.networks import (
    NamedGraph,
    from_pgmpy,
    read_bif,
    read_network,
    to_pgmpy,
    write_network,
)
from sgbn.io.series import is_series, read_series
from sgbn.io.subjects import (
    SubjectsTable,
    collect_subjects,
    is_subjects_folder,
    read_subjects,
)
from sgbn.io.tables import read_freesurfer, read_table, write_table

__all__ = [
    "Connectome",
    "Extraction",
    "NamedGraph",
    "SubjectsTable",
    "collect_subjects",
    "connectome",
    "edge_table",
    "export_network",
    "extract_regions",
    "extract_time_series",
    "from_pgmpy",
    "inputs_of",
    "is_series",
    "is_subjects_folder",
    "load",
    "node_table",
    "read_bif",
    "read_freesurfer",
    "read_inputs",
    "read_network",
    "read_series",
    "read_subjects",
    "read_table",
    "save",
    "to_frame",
    "to_pgmpy",
    "write_brainnet",
    "write_csv",
    "write_graphml",
    "write_network",
    "write_node_link",
    "write_relation_matrix",
    "write_table",
]
