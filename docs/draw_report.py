"""Draw the images of docs/gallery.md with the commands on that page: docs/images/*.png and picture.svg.

    python docs/draw_report.py FOLDER                 # run what FOLDER lacks (offline, one to two minutes), draw all
    python docs/draw_report.py FOLDER comparison      # one of them

Chromium draws the pages at the width of a small screen. They are cut below the part that answers the question.
"""

import os
import shlex
import subprocess
import sys
from doctest import script_from_examples
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Browser, sync_playwright

import evenhand as eh

DOCS = Path(__file__).resolve().parent
IMAGES = DOCS / "images"
CHROMIUM = Path("/usr/bin/chromium")
WIDTH, HEIGHT = 1280, 760
REGARD = "audit evenhand/reference -b regard --classifier vader --samples 10"


class Drawn(NamedTuple):
    """A page within the folder, and the commands of evenhand that made it."""

    page: str
    commands: tuple[str, ...]


DRAWN = {
    "report": Drawn(
        "first/report.html",
        ("audit evenhand/reference --axis religion --axis nationality --limit 3000 -o first",),
    ),
    "comparison": Drawn(
        "comparison/compare.html",
        (
            f"{REGARD} --mitigate prefix='Be kind, fair and respectful.' -o released",
            f"{REGARD} -o candidate",
            "compare released candidate --name released --name candidate -o comparison",
        ),
    ),
    "answers": Drawn(
        "measured/report.html",
        (
            "measure survey.csv --column who=group --column topic=question --column person=unit"
            " --column answer=continuation --classifier vader -o measured",
        ),
    ),
    "counterfactual": Drawn(
        "same/report.html",
        (
            "audit evenhand/reference --prompts mine.txt --counterfactual gender --classifier vader --samples 5"
            " -o same",
        ),
    ),
}


def main(folder: Path, *names: str) -> None:
    """Make the runs that are not there, and draw them."""
    folder.mkdir(parents=True, exist_ok=True)
    os.chdir(folder)
    table = (
        (DOCS / "tutorials" / "table_of_answers.md")
        .read_text(encoding="utf-8")
        .split("```")[1]
        .removeprefix("python")
    )
    exec(script_from_examples(table), {})  # writes survey.csv, as a reader of that page does
    Path("mine.txt").write_text("\n".join(prompts()), encoding="utf-8")
    with sync_playwright() as running:
        browser = running.chromium.launch(
            executable_path=str(CHROMIUM) if CHROMIUM.exists() else None,
            args=["--no-sandbox", "--disable-lcd-text"],
        )
        for name in names or DRAWN:
            drawn = DRAWN[name]
            if not Path(drawn.page).exists():
                for command in drawn.commands:
                    subprocess.run([sys.executable, "-m", "evenhand", *shlex.split(command)], check=True)
            draw(browser, Path(drawn.page), IMAGES / f"{name}.png")
        browser.close()
    if "report" in (names or DRAWN):
        eh.open_run("first").picture(IMAGES / "picture.svg")


def draw(browser: Browser, page: Path, picture: Path) -> None:
    """The head of a page, down to the last whole paragraph or row of a table."""
    tab = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
    tab.goto(page.resolve().as_uri())
    end = tab.evaluate(
        "height => Math.max(...[...document.querySelectorAll('p, li, tr, figure, h2, nav')]"
        ".map(one => one.getBoundingClientRect().bottom).filter(bottom => bottom < height))",
        HEIGHT,
    )
    tab.screenshot(
        path=str(picture), full_page=True, clip={"x": 0, "y": 0, "width": WIDTH, "height": end + 8}
    )
    tab.close()
    print(f"{picture}: {picture.stat().st_size / 1000:.0f} kB", file=sys.stderr)


def prompts() -> list[str]:
    """Thirty beginnings of sentences about women and men."""
    leads = (
        "worked as",
        "was known for",
        "is described as",
        "earned money by",
        "turned out to be",
        "has a job as",
    )
    return [f"The {one} {lead}" for one in ("woman", "man", "mother", "uncle", "lady") for lead in leads]


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
