"""Comments and phrases of RedditBias for labelling, from the output of `evenhand data build redditbias`."""

from pathlib import Path

from evenhand.annotation.building.built import Notes, StudyText, Value
from evenhand.prompts.own_files import read_table, require_columns, text_column
from evenhand.schema import is_file

TO_ANNOTATE = "to_annotate.csv"
PHRASES = Path("tables") / "phrases.parquet"
REDDIT_FORMAT = (
    "A table to label has a comment and a phrase from it in each row: columns `comment` and `phrase`, optionally `id` "
    "and `attribute_in_window`. Give to_annotate.csv of `evenhand data build redditbias`, or its folder."
)
ABOUT = ("id", "attribute_in_window", "bias", "axis", "group")


def phrases_table(source: Path) -> Path | None:
    """Return the table of comments and phrases in a folder of `evenhand data build redditbias`; None without one."""
    return next((source / name for name in (PHRASES, TO_ANNOTATE) if is_file(source / name)), None)


def comments_and_phrases(path: Path, notes: Notes) -> list[StudyText]:
    """Return each comment as a text, with its phrase as the context above it.

    Raises DataError if the table lacks these columns. Source: Barikeri et al. 2021, section 2: both are labelled.
    """
    frame = read_table(path, REDDIT_FORMAT)
    require_columns(frame, ["comment", "phrase"], path, REDDIT_FORMAT)
    comments, phrases = (text_column(frame, name, path).to_list() for name in ("comment", "phrase"))
    about = [name for name in ABOUT if name in frame.columns]
    known: list[dict[str, Value]] = [{} for _ in comments]
    if about:
        known = [dict(row) for row in frame.select(about).iter_rows(named=True)]
    texts = [
        StudyText(comment.strip(), phrase.strip(), groups=groups)
        for comment, phrase, groups in zip(comments, phrases, known, strict=True)
        if comment and phrase and phrase.strip()
    ]
    notes.count(frame.height - len(texts), f"rows of {path.name} without a comment or a phrase are left out")
    return texts
