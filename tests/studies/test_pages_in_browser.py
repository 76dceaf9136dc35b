"""The pages in a real browser: silent, offline, no sideways scrolling, whole in print."""

from dataclasses import replace
from pathlib import Path

import pytest

from evenhand.schema import write_text
from evenhand.studies.audit.page import render_html
from evenhand.studies.compare.result import compare
from tests.helpers.report_factory import make_view
from tests.studies.search_instruction.test_page import revision

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
]

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def chromium():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if not CHROMIUM.exists():
        pytest.skip(f"no browser at {CHROMIUM}")
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        yield browser
        browser.close()


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
