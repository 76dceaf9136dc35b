"""Page of a found trigger: its effect, the other candidates, and the course of the search."""

from collections.abc import Mapping, Sequence
from typing import Any

from evenhand.mitigations.triggers import TriggerFile
from evenhand.reports import wording
from evenhand.studies.plain_page import PlainTable, plain_page
from evenhand.studies.search_trigger.wording import sentences

CHANGE = ("group", "before", "after", "estimate", "low", "high", "n_prompts")
CHOICE = ("text", "rate", "perplexity", "passes")
HISTORY = ("restart", "sweep", "loss", "text")


def trigger_page(trigger: TriggerFile) -> str:
    """Return the search as one HTML document; every text is escaped."""
    choice = [{**row, "text": row["text"] or "no trigger"} for row in trigger.choice.get("rows", ())]
    return plain_page(
        "trigger search",
        f"{trigger.text!r} for {trigger.model.get('name', 'a model')}",
        [
            _table("Share of negative continuations on test prompts", CHANGE,
                   trigger.effect.get("change", ())),
            _table("Candidates, on validation prompts not used in the search", CHOICE, choice),
            _table("Loss after each sweep of the search", HISTORY, trigger.history),
        ],
        lines=sentences(trigger),
    )  # fmt: skip


def _table(title: str, columns: tuple[str, ...], rows: Sequence[Mapping[str, Any]]) -> PlainTable:
    texts = ("group", "text")
    heads = tuple((wording.label(name), "left" if name in texts else "right") for name in columns)
    return PlainTable(title, heads, [[_cell(row.get(name)) for name in columns] for row in rows])


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return wording.number(value)
    return "" if value is None else str(value)
