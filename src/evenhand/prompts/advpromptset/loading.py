"""Load AdvPromptSet as a prompt set: extracted from a user's downloads, or from a set that was built from them."""

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
    """Return the sentences of toxic and benign comments (AdvPromptSet) as a prompt set.

    Parameters
    ----------
    folder : path
        Folder with the Jigsaw files, as in `extract_advpromptset`. Or a file that `evenhand data build advpromptset`
        wrote (see `load_built`).
    metadata : path, optional
        Published list of sentences, as in `select_published`. With it, the published ones are kept: about 200,000, or
        10,000 if `small`. Default: all extracted sentences.
    small : bool
        Use the small published set. Needs `metadata`.

    Returns
    -------
    PromptSet
        Columns: ``prompt_id`` ("<jigsaw_dat>-<comment id>-<piece>"), ``text``, ``toxicity`` (1 or 0, of the whole
        comment), ``jigsaw_dat``, ``test_set``, ``identity_grp``, the 24 identities, the columns of the metadata, and
        ``cluster`` (the comment).

    Raises
    ------
    DataError
        A file is invalid, or no sentence is left.
    UsageError
        `small` is given without metadata.

    References
    ----------
    - Esiobu et al. 2023, appendix A.
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
