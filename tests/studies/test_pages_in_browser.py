"""The pages in a real browser: silent, offline, no sideways scrolling, whole in print."""

import re
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from evenhand.schema import write_text
from evenhand.studies.audit.page import render_html
from evenhand.studies.compare.result import compare
from evenhand.studies.frequencies import render_html as render_count
from evenhand.studies.names.figures import STYLE, occupations_svg
from evenhand.studies.plain_page import plain_page
from tests.helpers.report_factory import make_view
from tests.robustness.wicked import KINDS, Studies
from tests.studies.frequencies.small_corpora import small_view
from tests.studies.search_instruction.test_page import revision

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    return write_text(tmp_path_factory.mktemp("page") / "report.html", render_html(make_view(hostile=True)))


@pytest.fixture(scope="module")
def continuations(written_runs, tmp_path_factory):
    folder = tmp_path_factory.mktemp("written")
    view = written_runs["rude"].view()
    model = {"generation": {"tokens_per_second": 812.4, "seconds_per_step": 0.02, "peak_memory_bytes": 2.5e9}}
    return {
        "report": write_text(folder / "report.html", render_html(replace(view, model=model))),
        "comparison": compare(*written_runs.values(), names=["a model with a long name", "b"]).write(folder)[
            "report"
        ],
    }


def opened(browser, report, width):
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.heard, page.asked = [], []
    page.on("console", lambda message: page.heard.append(message.text))
    page.on("pageerror", lambda error: page.heard.append(str(error)))
    page.on("dialog", lambda dialog: (page.heard.append(dialog.message), dialog.dismiss()))
    page.on("request", lambda request: page.asked.append(request.url))
    page.goto(report.as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    return page


@pytest.mark.parametrize("width", [400, 768, 1280])
def test_it_is_silent_offline_and_never_scrolls_sideways(chromium, report, width):
    page = opened(chromium, report, width)
    assert page.heard == []
    assert [url for url in page.asked if not url.startswith(("file:", "data:"))] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.close()


@pytest.mark.parametrize("width", [400, 1280])
def test_numbers_and_labels_are_not_cut(chromium, report, width):
    """Text cells hold their content, and drawings' tick labels stay on the page."""
    page = opened(chromium, report, width)
    cut = page.evaluate(
        """() => [...document.querySelectorAll('.forest th, .forest td:not(.plot), .chips li, .badge')]
             .filter(e => e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 1
                          && getComputedStyle(e).display !== 'inline')
             .map(e => e.textContent)"""
    )
    outside = page.evaluate(
        """() => [...document.querySelectorAll('svg.axis text')].map(e => e.getBoundingClientRect())
             .filter(r => r.left < 0 || r.right > innerWidth).length"""
    )
    assert cut == [] and outside == 0
    page.close()


@pytest.mark.parametrize("what", ["report", "comparison"])
@pytest.mark.parametrize("width", [390, 768, 1280])
def test_pages_of_continuations_are_silent_offline_and_never_scroll_sideways(
    chromium, continuations, what, width
):
    page = opened(chromium, continuations[what], width)
    assert page.heard == []
    assert [url for url in page.asked if not url.startswith(("file:", "data:"))] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    outside = page.evaluate(
        """() => [...document.querySelectorAll('svg.axis text, svg.chart text')].filter(text => {
             const box = text.getBoundingClientRect()
             return box.left < 0 || box.right > innerWidth
           }).map(text => text.textContent)"""
    )
    assert outside == []
    page.close()


@pytest.mark.parametrize("what", ["report", "comparison"])
def test_pages_of_continuations_fit_on_paper_and_keep_the_texts_folded(chromium, continuations, what):
    page = chromium.new_page(viewport={"width": 720, "height": 900})
    page.goto(continuations[what].as_uri())
    page.emulate_media(media="print")
    assert page.evaluate("document.documentElement.scrollWidth") <= 720
    assert not page.locator("details.examples").is_visible() or what == "comparison"
    page.close()


def test_print_unfolds_sections(chromium, report):
    page = chromium.new_page(viewport={"width": 720, "height": 900})
    page.goto(report.as_uri())
    fold = page.locator("details.axis").nth(3).locator("h4").first
    assert not fold.is_visible()
    page.emulate_media(media="print")
    assert fold.is_visible()
    assert not page.locator("nav").is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 720
    page.close()


@pytest.mark.parametrize("width", [390, 768, 1280])
def test_the_page_of_a_search_is_silent_offline_and_whole_in_print(chromium, tmp_path, width):
    page = opened(chromium, revision(folder=tmp_path).report(), width)
    assert page.heard == []
    assert [url for url in page.asked if not url.startswith(("file:", "data:"))] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = false)")
    fate = page.get_by_text("said before")
    assert not fate.is_visible()
    page.emulate_media(media="print")
    assert fate.is_visible()
    page.close()


LONG = (
    "people with a name that goes on and on and never seems to come to an end", "Unbreakable" * 12, "women", "men",
    "a|b", "<b>bold</b>", *(f"ordinary {number}" for number in range(25)),
)  # fmt: skip
OUTSIDE = """width => [...document.querySelectorAll('main *')].filter(e => {
    const box = e.getBoundingClientRect()
    for (let p = e.parentElement; p; p = p.parentElement) {
      const style = getComputedStyle(p)
      if (/auto|scroll/.test(style.overflowX) || style.clipPath !== 'none') return false
    }
    return box.width > 1 && getComputedStyle(e).clipPath === 'none' && (box.right > width + 1 || box.left < -1)
  }).map(e => e.localName + '.' + (e.className.baseVal ?? e.className) + ': ' + e.textContent.slice(0, 60))"""


@pytest.fixture(scope="module")
def every_kind(tmp_path_factory):
    return Studies(tmp_path_factory.mktemp("kinds"), LONG)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_no_page_of_any_kind_has_anything_off_screen_or_off_paper(chromium, every_kind, kind, monkeypatch):
    """At 400 and 1280 pixels and on paper: what is too wide scrolls in its own box or folds into rows."""
    monkeypatch.chdir(every_kind.folder)
    page_file = every_kind[kind].paths["report"].resolve()
    for width in (400, 1280):
        page = opened(chromium, page_file, width)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, f"{kind} at {width}"
        assert page.evaluate(OUTSIDE, width) == [], f"{kind} at {width}"
        page.close()
    page = chromium.new_page(viewport={"width": 703, "height": 900})  # A4 less 12 mm at each side
    page.goto(page_file.as_uri())
    page.emulate_media(media="print")
    assert page.evaluate("document.documentElement.scrollWidth") <= 703, f"{kind} in print"
    page.close()


def test_labels_of_occupations_lie_on_no_dot_and_on_no_other_label(chromium, tmp_path):
    rng = np.random.default_rng(3)
    names = [f"occupation {i}" for i in range(24)]
    shares = {name: rng.uniform(2, 98, 24) for name in ("share", "share_said")}
    drawn = occupations_svg(pl.DataFrame({"occupation": names, **shares}), "Figure 1")
    page_file = write_text(
        tmp_path / "f.html", plain_page("x", "y", [], figures=[("Figure 1", STYLE + drawn)])
    )
    for width in (400, 1280):
        page = opened(chromium, page_file, width)
        covered = page.evaluate(
            """() => {
                 const boxes = found => [...document.querySelectorAll(found)].map(e => e.getBoundingClientRect())
                 const names = boxes('svg text.name'), dots = boxes('svg circle')
                 const meet = (a, b) => a.left < b.right - 1 && b.left < a.right - 1
                   && a.top + 3 < b.bottom && b.top < a.bottom - 4
                 return [names.length, names.filter((a, i) => dots.some(b => meet(a, b))
                   || names.some((b, j) => i < j && meet(a, b))).length]
               }"""
        )
        assert covered[0] >= 4 and covered[1] == 0
        page.close()


BROKEN = """() => [...document.querySelectorAll('table:not(.facts-table) :is(td, th)')].flatMap(cell => {
    const found = []
    const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT)
    while (walker.nextNode()) {
      const node = walker.currentNode
      if (node.parentElement.closest('svg, .quiet')) continue
      for (const word of node.data.matchAll(/[-+−]?\\d[\\d.,]*/g)) {
        const range = document.createRange()
        range.setStart(node, word.index)
        range.setEnd(node, word.index + word[0].length)
        if (new Set([...range.getClientRects()].map(r => Math.round(r.top))).size > 1) found.push(word[0])
      }
    }
    return found
  })"""
WRAPPED = """() => [...document.querySelectorAll('.forest td.num, .forest td.num *')].filter(e => {
    const lines = new Set([...e.childNodes].filter(n => n.nodeType === 3 && n.data.trim()).flatMap(n => {
      const range = document.createRange()
      range.selectNodeContents(n)
      return [...range.getClientRects()].map(r => Math.round(r.top))
    }))
    return lines.size > 1
  }).map(e => e.textContent)"""
A4 = 718
"""Pixels between the margins of an A4 page as a browser prints it: 210 mm less 1 cm at each side."""


@pytest.mark.parametrize("what", ["audit", "report", "comparison"])
def test_on_a4_no_number_is_broken_and_a_small_audit_is_short(chromium, report, continuations, what):
    """Each number stands on one line, drawings leave the columns their room, and findings begin on the first page."""
    page = chromium.new_page(viewport={"width": A4, "height": 1046})
    page.goto((report if what == "audit" else continuations[what]).as_uri())
    page.emulate_media(media="print")
    assert page.evaluate(BROKEN) == []
    assert page.evaluate(WRAPPED) == []
    drawn = page.evaluate(
        "() => Math.max(0, ...[...document.querySelectorAll('.forest:not(.small) td.plot')].map(e => e.clientWidth))"
    )
    assert drawn <= 0.45 * A4
    assert page.evaluate("document.documentElement.scrollWidth") <= A4
    printed = page.pdf(format="A4", margin=dict.fromkeys(("top", "right", "bottom", "left"), "1cm"))
    pages = len(re.findall(rb"/Type\s*/Page\b", printed))
    assert 1 <= pages < (40 if what == "audit" else 15), (
        f"{pages} pages"
    )  # that audit has 13 axes and long texts
    page.close()


@pytest.mark.parametrize("width", [400, 1280])
def test_the_page_of_a_count_is_silent_offline_and_fits_whatever_its_texts_hold(chromium, tmp_path, width):
    counted = write_text(tmp_path / "report.html", render_count(small_view(hostile=True)))
    page = opened(chromium, counted, width)
    assert page.heard == []
    assert [url for url in page.asked if not url.startswith(("file:", "data:"))] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.close()
    page = chromium.new_page(viewport={"width": 720, "height": 900})
    page.goto(counted.as_uri())
    page.emulate_media(media="print")
    assert page.evaluate("document.documentElement.scrollWidth") <= 720
    assert page.locator("details.axis").nth(2).locator("table").is_visible()
    page.close()
