"""Convert networks to models of pgmpy, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from sgbn.core.exceptions import InputError
from sgbn.core.gaussian import NetworkLike
from sgbn.io.exports.network_tables import network_of
from sgbn.read.network import GraphBuilder, NamedGraph


def to_pgmpy(network: NetworkLike) -> Any:
    """Return a network as a ``LinearGaussianBayesianNetwork`` of pgmpy, with the same weights.

    Parameters
    ----------
    network : GaussianNetwork or fitted learner
        Network to convert.

    Returns
    -------
    pgmpy.models.LinearGaussianBayesianNetwork
        The model. Its nodes are in the order of the network.
    """
    try:
        # Imported here, because pgmpy is optional.
        from pgmpy.factors.continuous import LinearGaussianCPD
        from pgmpy.models import LinearGaussianBayesianNetwork
    except ImportError as error:
        raise InputError(
            'to_pgmpy needs the package pgmpy. Install it: pip install "sgbn[pgmpy]".'
        ) from error
    make_cpd: Any = LinearGaussianCPD  # its type hints call it abstract, but it is not
    weights = network_of(network)
    model = LinearGaussianBayesianNetwork()
    # Nodes come before edges, to keep their order and to keep nodes without edges.
    model.add_nodes_from(weights.names)
    model.add_edges_from((weights.names[i], weights.names[j]) for i, j in np.argwhere(weights.coef))
    for j, name in enumerate(weights.names):
        parents = np.flatnonzero(weights.coef[:, j])
        # In pgmpy the intercept is the first weight.
        beta = [float(weights.intercept[j]), *weights.coef[parents, j].tolist()]
        sd = float(np.sqrt(weights.noise_variance[j]))
        model.add_cpds(make_cpd(name, beta, sd, [weights.names[i] for i in parents]))
    return model


def from_pgmpy(model: Any) -> NamedGraph:
    """Return the graph of a model or DAG of pgmpy.

    Parameters
    ----------
    model : pgmpy.models.LinearGaussianBayesianNetwork, or any directed graph of pgmpy
        Model to convert.

    Returns
    -------
    NamedGraph
        The graph. It has a network too, if all nodes of the model are linear Gaussian.
    """
    if not hasattr(model, "nodes") or not hasattr(model, "edges"):
        raise InputError(f"{type(model).__name__} is not a graph of pgmpy. Give a model or a DAG.")
    builder = GraphBuilder()
    for node in model.nodes():
        # Nodes of pgmpy may be any hashable object, but nodes of sgbn have names.
        builder.add_node(str(node))
    if len(builder.names) < len(model.nodes()):
        raise InputError("two nodes have the same name when written as text. Rename one of them.")
    # A DAG of pgmpy has no distributions. The distributions of a discrete network are not linear
    # Gaussian.
    weights: dict[tuple[str, str], float] = {}
    for cpd in model.get_cpds() if hasattr(model, "get_cpds") else []:
        if hasattr(cpd, "beta") and hasattr(cpd, "std"):
            name = str(cpd.variable)
            intercept, *betas = map(float, cpd.beta)
            builder.intercept[name] = intercept
            sd = float(cpd.std)
            builder.set_variance(name, sd * sd, 0)  # there is no line to name
            parents = [str(parent) for parent in cpd.evidence]
            weights |= {(p, name): beta for p, beta in zip(parents, betas, strict=True)}
    for source, target in ((str(i), str(j)) for i, j in model.edges()):
        builder.add_edge(source, target, 0, weights.get((source, target)), arrow=True)
    return builder.graph()
