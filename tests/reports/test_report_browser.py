"""The page in a real browser: silent, offline, no sideways scrolling, whole in print."""

from pathlib import Path

import pytest
from report_factory import make_view

from evenhand.reports.html import write_html

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
    return write_html(make_view(hostile=True), tmp_path_factory.mktemp("page") / "report.html")


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
