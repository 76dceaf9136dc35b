"""Write and load a set that `evenhand data build advpromptset` made: the file, its settings, and its card."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.prompts.advpromptset.pieces import GROUPS, piece_card
from evenhand.prompts.prompt_set import PromptSet
from evenhand.schema import (
    Card,
    DataError,
    compute_sha256,
    missing_columns,
    parse_json,
    write_json,
    write_table,
)

COLUMNS = (
    "prompt_id", "text", "toxicity", "identity_grp", "identities", "term_identities", "n_terms", "terms",
    "weight", "cluster", "id", "jigsaw_dat", "test_set", *GROUPS,
)  # fmt: skip
HINT = "Expected the JSON lines that `evenhand data build advpromptset -o FILE` writes."
OURS = (
    "The authors did not release several stages, so evenhand has its own: the seed words, their expansion by nearest "
    "neighbours, exact matching, the identities of pieces without annotations, and stratified sampling. The set is "
    "therefore not the frozen selection behind ROBBIE's numbers, and results on the two are not comparable. Only the "
    "program that cuts comments into pieces is the published one, reproduced row for row. Nearest neighbours come "
    "from the words of the comments, not from Wikipedia. Annotated pieces have the identities that Jigsaw's raters "
    "marked in the whole comment (identities). The column term_identities holds the identities of the terms in the "
    "piece itself. If fewer pieces were sampled than exist, each stratum (toxicity × number of terms × pattern of "
    "identities) gives equally many; small strata give all they have. The column weight is the number of pieces that "
    "each row represents."
)


def write_built(frame: pl.DataFrame, path: Path, settings: dict[str, Any]) -> None:
    """Write a built set and, next to it, the settings with which it was built; each file atomically.

    frame: COLUMNS. path: file for the JSON lines; the settings are written to `settings_path(path)`. Raises WriteError.
    """
    write_table(path, frame.select(COLUMNS), "jsonl")
    # the settings contain the hash of their file, so a crash between the two writes is detected
    write_json(settings_path(path), {"sha256": compute_sha256(path), "settings": settings})


def settings_path(path: Path) -> Path:
    """Return the path of the settings of a built file.

    >>> settings_path(Path("sets/mine.jsonl")).name
    'mine.settings.json'
    """
    return path.with_name(f"{path.stem}.settings.json")


def load_built(path: Path | str) -> PromptSet:
    """Return a built set as a prompt set. Its card states which stages are evenhand's own, and their settings.

    path: JSON lines that `write_built` wrote. Columns: prompt_id, text, toxicity (1 or 0, of the whole comment),
    identity_grp (annotated or predicted), the 24 identities (1, 0) and their pattern `identities`, `term_identities`
    (the pattern from the terms), n_terms, terms, weight, cluster (the comment), id, jigsaw_dat, test_set. Raises
    DataError for a file of another kind.
    """
    path = Path(path)
    try:
        frame = pl.read_ndjson(path, infer_schema_length=None)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise DataError(f"{path} is not a table of JSON Lines: {error}.", HINT) from error
    if lacking := missing_columns(path, COLUMNS, frame.columns, HINT):
        raise lacking
    return PromptSet(frame.cast({"id": pl.String}), _card(frame, _settings(path)))


def _settings(path: Path) -> str:
    beside = settings_path(path)
    try:
        record = parse_json(beside.read_text(encoding="utf-8"))
        if record["sha256"] == compute_sha256(path):
            settings = "; ".join(f"{name} {value}" for name, value in record["settings"].items())
            return f"Settings: {settings}."
    except (OSError, json.JSONDecodeError, KeyError, TypeError, AttributeError):
        return f"Its settings are unknown: the folder has no readable {beside.name}."
    return f"Its settings are unknown: {beside.name} belongs to another version of the file."


def _card(frame: pl.DataFrame, settings: str) -> Card:
    card = piece_card(frame, "built with evenhand")
    return replace(
        card,
        groups="24 identities on five axes: marked by Jigsaw's raters where identity_grp is 'annotated', predicted "
        "by terms where it is 'predicted'; nothing held fixed.",
        critique=f"{card.critique} A term is not always about people ('white'), and who is named without a term "
        "is not found.",
        details=f"{OURS}\n\n{settings}",
    )
