"""before_after.html: changes in harm and their cost, on one page that needs no network, verdict first."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.reports import HIGHER, LOWER, known, label, number, probability, rendered
from evenhand.schema import VERSION
from evenhand.studies.before_after import wording as words
from evenhand.studies.before_after.charts import trade_off
from evenhand.studies.before_after.conduct import BeforeAfter
from evenhand.studies.before_after.harm import HarmVerdict
from evenhand.studies.before_after.tables import QUALITY_BENCHMARK
from evenhand.studies.compare import PERCENT, OutcomeSection, moved_word, outcomes, scale_row, table_of_models
from evenhand.studies.provenance import citations, provenance

GROUPS_SHOWN = 12
CITED = (
    "before and after",
    "Esiobu et al. 2023, ROBBIE: Robust Bias Evaluation of Large Generative Language Models, EMNLP 2023 "
    "(tables 6 and 15).",
    "",
)


@dataclass(frozen=True)
class VerdictBox:
    """The verdict on one type of harm, as the page shows it.

    Attributes
    ----------
    where
        Benchmark and type of harm.
    between
        Changes between groups: (sentence, verdict) of each.
    headline
        Sentence on the overall change.
    kind, symbol
        CSS class and symbol of the verdict.
    lines
        Sentences with the numbers.
    """

    where: str
    between: tuple[tuple[str, str], ...]
    headline: str
    kind: str
    symbol: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class QualityLine:
    """A measure of text, speed or memory. `before`, `after` and `change` are each (value, CI) as text."""

    name: str
    unit: str
    before: tuple[str, str]
    after: tuple[str, str]
    change: tuple[str, str]
    q: str
    verdict: str
    note: str = ""


def render_before_after_html(study: BeforeAfter) -> str:
    """Return the study as one HTML document with styles and drawings inside; every text is escaped."""
    columns, rows = table_of_models(study.comparison)
    places = [i for i, (benchmark, _, _) in enumerate(columns) if benchmark != QUALITY_BENCHMARK]
    return rendered(
        Path(__file__).with_name("before_after.html.j2"),
        study=study,
        facts=_facts(study),
        likelihoods=words.likelihood_lines(study.comparison),
        nothing_judged=words.nothing_judged(study.comparison, study.quality),
        boxes=[_box(verdict, study) for verdict in study.verdicts],
        columns=[columns[i] for i in places],
        rows=[(model, [cells[i] for i in places]) for model, cells in rows],
        panels=trade_off(study),
        texts=_texts(study),
        costs=_costs(study),
        ways=_ways(study),
        silent_groups=_silent_groups(study),
        sections=[s for s in _sections(study) if not s.aside],
        measured=_list_measures(study),
        alpha=study.config.alpha,
        citations=citations(_list_citations(study)),
        provenance=provenance(_blocks(study)),
    )


def _box(verdict: HarmVerdict, study: BeforeAfter) -> VerdictBox:
    kind, symbol = words.MARKS[verdict.kind]
    return VerdictBox(
        words.place(verdict),
        tuple(words.between_groups(verdict, study.comparison)),
        words.headline(verdict, study.quality),
        kind,
        symbol,
        tuple(words.lines(verdict, study.quality)),
    )


def _facts(study: BeforeAfter) -> list[tuple[str, str]]:
    asked = study.before.manifest.asked
    model = study.before.manifest.model.description
    facts = [("benchmarks", ", ".join(sorted(asked)))]
    facts.append(("prompts", f"{sum(one.prompts for one in asked.values()):,} each"))
    stated = [(key, model.get(key)) for key in ("architecture", "parameters", "dtype", "device")]
    facts += [(key, f"{v:,}" if isinstance(v, int) else str(v)) for key, v in stated if v is not None]
    return facts


def _sections(study: BeforeAfter) -> list[OutcomeSection]:
    return [s for s in outcomes(study.comparison) if s.benchmark != QUALITY_BENCHMARK]


def _texts(study: BeforeAfter) -> list[tuple[str, list[QualityLine]]]:
    """Return (name of the texts, lines) of each set of texts.

    Responses to the benchmark `quality` come first, then given texts, then responses to the other benchmarks.
    """
    names = study.quality["benchmark"].unique(maintain_order=True).to_list()
    first = [name for name in names if name in (QUALITY_BENCHMARK, "wikitext", "prompts")]
    return [
        (words.of_what(name), [_line(row) for row in study.quality.filter(benchmark=name).to_dicts()])
        for name in [*first, *(name for name in names if name not in first)]
    ]


def _line(row: Mapping[str, Any]) -> QualityLine:
    name, unit = words.MEASURES[row["measure"]]
    return QualityLine(
        name=name,
        unit=unit,
        before=words.quality_cell(row, "before"),
        after=words.quality_cell(row, "after"),
        change=words.quality_change(row),
        q=probability(row["q"]) if known(row["p"]) else "",
        verdict=row["verdict"] or "",
    )


def _costs(study: BeforeAfter) -> list[QualityLine]:
    lines = []
    for row in study.cost.to_dicts():
        name, unit = words.MEASURES[row["measure"]]
        change = ""
        if known(row["before"]) and known(row["after"]) and row["before"]:
            change = f"×{number(row['after'] / row['before'], 2)}"
        before, after = (words.quality_cell(row, side) for side in ("before", "after"))
        lines.append(QualityLine(name, unit, before, after, (change, ""), "", "", row["note"]))
    return lines


WAYS = {
    "asked": "all responses, with empty or refused ones as harmless",
    "judged": "as the classifier judged",
    "spoken": "pairs in which both responses have text",
    "varied": "of these, pairs without a stock answer",
}


def _ways(study: BeforeAfter) -> list[dict[str, str]]:
    """Return the rows of the table in which each type of harm is counted in several ways (see `harm_changes`)."""
    ways = []
    for row in study.harm.to_dicts():
        unit, factor = words.get_harm_unit(row)
        names = ("before", "after", "estimate", "low", "high", "by_silence")
        numbers = {name: None if row[name] is None else factor * row[name] for name in names}
        same = row["benchmark"] == row["outcome"]
        ways.append(
            {
                "where": row["benchmark"] if same else f"{row['benchmark']}, {label(row['outcome'])}",
                "among": WAYS[row["among"]],
                "unit": unit,
                **{
                    name: number(value, 1 if unit else 2) if known(value) else ""
                    for name, value in numbers.items()
                },
                "q": probability(row["q"]),
                "verdict": row["verdict"],
                "n": f"{row['n']:,}",
                "missing": f"{row['n_missing']:,}",
            }
        )
    return ways


def _silent_groups(study: BeforeAfter) -> list[dict[str, Any]]:
    """Return the groups about which the share of empty or refused responses changed."""
    changed = study.silence.filter(pl.col("group").is_not_null() & pl.col("verdict").is_in([LOWER, HIGHER]))
    farthest = changed.sort(pl.col("estimate").abs(), "group", descending=[True, False]).head(GROUPS_SHOWN)
    return [
        {**scale_row(row, PERCENT), "moved": moved_word(row, PERCENT), "of": changed.height}
        for row in farthest.to_dicts()
    ]


def _list_measures(study: BeforeAfter) -> list[dict[str, str]]:
    """Return the measures of both runs as rows of a table: those across all axes, and those of axes with a verdict."""
    lines = []
    for row in study.measured.to_dicts():
        judged = row["verdict_before"] or row["verdict_after"]
        if not (known(row["estimate_before"]) or known(row["estimate_after"])) or (
            row["axis"] and not judged
        ):
            continue
        cells = {}
        for side in ("before", "after"):
            low, high = row[f"low_{side}"], row[f"high_{side}"]
            cells[side] = number(row[f"estimate_{side}"])
            cells[f"{side}_interval"] = f"{number(low)} to {number(high)}" if known(low) else ""
            cells[f"{side}_null"] = number(row[f"null_{side}"]) if known(row[f"null_{side}"]) else ""
            cells[f"{side}_verdict"] = row[f"verdict_{side}"] or ""
        what = {name: row[name] or "" for name in ("benchmark", "unit")}
        lines.append({**what, "measure": label(row["measure"]), "axis": label(row["axis"]), **cells})
    return lines


def _list_citations(study: BeforeAfter) -> Iterator[tuple[str, str, str]]:
    yield CITED
    for card in (*(link.card for link in study.chain), *study.before.manifest.benchmark_cards.values()):
        yield card.get("name", ""), card.get("citation", ""), card.get("licence", "")


def _blocks(study: BeforeAfter) -> dict[str, Mapping[str, object]]:
    return {
        "options": study.config.model_dump(mode="json"),
        **{f"mitigation {i}, {link.name}": link.parameters for i, link in enumerate(study.chain, 1)},
        "model": study.before.manifest.model.description,
        "folders": {"before": study.before.path, "after": study.after.path, "evenhand": VERSION},
    }
