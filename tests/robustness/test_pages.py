"""Texts that would rather be run, through every page, table and file: each is shown as a text and nothing happens.

In a browser the pages are opened once as they are and once without their content security policy, so that it is the
escaping that is tested and not only the policy behind it. The whole corpus is marked slow; some of it is in the default
run.
"""

import csv
import io
import json
import re
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from rich.console import Console

from evenhand.schema import write_json, write_table
from tests.robustness.payloads import HOST, MARKDOWN, MARKUP, PAYLOADS, STRUCK, TERMINAL, UNICODE
from tests.robustness.wicked import KINDS, Studies

AT_ONCE = 31
"""Payloads of a study: each is a group, and groups are compared in pairs."""
SLICES = [PAYLOADS[start : start + AT_ONCE] for start in range(0, len(PAYLOADS), AT_ONCE)]
SOME = (MARKUP[0], MARKUP[11], TERMINAL[0], TERMINAL[5], TERMINAL[12], TERMINAL[19], UNICODE[0], MARKDOWN[0])
SGR = re.compile(r"\x1b\[[0-9;]*m")
WHERE_ALL_STAND = {"trigger", "revision"}
"""Pages that show every text; the others have tables of the largest, the most harmed or the most changed."""
JOINERS = "\u200c\u200d"

EXECUTES = """() => ({
  struck: window.__struck === undefined ? 0 : 1,
  scripts: document.querySelectorAll('script').length,
  strange: [...document.querySelectorAll('*')].map(e => e.localName).filter(name => [
    'img', 'iframe', 'object', 'embed', 'base', 'form', 'input', 'textarea', 'video', 'audio', 'marquee', 'math',
    'template', 'noscript', 'xmp', 'plaintext', 'use', 'image', 'foreignObject', 'animate', 'source'].includes(name)),
  listening: [...document.querySelectorAll('*')].flatMap(e => [...e.attributes]).map(a => a.name)
    .filter(name => name.startsWith('on') || name === 'autofocus' || name === 'srcdoc'),
  leading: [...document.querySelectorAll('[href], [src], [xlink\\\\:href]')]
    .map(e => e.getAttribute('href') ?? e.getAttribute('src') ?? '')
    .filter(to => !/^(#|data:,$|data:image|(before\\/|after\\/|compare|report)[\\w.\\/]*$)/.test(to)),
  metas: [...document.querySelectorAll('meta[http-equiv]')].map(e => e.httpEquiv),
  text: document.documentElement.textContent + ' ' + [...document.querySelectorAll('[aria-label], [title]')]
    .map(e => (e.getAttribute('aria-label') ?? '') + ' ' + (e.getAttribute('title') ?? '')).join(' '),
})"""


def on_one_line(text: str) -> str:
    return " ".join(text.split())


def tamed(text: str) -> str:
    """What of a text may be shown: a sign in the place of each control character, on one line."""
    kept = (
        char
        if char in JOINERS or (char.isspace() and unicodedata.category(char) == "Zs") or char in "\n\r\t"
        else " "
        if char.isspace()
        else "\ufffd"
        if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
        else char
        for char in text
    )
    return on_one_line("".join(kept))


@pytest.fixture
def quiet_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("EVENHAND_DATA", str(tmp_path / "cache"))
    monkeypatch.setenv("EVENHAND_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def opened(chromium: Any, page_file: Path, *, policy: bool) -> tuple[dict[str, Any], list[str], list[str]]:
    """What a page holds once it is open and everything in it is unfolded, what was heard and asked meanwhile."""
    context = chromium.new_context(bypass_csp=not policy)
    page = context.new_page()
    heard: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: heard.append(message.text))
    page.on("pageerror", lambda error: heard.append(str(error)))
    page.on("dialog", lambda dialog: (heard.append(dialog.message), dialog.dismiss()))
    page.on("request", lambda request: asked.append(request.url))
    page.on("popup", lambda other: heard.append(other.url))
    page.goto(page_file.resolve().as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    page.mouse.move(300, 300)
    page.keyboard.press("Tab")
    found: dict[str, Any] = page.evaluate(EXECUTES)
    context.close()
    return found, heard, asked


def check_page(chromium: Any, page_file: Path, texts: Sequence[str], *, all_shown: bool) -> int:
    """Nothing runs, nothing is asked, and payloads stand there as texts; returns how many do."""
    for policy in (True, False):
        found, heard, asked = opened(chromium, page_file, policy=policy)
        assert heard == [] and found["struck"] == 0
        assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
        assert found["scripts"] == 1 and found["metas"] == ["Content-Security-Policy"]
        assert found["strange"] == [] and found["listening"] == [] and found["leading"] == []
    told = on_one_line(found["text"])
    assert not {char for char in told if unicodedata.category(char) in ("Cc", "Cf") and char not in JOINERS}
    absent = [text for text in texts if tamed(text) not in told]
    assert not (all_shown and absent), absent
    return len(texts) - len(absent)


def check_terminal(result: Any) -> None:
    """Plain output has no control character but the line's end; on a terminal only colours are added."""
    for terminal in (False, True):
        for width in (40, 100):
            out = io.StringIO()
            colours = "truecolor" if terminal else None
            console = Console(file=out, width=width, force_terminal=terminal, color_system=colours)
            result.render(console, {"report": result.paths["report"]})
            text = SGR.sub("", out.getvalue()) if terminal else out.getvalue()
            assert text.strip()
            bad = {char for char in text if char != "\n" and unicodedata.category(char) in ("Cc", "Cf", "Cs")}
            assert not bad - set(JOINERS), bad
            assert "\u2028" not in text and "\u2029" not in text


def check_files(result: Any) -> None:
    """JSON can be looked at in a terminal and is read back as it was; tables come back from CSV as they were."""
    for path in result.paths["numbers"].parent.rglob("*.json"):
        raw = path.read_bytes().decode()
        hidden = {char for char in raw if char != "\n" and unicodedata.category(char) in ("Cc", "Cf")}
        assert not hidden - set(JOINERS), path
        assert isinstance(json.loads(raw), dict)
    assert json.loads(result.paths["numbers"].read_text()) == result.to_dict()
    for table in result.tables().values():
        texts = table.select(pl.col(pl.String))
        if texts.width and texts.height:
            rows = list(csv.reader(io.StringIO(texts.write_csv(), newline="")))
            assert rows[0] == texts.columns
            assert [row or [""] for row in rows[1:]] == [
                [value or "" for value in row] for row in texts.rows()
            ]


def check_everything(
    chromium: Any, folder: Path, texts: Sequence[str], kinds: Sequence[str]
) -> dict[str, int]:
    studies, shown = Studies(folder, texts), {}
    for kind in kinds:
        result = studies[kind]
        every = kind in WHERE_ALL_STAND
        shown[kind] = check_page(chromium, result.paths["report"], texts, all_shown=every)
        assert shown[kind] > 0, f"no payload came to the page of {kind}"
        check_terminal(result)
        check_files(result)
    return shown


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.parametrize("number", range(len(SLICES)))
def test_nothing_runs_in_any_page_and_every_payload_is_a_text(
    chromium: Any, quiet_place: Path, number: int
) -> None:
    assert len(PAYLOADS) >= 100 and len(set(PAYLOADS)) == len(PAYLOADS)
    shown = check_everything(chromium, quiet_place, SLICES[number], KINDS)
    print(f"\npayloads shown, of {len(SLICES[number])}: {shown}")


@pytest.mark.browser
def test_some_payloads_through_some_pages(chromium: Any, quiet_place: Path) -> None:
    check_everything(chromium, quiet_place, SOME, ("revision", "trigger"))


def test_the_check_itself_would_see_what_runs(chromium: Any, tmp_path: Path) -> None:
    """A page that takes texts for markup is found out, with and without a policy."""
    for number, text in enumerate(
        (MARKUP[0], MARKUP[12], f"<svg onload={STRUCK}>", f"<a href='{HOST}'>x</a>")
    ):
        page = tmp_path / f"{number}.html"
        page.write_text(
            "<!doctype html><meta http-equiv='Content-Security-Policy' content=\"default-src 'none'\">"
            f"<script>1</script><p>{text}"
        )
        with pytest.raises(AssertionError):
            check_page(chromium, page, [text], all_shown=True)


@pytest.mark.parametrize("text", PAYLOADS, ids=range(len(PAYLOADS)))
def test_files_give_back_what_they_were_given(tmp_path: Path, text: str) -> None:
    frame = pl.DataFrame({"text": [text, "next"], text: ["a", text]})
    write_table(tmp_path / "t.csv", frame)
    write_table(tmp_path / "t.jsonl", frame)
    write_table(tmp_path / "t.parquet", frame)
    rows = list(csv.reader(io.StringIO((tmp_path / "t.csv").read_bytes().decode(), newline="")))
    assert rows == [["text", text], [text, "a"], ["next", text]]
    lines = (tmp_path / "t.jsonl").read_bytes().decode().split("\n")
    assert [json.loads(line) for line in lines[:2]] == frame.to_dicts()
    assert pl.read_parquet(tmp_path / "t.parquet").equals(frame)
    raw = write_json(tmp_path / "t.json", {text: [text]}).read_bytes().decode()
    assert json.loads(raw) == {text: [text]}
    hidden = {char for char in raw if char != "\n" and unicodedata.category(char) in ("Cc", "Cf", "Zl", "Zp")}
    assert not hidden - set(JOINERS)
