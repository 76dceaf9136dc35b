"""CrowS-Pairs: pairs of sentences that differ in the group they speak of, one row per sentence."""

import ast
import csv
from pathlib import Path

import polars as pl

from evenhand.prompts.datasets.register import dataset
from evenhand.prompts.prompt_set import PromptSet
from evenhand.schema import Card, DataError

FILE = "crows_pairs_anonymized.csv"
COLUMNS = (
    "sent_more",
    "sent_less",
    "stereo_antistereo",
    "bias_type",
    "annotations",
    "anon_writer",
    "anon_annotators",
)
DIRECTIONS = ("stereo", "antistereo")
HINT = (
    f"Expected {FILE} of nyu-mll/crows-pairs with the columns {', '.join(COLUMNS)}; "
    "`evenhand data fetch crows-pairs` gets it."
)


def load_crows_pairs(folder: Path) -> PromptSet:
    """CrowS-Pairs as a prompt set, two rows per pair.

    folder: holds crows_pairs_anonymized.csv. Columns: prompt_id ("<pair>-more", "<pair>-less"), text,
    pair_id (the published row number), role ("more" or "less": how stereotypical), axis and bias_type
    (the published type), direction ("stereo": the more stereotypical sentence speaks of the disadvantaged
    group; "antistereo": the other one does), sent_more, sent_less, annotations (what each of the
    annotators called the pair, a list of lists), writer, annotators. Raises DataError for a missing file
    or column, an unknown direction, unreadable annotations, or a doubled row number.
    Source: Nangia et al. 2020, section 2; methods/stereotype_pairs.md.
    """
    path = Path(folder) / FILE
    if not path.is_file():
        raise DataError(f"{folder} has no {FILE}.", HINT)
    rows = []
    with path.open(encoding="utf-8", newline="") as handle:
        lines = csv.DictReader(handle)
        if missing := [column for column in ("", *COLUMNS) if column not in (lines.fieldnames or ())]:
            name = missing[0] or "without a name (the row number)"
            raise DataError(f"{path} lacks the column {name}; it has {lines.fieldnames or 'none'}.", HINT)
        for line in lines:
            rows += _both_rows(line, path)
    if not rows:
        raise DataError(f"{path} holds no pairs.", HINT)
    texts = pl.List(pl.String)
    frame = pl.DataFrame(rows, schema_overrides={"annotations": pl.List(texts), "annotators": texts})
    return PromptSet(frame, _card(frame.height // 2))


def _both_rows(line: dict[str, str], path: Path) -> list[dict[str, object]]:
    pair = line[""]
    where = f"{path}, pair {pair}"
    if any(line[column] is None for column in COLUMNS):
        raise DataError(f"{where}: the row is cut short.", HINT)
    if line["stereo_antistereo"] not in DIRECTIONS:
        raise DataError(
            f"{where}: the direction is {line['stereo_antistereo']!r}; expected {' or '.join(DIRECTIONS)}.",
            HINT,
        )
    shared: dict[str, object] = {
        "pair_id": pair,
        "axis": line["bias_type"],
        "bias_type": line["bias_type"],
        "direction": line["stereo_antistereo"],
        "sent_more": line["sent_more"],
        "sent_less": line["sent_less"],
        "annotations": _literal(line["annotations"], f"{where}, annotations"),
        "writer": line["anon_writer"],
        "annotators": _literal(line["anon_annotators"], f"{where}, anon_annotators"),
    }
    return [
        {"prompt_id": f"{pair}-{role}", "text": line[f"sent_{role}"], "role": role, **shared}
        for role in ("more", "less")
    ]


def _literal(written: str, where: str) -> list[object]:
    """The published lists are written in Python's notation."""
    try:
        value = ast.literal_eval(written)
    except (ValueError, SyntaxError) as error:
        raise DataError(f"{where}: {written!r} is not a list.", HINT) from error
    if not isinstance(value, list):
        raise DataError(f"{where}: {written!r} is not a list.", HINT)
    return value


def _card(pairs: int) -> Card:
    entry = dataset("crows-pairs")
    return Card(
        name="crows-pairs",
        summary=f"CrowS-Pairs: {pairs:,} sentence pairs that differ in the social group they speak of",
        construct="Preference of the more stereotypical of two sentences that differ in the group.",
        groups="Nine kinds of bias; within a pair everything but the group words should be held fixed.",
        critique=(
            "Written by crowd workers; many pairs change more than the group, or contrast things that are "
            "not groups (Blodgett et al. 2021)."
        ),
        citation=entry.citation,
        licence=entry.licence,
        source=entry.homepage,
        details="`sent_more` is always the more stereotypical; `direction` says whom it speaks of.",
    )
