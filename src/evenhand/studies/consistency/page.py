"""Render consistency.html: the checklist with reasons, all numbers, the wordings, and each prompt at every level."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.measures.changes import Decision, Outcome
from evenhand.reports import Forest, ForestRow, Scale, axis_svg, interval_svg, rendered, scale_over, wording
from evenhand.runs import continuations
from evenhand.schema import VERSION
from evenhand.studies.consistency import wording as words
from evenhand.studies.consistency.conduct import ConsistencyStudy
from evenhand.studies.provenance import citations, provenance


def side_by_side(study: ConsistencyStudy, domain: str) -> pl.DataFrame:
    """Return the continuation of each prompt at every level, with its harm.

    The columns are prompt_id, text and, for the key of each level, `<key>` (the continuation) and `<key> score` (the
    largest score of the attributes).
    """
    frame: pl.DataFrame | None = None
    for key, directory in study.runs(domain).items():
        level = next(level for level in study.levels.all if level.key == key)
        written = continuations(directory, domain, ["prompt_id", "text"])
        mine = study.scores.filter(
            (pl.col("domain") == domain)
            & (pl.col("level") == level.name)
            & pl.col("group").eq_missing(pl.lit(level.group, pl.Int64))
        )
        score = mine.select("prompt_id", pl.max_horizontal(study.attributes.names).alias(f"{key} score"))
        both = written.select("prompt_id", "text", pl.col("continuation").alias(key)).join(
            score, on="prompt_id", how="left", maintain_order="left"
        )
        frame = (
            both
            if frame is None
            else frame.join(both.drop("text"), on="prompt_id", how="left", maintain_order="left")
        )
    assert frame is not None  # a study has at least the level default
    return frame


EXAMPLES = 6
CUT = 160
"""Maximum number of characters of a continuation in the examples."""
GRAVITY = (Outcome.FAIL, Outcome.UNDECIDED, Outcome.NOT_APPLICABLE, Outcome.PASS)
"""Outcomes in order of precedence: the first that occurs in a domain determines the colour of a test."""
CITED = (
    "the protocol",
    "Morabito, Kabbara and Emami 2023, Debiasing should be Good and Bad: Measuring the Consistency of Debiasing "
    "Techniques in Language Models, Findings of ACL 2023.",
    "",
)


@dataclass(frozen=True)
class CheckedTest:
    """One test: its question and its result in each domain."""

    name: str
    question: str
    kind: str
    outcomes: list[tuple[str, str, str, str, str]]
    """One entry per domain: (domain, outcome, CSS class, symbol, reason)."""


@dataclass(frozen=True)
class DomainSection:
    """All numbers of one domain."""

    name: str
    anchor: str
    prompts: str
    forest: Forest
    attributes: list[str]
    published: list[tuple[str, list[str]]]
    """Rows as in the paper's tables: the level, and its cells (one per attribute, then the mean)."""
    exact: list[dict[str, Any]]
    shares: Forest | None
    """Forest plot of the effect of the other wordings, as shares of the effect of the original wording."""
    nonsense: list[tuple[str, str, str, str, str]]
    """One entry per nonsense wording: (number, wording, percentage harmful, change, CI)."""
    examples: list[tuple[str, list[tuple[str, str, str]]]]
    """One entry per prompt: (prompt, [(level, continuation, score)])."""


def render_consistency_page(study: ConsistencyStudy) -> str:
    """Return the check as one HTML document that needs no network; every text is escaped.

    A content security policy forbids all requests. `study` must be finished; its runs are read for the examples.
    """
    decisions = study.checklists[study.options.rule]
    cards = [study.method.card, *(prompts.card for prompts in study.domains.values())]
    return rendered(
        Path(__file__).with_name("consistency.html.j2"),
        study=study,
        facts=words.facts(study),
        sentence=_keep_units_together(words.sentence(decisions)),
        effects=[_outcome(one) for one in decisions if one.test == "effect"],
        boxes=[_box(test, decisions) for test in ("polarity", "importance", "transfer")],
        rules=words.RULES,
        by_rule=_by_rule(study),
        domains=[_domain(study, domain, i) for i, domain in enumerate(study.domains)],
        wordings=study.levels.wordings().to_dicts(),
        card=study.method.card,
        citations=citations([CITED, *((card.name, card.citation, card.licence) for card in cards)]),
        provenance=provenance(_blocks(study)),
    )


def _outcome(one: Decision) -> tuple[str, str, str, str, str]:
    where = f"{one.domain} prompts" if one.domain else "both domains"
    return (
        where,
        str(one.outcome),
        words.KINDS[one.outcome],
        words.SYMBOLS[one.outcome],
        _keep_units_together(words.describe_reason(one)),
    )


def _keep_units_together(text: str) -> str:
    """Return the text with numbers and their percent signs on one line."""
    return text.replace(" %", "\u00a0%")


def _box(test: str, decisions: list[Decision]) -> CheckedTest:
    mine = [one for one in decisions if one.test == test]
    worst = min(mine, key=lambda one: GRAVITY.index(one.outcome))
    return CheckedTest(
        test, words.QUESTIONS[test], words.KINDS[worst.outcome], [_outcome(one) for one in mine]
    )


def _by_rule(study: ConsistencyStudy) -> list[tuple[str, list[tuple[str, str, str]]]]:
    """Return a table of outcomes: (test and domain, [(outcome, CSS class, symbol) for each rule])."""
    lines = []
    for place, one in enumerate(study.checklists["tested"]):
        name = f"{one.test}, {one.domain}" if one.domain else one.test
        outcomes = [made[place].outcome for made in study.checklists.values()]
        lines.append((name, [(str(o), words.KINDS[o], words.SYMBOLS[o]) for o in outcomes]))
    return lines


def _domain(study: ConsistencyStudy, domain: str, number: int) -> DomainSection:
    table = study.numbers.table.filter(pl.col("domain") == domain)
    means = words.mean_rows(study, domain)
    scale = scale_over([row[c] for row in means[1:] for c in ("low", "high")], include=[0.0])  # type: ignore[misc]
    prompts = study.domains[domain]
    single = len(study.attributes.names) == 1
    return DomainSection(
        name=domain,
        anchor=f"d{number}",
        prompts=f"{len(prompts):,} prompts were tested. Source: {prompts.card.summary}.",
        forest=Forest(
            tuple(_level_row(row, scale) for row in means),
            axis_svg(scale),
            unit="points",
            heads=("harmful", "relative"),
        ),
        attributes=[wording.label(name) for name in study.attributes.names] + ([] if single else ["mean"]),
        published=[_make_published_row(table, str(row["level"]), single) for row in means],
        exact=table.filter(pl.col("attribute").is_not_null() & (pl.col("level") != "default")).to_dicts(),
        shares=_shares(study, domain),
        nonsense=_nonsense(study, domain),
        examples=_examples(study, domain),
    )


def _level_row(row: dict[str, Any], scale: Scale) -> ForestRow:
    default, label = row["level"] == "default", words.LEVELS[row["level"]]
    percent = f"{wording.number(row['percent'], 2)} %"
    count = f"{row['n']:,}" + (f" ({row['n_missing']:,} missing)" if row["n_missing"] else "")
    if default:
        svg = interval_svg(scale, None, None, None, described=f"{label}: {percent}", null=0.0)
        return ForestRow(label, svg, "", n=count, cells=(percent, ""))
    interval = f"{wording.number(row['low'], 2)} to {wording.number(row['high'], 2)}"
    decided = row["low"] is not None and (row["high"] < 0 or row["low"] > 0)
    svg = interval_svg(
        scale,
        row["change"],
        row["low"],
        row["high"],
        described=f"{label}: {percent}, change {interval} points",
        null=0.0,
        kind="plain" if not decided else "lower" if row["high"] < 0 else "higher",
        filled=decided,
    )
    relative = row["relative_change"]
    lowered = "" if relative is None else f"{wording.number(-relative, 1)} %"
    return ForestRow(
        label, svg, wording.number(row["change"], 2), interval, n=count, cells=(percent, lowered)
    )


def _shares(study: ConsistencyStudy, domain: str) -> Forest | None:
    lines = words.share_lines(study, domain)
    if not lines:
        return None
    drawn = [value for line in lines for value in line.values if value is not None]
    scale = scale_over(drawn, include=[0.0, 100.0])
    rows = []
    for line in lines:
        interval = (
            f"{line.low.removesuffix(' %')} to {line.high}"
            if line.values[1] is not None
            else "too small to divide by"
        )
        svg = interval_svg(
            scale,
            *line.values,
            described=f"{line.level}: {line.share} of the effect, {interval}",
            null=0.0,
            kind="plain",
        )
        rows.append(
            ForestRow(
                line.level, svg, line.share, interval, n=line.prompts, cells=(line.passes, line.wordings)
            )
        )
    return Forest(tuple(rows), axis_svg(scale), unit="% of the effect", heads=("passes", "wordings"))


def _make_published_row(table: pl.DataFrame, level: str, single: bool) -> tuple[str, list[str]]:
    rows = table.filter(pl.col("level") == level).to_dicts()
    if single:
        rows = [row for row in rows if row["attribute"] is not None]
    return words.LEVELS[level], [words.published_cell(row) for row in rows]


def _nonsense(study: ConsistencyStudy, domain: str) -> list[tuple[str, str, str, str, str]]:
    if study.nonsense.is_empty():
        return []
    texts = {level.group: level.texts or () for level in study.levels.named("nonsensical")}
    rows = study.nonsense.filter((pl.col("domain") == domain) & pl.col("attribute").is_null()).to_dicts()
    return [
        (
            str(row["group"]),
            " · ".join(texts[row["group"]]),
            f"{wording.number(row['percent'], 2)} %",
            wording.number(row["change"], 2),
            f"{wording.number(row['low'], 2)} to {wording.number(row['high'], 2)}",
        )
        for row in rows
    ]


def _examples(study: ConsistencyStudy, domain: str) -> list[tuple[str, list[tuple[str, str, str]]]]:
    """Return example prompts with their continuations at every level: (prompt, [(level, continuation, score)]).

    Every n-th prompt is an example, so the selection does not depend on the results.
    """
    asked = study.of_nonsense[domain].frame["prompt_id"].implode()
    frame = side_by_side(study, domain).filter(pl.col("prompt_id").is_in(asked))
    examples = frame.gather_every(max(frame.height // EXAMPLES, 1)).head(EXAMPLES)
    shown = [level for level in study.levels.all if level.group in (None, 1)]
    return [
        (
            _shorten_continuation(row["text"]),
            [
                (
                    words.LEVELS[level.name] if level.group is None else f"nonsensical {level.group}",
                    wording.ABSENT if row[level.key] is None else _shorten_continuation(row[level.key]),
                    wording.number(row[f"{level.key} score"], 2),
                )
                for level in shown
            ],
        )
        for row in examples.to_dicts()
    ]


def _shorten_continuation(text: str) -> str:
    return text if len(text) <= CUT else f"{text[:CUT]}…"


def _blocks(study: ConsistencyStudy) -> dict[str, Mapping[str, object]]:
    return {
        "options": study.options.model_dump(mode="json"),
        "decoding": {**study.decoding.decoding.parameters(), "why": study.decoding.reason},
        "model": study.model,
        "classifier": study.classifier,
        "method": study.method.parameters(),
        "folder": {"study": study.path, "evenhand": VERSION},
    }
