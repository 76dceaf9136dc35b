"""The tables of the study of RedditBias, and its page."""

from collections.abc import Iterator
from typing import Any

from evenhand.reports import wording
from evenhand.studies.plain_page import PlainTable, plain_page
from evenhand.studies.redditbias.conduct import RedditBiasStudy
from evenhand.studies.redditbias.options import BASE, OWN
from evenhand.studies.redditbias.wording import (
    CONTROLS,
    LABELS,
    LEGEND,
    NO_CONTROL,
    ONE_TRAINING,
    PLACES,
    SHORT,
    describe_unlearned,
    format_change,
    sentences,
    summary_cell,
    title_bias,
)

PAPER = (
    "Barikeri, Lauscher, Vulić, Glavaš 2021: RedditBias: A Real-World Resource for Bias Evaluation and Debiasing of "
    "Conversational Language Models. ACL 2021."
)


def redditbias_page(study: RedditBiasStudy) -> str:
    """Return the whole study as one HTML document that needs no network; every text is escaped."""
    tables = [*summary_tables(study), *detail_tables(study)]
    options = study.config.model_dump(mode="json")
    facts = [[name, "none" if value is None else str(value)] for name, value in options.items()]
    tables.append(PlainTable("Options", (("option", "left"), ("value", "left")), facts))
    lines = [f"{mark} {sentence}" for mark, sentence in sentences(study)]
    notes = [*write_notes(study), f"Tables as in: {PAPER}"]
    title = f"RedditBias: {study.config.model}"
    return plain_page("RedditBias study", title, tables, lines=lines, notes=notes)


def summary_tables(study: RedditBiasStudy) -> Iterator[PlainTable]:
    """Yield one table per bias, as in the paper: one row per model, one column per measure."""
    for bias in study.config.bias:
        rows = study.cells.filter(bias=bias).to_dicts()
        cells = {(row["model"], row["measure"]): row for row in rows}
        measures = [name for name in SHORT if any(row["measure"] == name for row in rows)]
        models = dict.fromkeys(row["model"] for row in rows)
        yield PlainTable(
            title_bias(bias).capitalize(),
            (("model", "left"), *((SHORT[name], "right") for name in measures)),
            [[model, *(summary_cell(cells.get((model, name))) for name in measures)] for model in models],
        )


def detail_tables(study: RedditBiasStudy) -> Iterator[PlainTable]:
    """Yield one table per bias with every number: CI, null, and difference from the original model."""
    heads = ("est.", "95 %", "null", "p", "verdict", "change", "95 %", "q", "verdict", "n")
    sizes = ("size", "95 %", "q", "verdict", "beyond", "95 %", "q", "verdict")
    for bias in study.config.bias:
        rows = study.cells.filter(bias=bias).sort("measure", maintain_order=True).to_dicts()
        order = {name: place for place, name in enumerate(LABELS)}
        rows.sort(key=lambda row: order.get(row["measure"], len(order)))
        yield PlainTable(
            f"{title_bias(bias).capitalize()}: every number",
            (("measure", "left"), ("model", "left"), *((head, "right") for head in heads)),
            [_details(row) for row in rows],
        )
        held = [row for row in rows if row["size"] is not None]
        yield PlainTable(
            f"{title_bias(bias).capitalize()}: distance from no bias relative to the original model (size) and to its "
            "control (beyond); below 0 is less bias",
            (
                ("measure", "left"),
                ("model", "left"),
                ("control", "left"),
                *((head, "right") for head in sizes),
            ),
            [_farther(row) for row in held],
        )


def write_notes(study: RedditBiasStudy) -> list[str]:
    """Return cautions for readers, and sentences on measures that are missing, with the reasons."""
    controlled = CONTROLS if study.config.control else NO_CONTROL
    notes = [
        LEGEND,
        controlled,
        ONE_TRAINING,
        *filter(None, [describe_unlearned(study)]),
        *study.not_measured,
        *study.notes,
    ]
    notes.append(f"Perplexity is of {study.facts['lines']}.")
    if any(bias.startswith(OWN) for bias in study.config.bias):
        notes.append(
            "evenhand's sentences have no published t. Their spread is the standard deviation, between descriptors of "
            "the axis, of the shift from kind to hostile sentences. `change` is the spread of the changes; size and "
            "beyond give how much larger the spread itself is."
        )
    if study.config.as_published:
        notes.append("Methods and tasks have the quirks of the published programs.")
    return notes


def _farther(row: dict[str, Any]) -> list[str]:
    places = PLACES.get(row["measure"])
    told = [LABELS[row["measure"]], row["model"], row["control"] or "none"]
    for what in ("size", "beyond"):
        there = row[what] is not None
        told += [
            wording.signed(row[what], places) if there else "",
            wording.interval(row[f"{what}_low"], row[f"{what}_high"], places)
            if there and row[f"{what}_low"] is not None
            else "",
            wording.probability(row[f"{what}_q"]) if row[f"{what}_q"] is not None else "",
            row[f"{what}_verdict"] or "",
        ]
    return told


def _details(row: dict[str, Any]) -> list[str]:
    places = PLACES.get(row["measure"])
    changed = row["model"] != BASE and row["change"] is not None
    ends = [format_change({**row, "change": row[f"change_{end}"]}) for end in ("low", "high")]
    return [
        LABELS.get(row["measure"], wording.label(row["measure"])),
        row["model"],
        wording.number(row["estimate"], places),
        wording.interval(row["low"], row["high"], places),
        "" if row["null"] is None else wording.number(row["null"], places),
        "" if row["p"] is None else wording.probability(row["p"]),
        row["verdict"] or "",
        format_change(row) if changed else "",
        " to ".join(ends) if changed else "",
        wording.probability(row["change_q"]) if changed and row["change_q"] is not None else "",
        row["change_verdict"] or "",
        f"{row['n']:,}" if row["n"] is not None else "",
    ]
