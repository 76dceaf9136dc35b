"""Comments and phrases of RedditBias for people to label: what `evenhand data build redditbias` wrote."""

from pathlib import Path

import polars as pl

from evenhand.annotation.building.built import Notes, Said, Value
from evenhand.annotation.building.file_texts import TEXT_FORMAT
from evenhand.prompts.own_files import read_table, require_columns, text_column
from evenhand.schema import is_file

TO_ANNOTATE = "to_annotate.csv"
PHRASES = Path("tables") / "phrases.parquet"
REDDIT_FORMAT = (
    "A table to label has a comment and a phrase cut from it in each row (`comment`, `phrase`, perhaps `id` and "
    "`attribute_in_window`): to_annotate.csv of `evenhand data build redditbias`, or its folder."
)


def phrases_table(source: Path) -> Path | None:
    """The table of comments and phrases in a folder of `evenhand data build redditbias`; None where there is none."""
    return next((source / name for name in (TO_ANNOTATE, PHRASES) if is_file(source / name)), None)


def comments_and_phrases(path: Path, notes: Notes) -> list[Said]:
    """Each comment, and each phrase alone, as a text of its own; `level` in its groups says which.

    Raises DataError for a table without them. Source: Barikeri et al. 2021, section 2: the comment is labelled, and
    the phrase.
    """
    frame = read_table(path, REDDIT_FORMAT)
    if not {"comment", "phrase"} & set(frame.columns):
        require_columns(frame, ["comment", "phrase"], path, f"{REDDIT_FORMAT} {TEXT_FORMAT}")
    about = [name for name in ("id", "attribute_in_window", "bias", "axis", "group") if name in frame.columns]
    rows = frame.select(about).iter_rows(named=True) if about else ({} for _ in range(frame.height))
    known: list[dict[str, Value]] = [dict(row) for row in rows]
    texts: list[Said] = []
    for level in ("comment", "phrase"):
        if level not in frame.columns:
            notes.add(f"{path.name} has no {level}s.")
            continue
        written = text_column(frame, level, path)
        for text, groups in zip(written.to_list(), known, strict=True):
            if text is not None:
                texts.append(Said(text.strip(), groups={"level": level} | groups))
    return texts
