"""Write the outcome of a gate in Markdown, for the summary of a CI job."""

import os
from pathlib import Path

from evenhand.reports.wording import visible
from evenhand.schema import WriteError, write_text
from evenhand.studies.gate.conduct import FAILED, PASSED, UNSEEN, Case
from evenhand.studies.gate.result import GateOutcome

JOB_SUMMARY = "GITHUB_STEP_SUMMARY"
"""Environment variable of GitHub Actions with the path of the file to which a step appends its summary."""
SYMBOLS = {FAILED: "❌", UNSEEN: "⚠️", PASSED: "✅"}
OF_HTML = {"<": "&lt;", ">": "&gt;", "&": "&amp;", "@": "&#64;"}
ESCAPED = str.maketrans({one: f"\\{one}" for one in "\\`*_[]|#~"} | OF_HTML)
MOST_ROWS = 200
"""Maximum rows of a table; GitHub does not show summaries of more than a megabyte."""


def markdown(outcome: GateOutcome) -> str:
    """Return a heading, the outcome in one line, and a table of all cases, failures first; every text is escaped."""
    word = "passed" if outcome.passed else "failed"
    order = (FAILED, UNSEEN, PASSED)
    cases = sorted(outcome.cases, key=lambda case: (not case.ends, order.index(case.status)))
    lines = [
        f"## {SYMBOLS[PASSED if outcome.passed else FAILED]} evenhand: gate {word}",
        "",
        f"{_escape_cell(outcome.lines[0].removesuffix('.'))}.",
        "",
        "| | condition | where | result | MDE |",
        "|---|---|---|---|---|",
        *(_row(case) for case in cases[:MOST_ROWS]),
    ]
    if len(cases) > MOST_ROWS:
        lines += ["", f"{len(cases) - MOST_ROWS:,} more rows are left out."]
    lines += [f"\nNote: {_escape_cell(note)}." for note in outcome.notes]
    return "\n".join(lines) + "\n"


def write_summary(outcome: GateOutcome, path: Path | str) -> Path:
    """Write the summary to a file, or append it to $GITHUB_STEP_SUMMARY; returns the path. Raises WriteError."""
    path = Path(path)
    job = os.environ.get(JOB_SUMMARY)
    if not job or path.absolute() != Path(job).absolute():
        return write_text(path, markdown(outcome))
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(markdown(outcome))
    except OSError as error:
        raise WriteError(
            f"Cannot write {path}: {error.strerror or error}.",
            "Choose a file in a folder that you can write to.",
        ) from error
    return path


def _row(case: Case) -> str:
    reach = "" if case.smallest is None or case.unit is None else f"{case.smallest:.3g} {case.unit}"
    told = case.reason or ("condition not met" if case.status == PASSED else "")
    cells = (f"{SYMBOLS[case.status]} {case.status}", case.condition, case.place, told, reach)
    return f"| {' | '.join(_escape_cell(cell) for cell in cells)} |"


def _escape_cell(text: str) -> str:
    return visible(" ".join(text.split())).translate(ESCAPED)
