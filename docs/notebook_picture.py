"""Take the picture of docs/notebook.md: what a notebook shows of three results of its code.

python docs/notebook_picture.py     # writes docs/notebook.png
"""

import base64
import os
import re
import subprocess
import sys
from io import BytesIO
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory

import matplotlib as mpl
from PIL import Image
from playwright.sync_api import sync_playwright

DOCS = Path(__file__).parent
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```", re.S | re.M)
COLOURS = 128
STYLE = """<style>
body {font: 14px/1.35 sans-serif; width: 860px; margin: 12px}
code {display: block; background: #f3f4f6; padding: 6px 10px; margin: 14px 0 6px}
table {border-collapse: collapse; font-size: 13px}
td, th {padding: 3px 10px; text-align: right}
tbody tr:nth-child(odd) {background: #f7f7f7}
p {margin: 6px 0}
</style>"""


def results():
    """Run the first two blocks of the page in an empty folder, and return its namespace."""
    (_, simulate), (_, code) = BLOCK.findall((DOCS / "notebook.md").read_text())[:2]
    space = {}
    with TemporaryDirectory() as folder:
        os.chdir(folder)
        subprocess.run([sys.executable, "-m", *simulate.split()], check=True)
        exec(code.replace("files = ", "# "), space)  # the report is not in the picture
        os.chdir(DOCS)
    return space


def page(comparison):
    """Put the three cells of a notebook and what they show below each other."""
    stream = BytesIO()
    comparison.plot().figure.savefig(stream, format="png", dpi=100)
    image = base64.b64encode(stream.getvalue()).decode()
    cells = {
        "comparison": comparison._repr_html_(),
        "comparison.plot()": f'<img src="data:image/png;base64,{image}">',
        'comparison.learners["control"]': comparison.learners["control"]._repr_html_(),
    }
    return STYLE + "".join(f"<code>{code}</code>{shown}" for code, shown in cells.items())


def main():
    """Take the picture."""
    mpl.use("agg")
    with sync_playwright() as play:
        html = page(results()["comparison"])
        browser = play.chromium.launch(executable_path=which("chromium"), args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": 884, "height": 600})
        tab.set_content(html)
        shot = tab.screenshot(full_page=True)
        browser.close()
    picture = Image.open(BytesIO(shot)).convert("RGB").quantize(COLOURS)
    picture.save(DOCS / "notebook.png", optimize=True)


if __name__ == "__main__":
    main()
