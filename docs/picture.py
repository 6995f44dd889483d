"""Take the README's picture of the report: its summary, and its networks beside it.

sgbn demo && python docs/picture.py sgbn-demo/report.html     # writes docs/report.png
"""

import sys
from io import BytesIO
from pathlib import Path
from shutil import which

from PIL import Image
from playwright.sync_api import sync_playwright

SIZE = {"width": 1150, "height": 850}
COLOURS = 128  # enough for text and lines, a third of the bytes


def shots(path):
    """Pictures of the top of the report, and of its networks."""
    with sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path=which("chromium"), args=["--no-sandbox", "--enable-unsafe-swiftshader"]
        )
        page = browser.new_page(viewport=SIZE)
        page.goto(path.resolve().as_uri())
        page.wait_for_timeout(5000)  # until the networks are drawn
        yield page.screenshot()
        page.evaluate("document.querySelector('#networks-count').scrollIntoView()")
        page.wait_for_timeout(3000)
        yield page.screenshot()
        browser.close()


def main(path):
    """Put the two side by side."""
    left, right = (Image.open(BytesIO(shot)).convert("RGB") for shot in shots(path))
    both = Image.new("RGB", (left.width + right.width + 20, left.height), "#c8ccd4")
    both.paste(left, (0, 0))
    both.paste(right, (left.width + 20, 0))
    both.quantize(COLOURS).save(Path(__file__).parent / "report.png", optimize=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
