"""Extract pieces of comments with raters' toxicity labels from a user's downloads of the Jigsaw data."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evenhand.schema import Card, DataError, missing_columns, parse_json

FOLDERS = {
    1: "jigsaw-toxic-comment-classification-challenge",
    2: "jigsaw-unintended-bias-in-toxicity-classification",
}
"""Folders of the two Kaggle competitions, by their number in the published column jigsaw_dat."""
FILES = (
    *(f"{FOLDERS[1]}/{name}" for name in ("test.csv", "test_labels.csv", "train.csv")),
    *(
        f"{FOLDERS[2]}/{name}"
        for name in ("test_public_expanded.csv", "test_private_expanded.csv", "train.csv")
    ),
)
"""Files of each competition that are read."""
IDENTITIES = {
    "gender_and_sex": ("male", "female", "transgender", "other_gender"),
    "sexual_orientation": (
        "heterosexual", "homosexual_gay_or_lesbian", "bisexual", "other_sexual_orientation",
    ),
    "religion": ("christian", "jewish", "muslim", "hindu", "buddhist", "atheist", "other_religion"),
    "race_ethnicity": ("black", "white", "asian", "latino", "other_race_or_ethnicity"),
    "ability": (
        "physical_disability", "intellectual_or_learning_disability", "psychiatric_or_mental_illness",
        "other_disability",
    ),
}  # fmt: skip
"""The 24 identities that Jigsaw's raters marked, by axis as in ROBBIE's tables."""
GROUPS = tuple(name for names in IDENTITIES.values() for name in names)
COMMENT_COLUMNS = ("id", "comment_text", "toxicity", "jigsaw_dat", "test_set", *GROUPS)
PUBLISHED_COLUMNS = (*COMMENT_COLUMNS[:5], "identity_grp")
YES_FROM = 0.5
"""Share of raters from which a label counts as given."""
FEWEST_TOKENS, MOST_TOKENS, MOST_CHARACTERS = 2, 100, 600
TOKEN = re.compile(r"\w+")
LETTER = re.compile(r"[a-zA-Z]")
END_OF_PIECE = re.compile(r"[\n.!?;]")
METADATA = ("advpromptset_rowid.npy", "advpromptset_metainfo.jsonl", "advpromptset_rowid_10k.npy")
HINT = (
    f"Expected the folders {' and '.join(FOLDERS.values())} as Kaggle offers them for download, unpacked: "
    "train.csv, test.csv and test_labels.csv in the first; train.csv, test_public_expanded.csv and "
    "test_private_expanded.csv in the second."
)
METADATA_HINT = f"Expected {', '.join(METADATA)}, from metadata.zip of facebookresearch/ResponsibleNLP."


def extract_advpromptset(folder: Path | str) -> pl.DataFrame:
    """Divide comments into pieces and normalise them, exactly as the published extraction does.

    Comments with a line feed are dropped. The other comments are divided at . ! ? and ; into pieces of lower-case words
    joined by spaces. Pieces of 2 to 100 words and at most 600 characters that contain a letter are kept. A piece has
    the labels of its comment. Within each of three parts (2018; 2019 without and with identity labels), only the first
    of equal texts is kept; equal texts in different parts are kept.

    Parameters
    ----------
    folder : path or str
        Contains the two Kaggle folders.

    Returns
    -------
    polars.DataFrame
        The six published columns (id, comment_text, toxicity, jigsaw_dat, test_set, identity_grp) in the published row
        order, and the 24 identities (1, 0; null if the comment was not annotated).

    Raises
    ------
    DataError
        A file or column is missing, or a label is not a number.

    References
    ----------
    ROBBIE, appendix B.1.2.
    """
    folder = Path(folder)
    second = _comments_2019(folder / FOLDERS[2])
    annotated = pl.any_horizontal(pl.col(GROUPS).is_not_null())
    parts = [
        (_comments_2018(folder / FOLDERS[1]), "predicted"),
        (second.filter(~annotated), "predicted"),
        (second.filter(annotated), "annotated"),
    ]
    cut = [_pieces(part).with_columns(identity_grp=pl.lit(name)) for part, name in parts]
    return pl.concat(cut).select(*PUBLISHED_COLUMNS, *GROUPS)


def number_pieces(pieces: pl.DataFrame) -> pl.DataFrame:
    """Add prompt_id ("<jigsaw_dat>-<comment id>-<piece>") and cluster (the comment) to the pieces.

    pieces: all rows of `extract_advpromptset`, in its order.
    """
    comment = pl.format("{}-{}", "jigsaw_dat", "id")
    number = pl.int_range(pl.len()).over("jigsaw_dat", "id")
    return pieces.with_columns(
        pl.format("{}-{}", comment, number).alias("prompt_id"), comment.alias("cluster")
    )


def select_published(pieces: pl.DataFrame, metadata: Path | str, small: bool = False) -> pl.DataFrame:
    """Return the pieces of the published AdvPromptSet, and their metadata.

    Parameters
    ----------
    pieces : polars.DataFrame
        All rows of `extract_advpromptset`, in its order.
    metadata : path or str
        A folder with the published advpromptset_rowid.npy (one number per piece, -1: left out),
        advpromptset_metainfo.jsonl and, if `small`, advpromptset_rowid_10k.npy.
    small : bool
        Return the small published set.

    Returns
    -------
    polars.DataFrame
        Pieces with row_id and the columns of the metadata, which replace identities with the same name.

    Raises
    ------
    DataError
        A file is missing or broken, or the number of pieces differs from the metadata. Then the downloads are not those
        from which the metadata were made.

    References
    ----------
    ROBBIE, appendix B.1.2.
    """
    metadata = Path(metadata)
    numbers = _numbers(metadata / METADATA[0])
    if len(numbers) != pieces.height:
        raise DataError(
            f"{metadata / METADATA[0]} lists {len(numbers):,} text pieces, but {pieces.height:,} were extracted.",
            "The Jigsaw files are not those of AdvPromptSet, or the metadata have another version. Download both "
            "again, or remove the metadata.",
        )
    metainfo = _metainfo(metadata / METADATA[1])
    selected = pieces.with_columns(pl.Series("row_id", numbers)).filter(pl.col("row_id") != -1)
    selected = selected.drop([name for name in GROUPS if name in metainfo.columns])
    if double := sorted(set(selected.columns) & set(metainfo.columns) - {"row_id", "id"}):
        metainfo = metainfo.drop(double)  # text and labels of the extraction are kept
    selected = selected.join(metainfo, on=["row_id", "id"], how="inner", maintain_order="left")
    if small:
        selected = selected.filter(pl.col("row_id").is_in(_numbers(metadata / METADATA[2]).tolist()))
    return selected


def cut_comment(comment: str) -> Iterator[str]:
    """Yield the pieces of one comment, in order, each as lower-case words joined by spaces.

    A comment, or a piece of it, is left out if it has fewer than 2 or more than 100 words, more than 600 characters, or
    no letter from a to z. Source: ROBBIE, appendix B.1.2.

    >>> list(cut_comment("Don't go! Yes; they, too, stay."))
    ['don t go', 'they too stay']
    """
    if _words(comment):
        for piece in END_OF_PIECE.split(comment):
            if words := _words(piece.strip()):
                yield " ".join(words).lower()


def _comments_2018(folder: Path) -> pl.DataFrame:
    """Return the comments of 2018: scored test comments first, then training comments."""
    test = _csv(folder / "test.csv", "id", "comment_text")
    labels = _csv(folder / "test_labels.csv", "id", "toxic")
    train = _csv(folder / "train.csv", "id", "comment_text", "toxic")
    labelled = test.join(labels, on="id", how="left", maintain_order="left")
    if unlabelled := labelled["toxic"].null_count():
        raise DataError(
            f"{folder}: test_labels.csv has no labels for {unlabelled} of the comments of test.csv.", HINT
        )
    parts = []
    for name, part in (("test_labels.csv", labelled), ("train.csv", train)):
        toxicity = _number("toxic", folder / name, part).cast(pl.Int64)
        test_set = pl.lit(int(part is labelled))
        parts.append(part.with_columns(toxicity=toxicity, test_set=test_set).filter(pl.col("toxicity") != -1))
    unknown = {name: pl.lit(None, pl.Int64) for name in GROUPS}
    return pl.concat(parts).with_columns(jigsaw_dat=pl.lit(1), **unknown).select(COMMENT_COLUMNS)


def _comments_2019(folder: Path) -> pl.DataFrame:
    """Return the comments of 2019: public and private test comments first, then training comments.

    A label counts as given from half of the raters on.
    """
    parts = []
    for name, label in (
        ("test_public_expanded.csv", "toxicity"),
        ("test_private_expanded.csv", "toxicity"),
        ("train.csv", "target"),
    ):
        part = _csv(folder / name, "id", "comment_text", label, *GROUPS)
        labels = {
            column: (_number(column, folder / name, part) >= YES_FROM).cast(pl.Int64)
            for column in (label, *GROUPS)
        }
        test_set = pl.lit(int(name != "train.csv"))
        part = part.with_columns(jigsaw_dat=pl.lit(2), test_set=test_set, **labels)
        parts.append(part.rename({label: "toxicity"} if label != "toxicity" else {}).select(COMMENT_COLUMNS))
    return pl.concat(parts)


def _pieces(comments: pl.DataFrame) -> pl.DataFrame:
    """Return one row per piece of each comment that is kept; of equal texts, the first."""
    text = pl.col("comment_text")
    short = comments.filter(
        ~text.str.contains("\n", literal=True) & (text.str.len_chars() <= MOST_CHARACTERS)
    )
    cut = pl.Series("comment_text", [list(cut_comment(t)) for t in short["comment_text"]], pl.List(pl.String))
    pieces = short.with_columns(cut).filter(pl.col("comment_text").list.len() > 0).explode("comment_text")
    return pieces.unique("comment_text", keep="first", maintain_order=True)


def _words(text: str) -> list[str]:
    """Return the words of a text; empty if it is too short or too long, or has no letter."""
    words = TOKEN.findall(text)
    fits = FEWEST_TOKENS <= len(words) <= MOST_TOKENS and len(text) <= MOST_CHARACTERS
    return words if fits and LETTER.search(text) else []


def _csv(path: Path, *columns: str) -> pl.DataFrame:
    if not path.is_file():
        raise DataError(f"{path.parent} has no {path.name}.", HINT)
    try:
        frame = pl.read_csv(path, infer_schema=False)
    except (pl.exceptions.ComputeError, pl.exceptions.NoDataError) as error:
        raise DataError(f"{path} is not a valid CSV: {error}.", HINT) from error
    if lacking := missing_columns(path, columns, frame.columns, HINT):
        raise lacking
    return frame.select(columns)


def _number(column: str, where: Path, frame: pl.DataFrame) -> pl.Expr:
    values = frame[column]
    if broken := values.filter(
        values.is_not_null() & values.cast(pl.Float64, strict=False).is_null()
    ).to_list():
        raise DataError(f"{where}: {column} must be a number, got {broken[0]!r}.", HINT)
    if column not in GROUPS and values.null_count():
        raise DataError(f"{where}: {column} is empty in {values.null_count()} rows.", HINT)
    return pl.col(column).cast(pl.Float64)


def _numbers(path: Path) -> NDArray[np.int64]:
    if not path.is_file():
        raise DataError(f"{path.parent} has no {path.name}.", METADATA_HINT)
    try:
        numbers = np.load(path, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise DataError(f"{path} is not a NumPy array: {error}.", METADATA_HINT) from error
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu":
        raise DataError(f"{path} is not a list of whole numbers.", METADATA_HINT)
    return np.asarray(numbers, dtype=np.int64)


def _metainfo(path: Path) -> pl.DataFrame:
    if not path.is_file():
        raise DataError(f"{path.parent} has no {path.name}.", METADATA_HINT)
    rows: list[dict[str, Any]] = []
    with path.open(encoding="utf-8") as handle:
        for number, line in enumerate(handle, 1):
            try:
                row = parse_json(line)
                rows.append({**row, "row_id": int(row["row_id"]), "id": str(row["id"])})
            except (json.JSONDecodeError, KeyError, TypeError, ValueError) as error:
                message = f"{path}, line {number}: no object with row_id and id."
                raise DataError(message, METADATA_HINT) from error
    if not rows:
        raise DataError(f"{path} is empty.", METADATA_HINT)
    return pl.DataFrame(rows, infer_schema_length=None)


def piece_card(frame: pl.DataFrame, rule: str) -> Card:
    """Return the card of a selection of pieces.

    frame: text and toxicity of the pieces. rule: short description of the selection.
    """
    toxic = int((frame["toxicity"] == 1).sum())
    return Card(
        name="advpromptset",
        summary=f"AdvPromptSet: {frame.height:,} pieces of comments, {toxic:,} of them toxic ({rule})",
        construct="Toxicity of what a model writes after benign and after toxic text about groups.",
        harm="A model that answers abuse of, or plain talk about, some groups with more abuse than of others.",
        groups="24 identities on five axes, marked by people where identity_grp is 'annotated'; nothing held fixed.",
        critique=(
            "A piece has the labels of its whole comment, so a harmless half of a toxic comment counts as "
            "toxic. Equal texts may occur in several parts with opposite labels. Punctuation is gone ('don t'), "
            "which no one writes."
        ),
        citation=(
            "Esiobu, Tan, Hosseini, Ung, Zhang, Fernandes, Dwivedi-Yu, Presani, Williams, Smith (2023): "
            "ROBBIE: Robust Bias Evaluation of Large Generative Language Models. EMNLP 2023."
        ),
        licence="The terms of the two Kaggle competitions; nothing of it may be passed on with evenhand.",
        source="https://github.com/facebookresearch/ResponsibleNLP/tree/main/AdvPromptSet",
        details=(
            "The earlier steps were never released (term lists, their expansion, exact matching, prediction of "
            "labels, stratified sampling). Their outcome is in the published metadata. Without metadata, every piece "
            "is kept, and pieces without annotations have no identity. `evenhand data build advpromptset` repeats "
            "these steps."
        ),
    )
