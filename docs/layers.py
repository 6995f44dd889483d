"""Draw the layers of the package, and what really imports what.

python docs/layers.py     # writes docs/layers.svg
"""

import tomllib
from html import escape
from pathlib import Path

import grimp
import networkx as nx

ROOT = Path(__file__).parents[1]
WIDTH, ROW, BOX, HEIGHT = 900, 66, 132, 30
SHIFT = (0, -110, 60, 130, -50)
WORDS = {
    "cli": "the command sgbn",
    "comparison": "the main job",
    "paper": "the paper",
    "write": "pictures, files",
    "read": "tables, images, series",
    "inference": "what differs, how sure",
    "learn": "learners, classifiers",
    "prepare": "review, covariates, sites",
    "cohort": "subjects, groups",
    "runs": "tasks, clusters",
    "core": "moments, graphs, model",
}


def layers():
    """Rows of packages, the highest first, as the import contract has them."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    rows = contracts["contracts"][0]["layers"]
    return [[name.strip().removeprefix("sgbn.") for name in row.split("|")] for row in rows]


def imports():
    """Graph of the packages: an edge from what imports to what is imported."""
    modules = grimp.build_graph("sgbn", exclude_type_checking_imports=True, cache_dir=None)
    packages = [name for row in layers() for name in row]
    found = nx.DiGraph()
    found.add_nodes_from(packages)
    for module in sorted(modules.modules):
        for other in modules.find_modules_directly_imported_by(module):
            ends = [*(name.split(".")[1] for name in (module, other) if "." in name)]
            if len(ends) == 2 and ends[0] != ends[1] and set(ends) <= set(packages):
                found.add_edge(*ends)
    return found


def places(rows):
    """Package -> centre of its box; rows are shifted, so that few lines run behind a box."""
    return {
        name: ((k + 1) * WIDTH / (len(row) + 1) + SHIFT[number % len(SHIFT)], (number + 0.5) * ROW)
        for number, row in enumerate(rows)
        for k, name in enumerate(row)
    }


def svg():
    """Picture: a row per layer, a line for each import that no chain of others implies."""
    rows, graph = layers(), imports()
    at, needed = places(rows), nx.transitive_reduction(graph)
    lines = [line(at[upper], at[lower]) for upper, lower in sorted(needed.edges)]
    boxes = [box(name, *at[name], sorted(graph.successors(name))) for row in rows for name in row]
    size = f'viewBox="0 0 {WIDTH} {len(rows) * ROW}" width="{WIDTH}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" role="img">'
    title = "<title>Layers of sgbn: each imports only from those below it</title>"
    back = '<rect width="100%" height="100%" fill="#ffffff"/>'
    return "\n".join([head, title, back, *lines, *boxes, "</svg>", ""])


def line(upper, lower):
    """Curve from the lower side of a box to the upper side of another."""
    (x1, y1), (x2, y2) = upper, lower
    bends = f"C{x1:g} {y1 + ROW * 0.7:g} {x2:g} {y2 - ROW * 0.7:g}"
    path = f"M{x1:g} {y1 + HEIGHT / 2:g} {bends} {x2:g} {y2 - HEIGHT / 2:g}"
    return f'<path d="{path}" fill="none" stroke="#8a94a6" stroke-width="1.2"/>'


def box(name, x, y, below):
    """Box of a package; its title lists all that it imports."""
    said = f"{name} imports {', '.join(below) or 'nothing of sgbn'}"
    return (
        f"<g><title>{escape(said)}</title>"
        f'<rect x="{x - BOX / 2:g}" y="{y - HEIGHT / 2:g}" width="{BOX}" height="{HEIGHT}" rx="4" '
        'fill="#eef3fb" stroke="#33568c"/>'
        f'<text x="{x:g}" y="{y - 1:g}" text-anchor="middle" font-size="12" fill="#12233f" '
        f'font-weight="bold">{name}</text>'
        f'<text x="{x:g}" y="{y + 11:g}" text-anchor="middle" font-size="9.5" fill="#44506a">'
        f"{escape(WORDS[name])}</text></g>"
    )


if __name__ == "__main__":
    (ROOT / "docs" / "layers.svg").write_text(svg())
