"""Draws docs/images/report.png, the head of a page in Chromium, and picture.svg, what a slide gets of the same run.

python docs/draw_report.py RUN    # RUN: evenhand audit evenhand/reference -o RUN
"""

import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

import evenhand as eh

IMAGES = Path(__file__).parent / "images"
CHROMIUM = Path("/usr/bin/chromium")
WIDTH, SECTIONS = 1280, "nav"


def main(folder: str) -> None:
    """Write both pictures from a finished run."""
    run = eh.open_run(folder)
    run.picture(IMAGES / "picture.svg")
    with sync_playwright() as running:
        browser = running.chromium.launch(
            executable_path=str(CHROMIUM) if CHROMIUM.exists() else None, args=["--no-sandbox"]
        )
        page = browser.new_page(viewport={"width": WIDTH, "height": 900})
        page.goto(run.report().resolve().as_uri())
        end = page.locator(SECTIONS).bounding_box()["y"]
        page.screenshot(path=str(IMAGES / "report.png"), full_page=True, clip=_head(end))
        browser.close()


def _head(end: float) -> dict[str, float]:
    return {"x": 0, "y": 0, "width": WIDTH, "height": end}


if __name__ == "__main__":
    main(*sys.argv[1:2])
