"""Write people.html, the page of an analysis, section by section."""

from pathlib import Path

from evenhand.annotation.analysis.conduct import Analysis
from evenhand.annotation.analysis.sections import COLOURS, MARKS, Section, breakable
from evenhand.annotation.analysis.shown import (
    agreement_section,
    classifier_section,
    data_section,
    marks_section,
    preference_section,
    ratings_section,
    rules_section,
    side_section,
    texts_section,
    views_section,
)
from evenhand.annotation.analysis.verdicts import headlines, promise, summary
from evenhand.annotation.analysis.wording import get_rows
from evenhand.measures import MEASURES
from evenhand.reports import rendered
from evenhand.schema import VERSION
from evenhand.studies import citations

MOST_HEADLINES = 16
"""Maximum number of sentences at the top; the sections contain all."""


def get_title(analysis: Analysis) -> str:
    """Return the title of the study."""
    study = analysis.export.study
    names = analysis.export.votes["study"].drop_nulls()
    return str(
        study.get("title") or study.get("name") or (names[0] if names.len() else analysis.export.path.name)
    )


def render_html(analysis: Analysis) -> str:
    """Return the page as one HTML document that needs no network; texts are escaped and control characters visible."""
    told = headlines(analysis)
    more = len(told) - MOST_HEADLINES
    notes = list(analysis.notes)
    if more > 0:
        notes.append(f"{more:,} more comparisons are in the sections below.")
    return rendered(
        Path(__file__).with_name("people.html.j2"),
        title=get_title(analysis),
        facts=_facts(analysis),
        summary=summary(analysis),
        headlines=told[:MOST_HEADLINES],
        promise=promise(analysis),
        notes=notes,
        sections=sections(analysis),
        blocks=_blocks(analysis),
        citations=citations(_list_citations(analysis)),
        colours=COLOURS,
        marks=MARKS,
        breakable=breakable,
    )


def sections(analysis: Analysis) -> list[Section]:
    """Return the sections that have something to show, in the order of the page."""
    found = (
        preference_section(analysis),
        ratings_section(analysis),
        marks_section(analysis),
        agreement_section(analysis),
        classifier_section(analysis),
        side_section(analysis),
        views_section(analysis),
        rules_section(analysis),
        data_section(analysis),
        texts_section(analysis),
    )
    return [section for section in found if section is not None]


def _facts(analysis: Analysis) -> list[tuple[str, str]]:
    used = analysis.used
    return [
        ("annotators", f"{used['person'].n_unique():,}"),
        ("items", f"{used['item'].n_unique():,}"),
        ("judgements", f"{int(analysis.tables.answers['n'].sum()):,}"),
        ("exclusion rules", "of the study" if analysis.rules.name == "the study's" else analysis.rules.name),
        ("evenhand", VERSION),
    ]


def _blocks(analysis: Analysis) -> list[tuple[str, list[tuple[str, str]]]]:
    export = analysis.export
    asked = analysis.options.model_dump(mode="json")
    told = [(name.replace("_", " "), _format_option(value)) for name, value in asked.items()]
    times = export.votes.select(
        first=export.votes["answered_at"].min(), last=export.votes["answered_at"].max()
    ).row(0)
    study = [
        ("file", export.path.name),
        ("study", str(export.study.get("name") or "not in the file")),
        ("seed of the study", str(export.study.get("seed", "not in the file"))),
        ("first answer", _day(times[0])),
        ("last answer", _day(times[1])),
    ]
    return [("the export", study), ("options", told)]


def _format_option(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "all"
    return "none" if value is None else str(value)


def _day(time: object) -> str:
    return "not known" if time is None else f"{time:%Y-%m-%d}"


def _list_citations(analysis: Analysis) -> list[tuple[str, str, str]]:
    tables = analysis.tables
    names = {
        str(row["measure"])
        for table in (tables.win_rates, tables.differences, tables.sides, tables.classifiers, tables.views)
        for row in get_rows(table)
    }
    cards = [(name, MEASURES[name].card) for name in sorted(names) if name in MEASURES]
    return [(name, card.citation, card.licence) for name, card in cards]
