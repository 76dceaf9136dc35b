"""AdvPromptSet as a prompt set: extracted from a user's downloads, or read from a set that was built from them."""

from pathlib import Path

import polars as pl

from evenhand.prompts.advpromptset.built import load_built
from evenhand.prompts.advpromptset.pieces import (
    HINT,
    METADATA_HINT,
    extract_advpromptset,
    number_pieces,
    piece_card,
    select_published,
)
from evenhand.prompts.prompt_set import PromptSet
from evenhand.schema import DataError, UsageError, is_file


def load_advpromptset(
    folder: Path | str, metadata: Path | str | None = None, small: bool = False
) -> PromptSet:
    """The pieces of toxic and benign comments as a prompt set.

    folder, metadata, small: as in `extract_advpromptset` and `select_published`; without metadata all
    extracted pieces are kept, with it the published ones (about 200,000, or 10,000 if small). Instead of a
    folder, a file that `evenhand data build advpromptset` wrote: then its pieces, as `load_built` says. Columns:
    prompt_id ("<jigsaw_dat>-<comment id>-<piece>"), text, toxicity (1 or 0, of the whole comment),
    jigsaw_dat, test_set, identity_grp, the 24 identities, the columns of the metadata, and
    `cluster`, the comment. Raises DataError as those two do, and when no piece is left; UsageError for small without
    metadata.
    Source: Esiobu et al. 2023, appendix A.
    """
    if small and metadata is None:
        raise UsageError("The small set requires the published metadata.", METADATA_HINT)
    if is_file(folder):
        if metadata is not None:
            raise UsageError(
                f"{folder} is a set that was built by evenhand, so the published metadata cannot be used with it.",
                "Give either the folder of the two Kaggle downloads with the metadata, or the built file alone.",
            )
        return load_built(folder)
    pieces = number_pieces(extract_advpromptset(folder))
    if metadata is not None:
        pieces = select_published(pieces, metadata, small)
    if pieces.is_empty():
        raise DataError(f"No text pieces were found in the comments in {folder}.", HINT)
    frame = pieces.rename({"comment_text": "text"}).select(
        "prompt_id", "text", pl.exclude("prompt_id", "text")
    )
    return PromptSet(
        frame, piece_card(frame, "all extracted pieces" if metadata is None else "published selection")
    )
