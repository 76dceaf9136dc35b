"""Training material from RedditBias or from a user's texts, with a specification of the compared groups."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from evenhand.mitigations.training.data.cda import swapped_words
from evenhand.mitigations.training.material import Material
from evenhand.mitigations.training.terms import strip_pairs
from evenhand.mitigations.training.validation import PairedTexts, Validation
from evenhand.prompts.own_files import read_lines, read_table, require_columns, text_column
from evenhand.prompts.redditbias import (
    Specification,
    load_human_references,
    load_redditbias,
    load_training_phrases,
    training_source,
)
from evenhand.schema import DataError, DatasetMissing

NEUTRAL = 600
"""Number of lines of humanref6k.txt on which the perplexity is monitored."""
PUBLISHED = (
    "Get them:                  evenhand data fetch redditbias --version all\n"
    "or, from files you have:   --from FOLDER (a copy of github.com/umanlp/RedditBias); texts of your own: --data FILE"
)
WATCHED_SHARE = 0.1
"""Share of the user's own texts held out to monitor the bias."""
FEWEST = 2
TEXTS = "Give a .txt file with one text per line, or a table (.csv, .jsonl, .parquet) with a column text."


def make_material(specification: Specification, texts: Sequence[str], source: str = "") -> Material:
    """Return training material of texts with the terms of a specification: its target pairs, and A1 as attributes.

    `source` is described at `Material`.
    """
    return Material(
        bias=specification.bias,
        groups=specification.groups,
        pairs=strip_pairs(specification.target_pairs),
        attributes=tuple(dict.fromkeys(one.replace('"', "").strip() for one in specification.attributes_1)),
        texts=tuple(texts),
        pieces=specification.pieces,
        specification=specification,
        source=source,
    )


def published_texts(specification: Specification, folder: Path | None = None) -> tuple[Material, Validation]:
    """Return the published training texts of a RedditBias type, and its validation pairs for monitoring the bias.

    `folder` is a copy of the published repository; None uses the files that `evenhand data fetch` downloaded. Raises
    DatasetMissing with the names of missing files, and the errors of `load_redditbias` and `load_training_phrases`.
    """
    bias = specification.bias
    try:
        texts = load_training_phrases(bias, folder)
        pairs = load_redditbias(folder, split="valid", bias_types=[bias]).frame
        neutral = load_human_references(folder).frame["text"]
    except DatasetMissing as error:
        raise DatasetMissing(error.message, PUBLISHED) from error
    first, second = (
        tuple(text.strip() for text in pairs.filter(role=role)["text"]) for role in ("more", "less")
    )
    watched = Validation(PairedTexts(first, second), tuple(line.strip() for line in neutral[:NEUTRAL]))
    return make_material(specification, texts, training_source(bias, folder)), watched


def own_texts(specification: Specification, file: Path, seed: int) -> tuple[Material, Validation]:
    """Read your own texts: 90% for training, and those of the rest that contain a term for monitoring the bias.

    `file` has one text per line (.txt), or a column text. Raises a DataError if it cannot be read or too few texts
    contain a term.
    """
    texts = read_texts(file)
    order = np.random.default_rng([seed, 2]).permutation(len(texts)).tolist()
    kept = [texts[i] for i in sorted(order[: round(WATCHED_SHARE * len(texts))])]
    learned = [texts[i] for i in sorted(order[len(kept) :])]
    others = swapped_words(kept, strip_pairs(specification.target_pairs), two_sided=False)
    pairs = [(one, other) for one, other in zip(kept, others, strict=True) if one != other]
    if len(pairs) < FEWEST:
        terms = ", ".join(first for first, _ in strip_pairs(specification.target_pairs)[:12])
        raise DataError(
            f"Only {len(pairs)} of the {len(kept)} validation texts of {file} contain a word of "
            f"{specification.groups[0]}, but {FEWEST} are required to measure whether the bias falls.",
            f"Words searched for, in singular and plural: {terms}. A tenth of the texts is used for validation: "
            f"give at least {round(FEWEST / WATCHED_SHARE)} texts that contain them.",
        )
    check = PairedTexts(tuple(one for one, _ in pairs), tuple(other for _, other in pairs))
    return make_material(specification, learned, file.name), Validation(check, tuple(kept))


def read_texts(file: Path) -> list[str]:
    """Return the texts of a file: the lines (.txt), or the column text of a CSV, JSONL or
    Parquet file. Raises DataError.
    """
    if file.suffix.lower() == ".txt":
        texts = [line.strip() for line in read_lines(file, TEXTS) if line.strip()]
    else:
        table = read_table(file, TEXTS)
        require_columns(table, ["text"], file, TEXTS)
        texts = [text for text in text_column(table, "text", file).to_list() if text and text.strip()]
    if not texts:
        raise DataError(f"{file} contains no text.", TEXTS)
    return texts
