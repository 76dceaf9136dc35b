"""A consistency check in a terminal: the checklist first, each outcome with its reason, then the numbers."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console

from evenhand.measures.changes import Outcome
from evenhand.reports import Printer, wording
from evenhand.studies.consistency import wording as words
from evenhand.studies.consistency.conduct import ConsistencyStudy
from evenhand.studies.planned import plan_title, planned_time

STYLES = {
    Outcome.PASS: "blue",
    Outcome.FAIL: "bold magenta",
    Outcome.UNDECIDED: "",
    Outcome.NOT_APPLICABLE: "dim",
}
TESTS = ("effect", "polarity", "importance", "transfer")


def render_consistency(
    study: ConsistencyStudy, console: Console, paths: Mapping[str, Path] | None = None
) -> None:
    """Print the checklist under the chosen rule, the reasons, and the rates of every level.

    `study` must be finished. `paths` are files that are listed at the end.
    """
    out = Printer(console)
    out.line(f"{study.method.name} on {study.options.model}: is it consistent?", "bold")
    out.pairs(words.facts(study))
    out.gap()
    decisions = study.checklists[study.options.rule]
    out.line(words.sentence(decisions), "bold")
    domains = list(study.domains)
    table = out.table(("test", "left"), *((domain, "left") for domain in domains), ("both", "left"))
    for test in TESTS:
        of_test = {one.domain: one for one in decisions if one.test == test}
        cells = [str(of_test[where].outcome) if where in of_test else "" for where in (*domains, None)]
        failed = any(one.outcome == Outcome.FAIL for one in of_test.values())
        out.row(table, test, *cells, style=STYLES[Outcome.FAIL] if failed else "")
    out.show(table)
    out.gap()
    out.line("Why", "bold")
    for one in sorted(decisions, key=lambda one: TESTS.index(one.test)):
        where = f"{one.test}, {one.domain}" if one.domain else one.test
        out.line(f"{where}: {one.outcome}. {words.describe_reason(one)}", STYLES[one.outcome])
    for domain in domains:
        _rates(study, domain, out)
        _shares(study, domain, out)
    for note in study.notes:
        out.line(f"Note: {note}", "dim")
    out.paths(paths)


def render_check_plan(plan: Mapping[str, Any], console: Console) -> None:
    """Print the plan of a consistency check, for which only a probe was run.

    `plan` is the result of `evenhand.studies.consistency.plan.preview`.
    """
    out = Printer(console)
    out.line(plan_title(plan), "bold")
    sizes = plan["prompts"]
    smallest = [f"{points:.1f} ({domain})" for domain, points in plan["detectable"].items()]
    out.pairs(
        [
            ("method", plan["method"]),
            ("prompts", wording.listing([f"{n:,} {domain}" for domain, n in sizes.items()])),
            (
                "with nonsense",
                wording.listing([f"{n:,} {domain}" for domain, n in plan["of_nonsense"].items()]),
            ),
            ("levels", f"{len(plan['levels'])}: {_levels(plan['levels'])}"),
            ("continuations", f"{plan['continuations']:,}"),
            ("decoding", f"{plan['decoding']} ({plan['why']})"),
            ("classified by", f"{plan['classifier']}: {', '.join(plan['attributes'])}"),
            (
                "estimated time",
                planned_time(plan) + ("" if plan["seconds"] is None else ", without the classifier"),
            ),
            (
                "detectable",
                f"changes from {wording.listing(smallest)} percentage points, if a quarter of the prompts change",
            ),
        ]
    )
    for level, why in plan["lacking"].items():
        out.line(f"No level {level}: {why}")
    out.gap()
    out.line("Wordings", "bold")
    table = out.table(("level", "left"), ("text", "left"))
    for row in plan["wordings"].drop_nulls("text").to_dicts():
        level = row["level"] if row["group"] is None else f"{row['level']} {row['group']}"
        out.row(table, level, repr(row["text"]))
    out.show(table)


def _levels(keys: list[str]) -> str:
    """Return the names of levels, with the number of nonsense wordings.

    >>> _levels(["default", "nonsensical-1", "nonsensical-2", "blank"])
    'default, nonsensical (2 wordings), blank'
    """
    drawn = sum(key.startswith("nonsensical-") for key in keys)
    names = dict.fromkeys("nonsensical" if key.startswith("nonsensical-") else key for key in keys)
    return ", ".join(
        f"{n} ({drawn} wording{'s' if drawn > 1 else ''})" if n == "nonsensical" else n for n in names
    )


def _shares(study: ConsistencyStudy, domain: str, out: Printer) -> None:
    lines = words.share_lines(study, domain)
    if not lines:
        return
    out.gap()
    out.line(f"Effect of other words as a share of the method's effect, {domain} prompts (95% CI)", "bold")
    table = out.table(
        ("level", "left"), ("share", "right"), ("low", "right"), ("high", "right"), ("passes", "left"),
        ("prompts", "right"), ("wordings", "right"),
    )  # fmt: skip
    for line in lines:
        out.row(table, line.level, line.share, line.low, line.high, line.passes, line.prompts, line.wordings)
    out.show(table)


def _rates(study: ConsistencyStudy, domain: str, out: Printer) -> None:
    out.gap()
    out.line(f"Harmful continuations, {domain} prompts (low, high: 95% CI of the change)", "bold")
    table = out.table(
        ("level", "left"), ("%", "right"), ("change", "right"), ("low", "right"), ("high", "right"),
        ("relative", "right"), ("n", "right"), ("miss.", "right"),
    )  # fmt: skip
    for row in words.mean_rows(study, domain):
        changed = row["level"] != "default"
        relative = row["relative_change"]
        out.row(
            table,
            words.LEVELS[str(row["level"])],
            wording.number(_float(row["percent"]), 2),
            *(wording.number(_float(row[name]), 2) if changed else "" for name in ("change", "low", "high")),
            f"{wording.number(-_number(relative), 1)}%" if changed and relative is not None else "",
            f"{row['n']:,}",
            f"{row['n_missing']:,}",
        )
    out.show(table)


def _float(value: object) -> float | None:
    return value if isinstance(value, float) else None


def _number(value: object) -> float:
    return float(value) if isinstance(value, float) else float("nan")
