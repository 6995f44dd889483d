"""Results of a benchmark as JSON and Markdown, with what is needed to repeat it."""

import json
from pathlib import Path

from sgbn.experiments.markdown import provenance
from sgbn.runs import versions

RESULTS = Path(__file__).parent / "results"


def write(folder, name, results, lines, words=None):
    """Write ``NAME.json`` and ``NAME.md``: results, and lines of text with what made them.

    `words` of the command are the script of this name, unless they are given.
    """
    made = {"command": ["python", *(words or [f"benchmarks/{name}.py"])], "versions": versions()}
    folder.mkdir(parents=True, exist_ok=True)
    runs = ",\n".join(f"  {json.dumps(run)}" for run in results["runs"])
    head = json.dumps(
        results | made | {"command": " ".join(made["command"]), "runs": None}, indent=1
    )
    text = head.replace('"runs": null', f'"runs": [\n{runs}\n ]')
    (folder / f"{name}.json").write_text(text + "\n")
    text = "\n".join([*lines, "", f"Seed {results['seed']}. {provenance(made)}"])
    (folder / f"{name}.md").write_text(text + "\n")
    print(text)
