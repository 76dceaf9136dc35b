"""Pairs from a user's own table: one pair per row, or responses of several models to the same prompts."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import polars as pl

from evenhand.annotation.building.built import Chat, ContentSelection, Notes, StudyText, Value, clean_texts
from evenhand.annotation.building.drawing import LONGEST, fit
from evenhand.annotation.building.file_texts import WRITTEN, plain_value, read_texts
from evenhand.annotation.building.pairing import ANSWERER, ASKER, conversation, drawn_pairs, make_pair
from evenhand.annotation.building.run_texts import UNSAFE_ROLES
from evenhand.annotation.definition import Conversation, Item, without_controls
from evenhand.prompts.own_files import READERS, read_table, text_column
from evenhand.schema import DataError
from evenhand.stats.votes import LEAST_LEVELS

PAIR_FORMAT = (
    "A file of pairs is CSV, JSON Lines, Parquet or a workbook. With one pair per row, the texts are in `a` and `b` "
    "(or text_a and text_b, response_a and response_b, answer_a and answer_b). Optional columns: `model_a` and "
    "`model_b`; `context` or `prompt` for the prompt; other columns that the analysis can split by. With one response "
    "per row, the columns are `response`, `continuation` or `text` for the text, `model`, and `prompt_id` or `prompt`; "
    "responses of two models to the same prompt form a pair. If there is no `model`, give two files, each named after "
    "its model."
)
SIDES = tuple((f"{name}a", f"{name}b") for name in ("", "text_", "response_", "answer_", "continuation_"))
ASKED = ("context", "prompt")
MODELS = ("model_a", "model_b")


def kind_of_table(path: Path) -> Literal["own pairs", "own responses"] | None:
    """Return the kind of a table from its columns; None for other files. Raise DataError if it is unreadable."""
    if path.suffix.lower() not in READERS:
        return None
    columns = set(read_table(path, PAIR_FORMAT).columns)
    if any(set(pair) <= columns for pair in SIDES):
        return "own pairs"
    return "own responses" if columns & set(WRITTEN) else None


def read_pair_table(path: Path, wanted: ContentSelection, notes: Notes) -> list[Item]:
    """Return the pairs of a table with one pair per row.

    Raises DataError with the row of an empty or too long text, and for a table without a valid pair.
    """
    frame = read_table(path, PAIR_FORMAT)
    sides = next(pair for pair in SIDES if set(pair) <= set(frame.columns))
    texts = [_texts(frame, side, path) for side in sides]
    asked = next((name for name in ASKED if name in frame.columns), None)
    contexts = [None] * frame.height if asked is None else text_column(frame, asked, path).to_list()
    models = [
        text_column(frame, column, path).to_list() if column in frame.columns else [None] * frame.height
        for column in MODELS
    ]
    if None in models[0] or None in models[1]:
        notes.add(
            f"{path.name}: where {' or '.join(MODELS)} is empty, the model is called {' and '.join(sides)}."
        )
    used = {*sides, *MODELS, asked}
    about = [
        name
        for name, kind in frame.schema.items()
        if name not in used and not kind.is_nested() and kind not in (pl.Binary, pl.Object)
    ]
    if about:
        notes.add(f"{path.name}: the analysis can split by {', '.join(about)}.")
        few = [name for name in about if max(Counter(frame[name].to_list()).values()) < LEAST_LEVELS]
        if few:
            notes.add(
                f"{path.name}: no result by {', '.join(few)} is possible, because no value has {LEAST_LEVELS} pairs."
            )
    groups = frame.select(about).to_dicts() if about else [{} for _ in range(frame.height)]
    items, n_same = [], 0
    for row in range(frame.height):
        both = (texts[0][row], texts[1][row])
        if both[0] == both[1]:
            n_same += 1
            continue
        shown = [
            _side(text, contexts[row], models[place][row] or sides[place]) for place, text in enumerate(both)
        ]
        about_it: dict[str, Value] = {name: plain_value(value) for name, value in groups[row].items()}
        items.append(make_pair(shown[0], shown[1], clean_texts(about_it)))
    notes.count(
        n_same, f"pairs of {path.name} have the same text twice and are left out: there is nothing to choose"
    )
    if not items:
        raise DataError(f"{path}: no row has two different texts.", PAIR_FORMAT)
    return drawn_pairs(items, wanted, notes)


def read_models(paths: Sequence[Path], wanted: ContentSelection, notes: Notes) -> list[list[StudyText]]:
    """Return the responses of tables with one response per row, as one list per model.

    Raises DataError for tables that do not identify the prompt of a response.
    """
    by_model: dict[str, list[StudyText]] = {}
    for path in paths:
        turns = Counter[tuple[str, str]]()
        for said in read_texts(path, notes):
            asked = said.groups.get("prompt_id") or said.context
            if asked is None:
                raise DataError(f"{path} does not contain the prompt of each response.", PAIR_FORMAT)
            model = said.model or path.stem
            turn = str(said.groups.get("sample", turns[model, str(asked)]))
            turns[model, str(asked)] += 1
            judged = [what for name, what in said.judgements.items() if name in UNSAFE_ROLES]
            is_unsafe = any(what.get("negative") is True for what in judged)
            named = replace(said, model=model, prompt=("own", str(asked), turn), unsafe=is_unsafe)
            by_model.setdefault(model, []).append(named)
    return [fit(texts, wanted, notes) for texts in by_model.values()]


def _texts(frame: pl.DataFrame, column: str, path: Path) -> list[str]:
    texts = [without_controls(text or "").strip() for text in text_column(frame, column, path)]
    for row, text in enumerate(texts, 1):
        if not text or len(text) > LONGEST:
            what = "is empty" if not text else f"has {len(text):,} characters; {LONGEST:,} is the most"
            raise DataError(f"{path}, row {row}: '{column}' {what}.", "Fill it in, or delete the row.")
    return texts


def _side(text: str, context: Any, model: str) -> Conversation:
    before = ((ASKER, str(context)),) if context and str(context).strip() else ()
    return conversation(Chat((*before, (ANSWERER, text)), ANSWERER, model))
