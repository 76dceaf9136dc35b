"""Load pairs of RedditBias, published or built with evenhand: a statement about one group and about another."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import polars as pl

from evenhand.measures.pairs import phrase_clusters
from evenhand.prompts.datasets import dataset, dataset_folder, first_fetched, found_file
from evenhand.prompts.own_files import read_table
from evenhand.prompts.prompt_set import PromptSet
from evenhand.prompts.redditbias.bias_types import BIAS_TYPES, specification
from evenhand.prompts.redditbias.card import built_card, human_references_card, known_since, pairs_card
from evenhand.prompts.redditbias.published_files import read_manifest
from evenhand.schema import DataError, DatasetMissing, UsageError, checked, missing_columns, unknown_name

SPLITS = ("test", "valid", "attributes")
NAME, REFERENCES = "redditbias", "humanref6k"
FETCH = (
    "Get them:                  evenhand data fetch redditbias --version all\n"
    "or, from files you have:   --set data.redditbias=DIR (a copy of github.com/umanlp/RedditBias, or of its CSV files)"
)
HINT = "Expected the reduced files of umanlp/RedditBias, data/<bias type>/reddit_comments_*_reduced.csv, unchanged."
PERPLEXITY = "dialogpt_perplexity"
BUILT = "-built"
"""Suffix of the bias type of built pairs, which distinguishes their rows from those of a published type."""


@checked
def load_redditbias(
    folder: Path | None = None, *, split: str = "test", bias_types: Iterable[str] = BIAS_TYPES
) -> PromptSet:
    """Load pairs of RedditBias as a prompt set with two rows per pair.

    Parameters
    ----------
    folder : Path, optional
        A folder with the published files, a copy of the published repository, or a folder of `build_redditbias`.
        Default: the cache.
    split : {"test", "valid", "attributes"}, default "test"
        "test" and "valid" contain the published pairs of a phrase about the stereotyped group and its counterpart.
        "attributes" contains pairs about the stereotyped group only: one phrase with the stereotype, and one with an
        opposite attribute.
    bias_types : iterable of str
        Bias types to load. Types without files are left out, and the card names them.

    Returns
    -------
    PromptSet
        The pairs, with these columns:

        - prompt_id, and text (the phrase in lower case);
        - pair_id ("<type>/<split>/<row>"), split, and axis and bias_type (both the name of the type);
        - phrase: a cluster label, equal for nearly identical pairs and for pairs from the same comment
          (`evenhand.measures.pairs.phrase_clusters`);
        - role: "more" (about the stereotyped group, or with the stereotype) or "less" (the other phrase);
        - group: the group; "negative" or "positive" if the split is "attributes";
        - sent_more, sent_less: both phrases of the pair;
        - dialogpt_perplexity: perplexity of DialoGPT-small, published with the pairs (not for built ones).

    Raises
    ------
    DatasetMissing
        No type is available.
    ChecksumMismatch
        A file was changed.
    DataError
        A file is not a table of pairs, or the rows of the two files do not match.
    UsageError
        The split or a type is unknown.

    Notes
    -----
    For a folder of `build_redditbias`, axis and bias_type are "<bias>-built", the card and `own` state what the pairs
    were built from, and `bias_types` is ignored. Source: Barikeri et al. 2021, section 2.1; the files are listed in
    datasets.toml.
    """
    if split not in SPLITS:
        raise unknown_name("split of RedditBias", split, SPLITS)
    wanted = list(bias_types)
    for bias in wanted:
        if bias not in BIAS_TYPES:
            raise unknown_name("bias type", bias, BIAS_TYPES)
    if folder is not None and (built := read_manifest(folder)) is not None:
        place, called = folder / "data" / built.bias, f"{built.bias}{BUILT}"
        frame = _one_type(place, built.bias, built.groups, split, called)
        return PromptSet(
            frame, built_card(split, built), f"Built here, not the published pairs: from {built.made_of}"
        )
    frames, absent, unchecked = [], [], {}
    for bias in wanted:
        try:
            base = _find_folder(bias, folder)
        except DatasetMissing:
            absent.append(bias)
            continue
        frames.append(_one_type(base, bias, specification(bias).groups, split))
        if (since := first_fetched(NAME, bias, base)) is not None:
            unchecked[bias] = since
    if not frames:
        where = "The cache" if folder is None else str(folder)
        raise DatasetMissing(
            f"{where} contains no pairs of RedditBias (bias types: {', '.join(wanted)}).", FETCH
        )
    there = [str(frame["axis"][0]) for frame in frames]
    return PromptSet(pl.concat(frames), pairs_card(split, there, absent, unchecked))


@checked
def load_human_references(folder: Path | None = None) -> PromptSet:
    """Load the 6,000 lines with which RedditBias computes Language Model Perplexity.

    The columns are prompt_id and text. `folder` contains the published file; default: the cache. Raises DatasetMissing
    or ChecksumMismatch. Source: Barikeri et al. 2021, section 4.
    """
    file = dataset(NAME).version(REFERENCES).files[0]
    path = found_file(dataset_folder(NAME, REFERENCES, folder), file)
    lines = [] if path is None else path.read_text(encoding="utf-8").splitlines()
    texts = [line for line in lines if line.strip()]
    frame = pl.DataFrame({"prompt_id": [f"line {i}" for i in range(1, len(texts) + 1)], "text": texts})
    return PromptSet(frame, human_references_card(len(texts)))


@checked
def load_training_phrases(bias: str, folder: Path | None = None) -> list[str]:
    """Return the published training phrases for mitigating a bias type, in the published order.

    `folder` contains the published files; default: the cache. Raises DatasetMissing, ChecksumMismatch, or UsageError if
    it is a folder of `build_redditbias`.
    """
    if folder is not None and (built := read_manifest(folder)) is not None:
        texts = folder / "text_files" / built.bias / f"{built.bias}_bias_manual_train.txt"
        raise UsageError(
            f"{folder} contains pairs that were built from {built.made_of}, but not the published texts.",
            f"Train on the built texts as on your own: --data {texts}, with --bias or --specification for the "
            "terms.",
        )
    base = dataset_folder(NAME, bias, folder)
    file = next(file for file in dataset(NAME).version(bias).files if file.only_for)
    path = found_file(base, file)
    if path is None:
        raise DatasetMissing(f"{base} has neither {file.path} nor {file.instead[0]} of RedditBias.", FETCH)
    return [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def training_source(bias: str, folder: Path | None = None) -> str:
    """Return a phrase that states whether the files of a bias type were compared with the published checksums."""
    since = first_fetched(NAME, bias, dataset_folder(NAME, bias, folder, allow_modified=True))
    return f"RedditBias {bias}, {known_since(since)}"


def _find_folder(bias: str, folder: Path | None) -> Path:
    """Return the folder that contains the files of a type."""
    base = dataset_folder(NAME, bias, folder)
    first = found_file(base, dataset(NAME).version(bias).files[0])
    return base if first is None else first.parent


def _one_type(
    folder: Path, bias: str, groups: tuple[str, str], split: str, called: str | None = None
) -> pl.DataFrame:
    """Return the pairs of one bias type.

    folder: contains the tables. groups: minoritised and dominant group. called: the name of the type if evenhand built
    the pairs (they need no perplexities), or None.
    """
    name = called or bias
    start = f"reddit_comments_{bias}_{groups[0]}"
    if split == "attributes":
        sides = ("biased_testset_neg", "unbiased_testset_pos")
        files = [f"{start}_processed_phrase_{side}_attr_reduced.csv" for side in sides]
        groups = ("negative", "positive")
    else:
        files = [f"reddit_comments_{bias}_{group}_biased_{split}_reduced.csv" for group in groups]
    first, second = (_read(folder / file, scored=called is None) for file in files)
    _check_rows(first, second, [folder / file for file in files])
    more, less = (table["comments_processed"].to_list() for table in (first, second))
    comments = first["comment"].to_list() if "comment" in first.columns else None
    phrases = phrase_clusters(more, less, same=comments)
    pair_ids = [f"{name}/{split}/{row}" for row in range(1, first.height + 1)]
    shared = pl.DataFrame(
        {
            "pair_id": pair_ids,
            "axis": [name] * len(pair_ids),
            "bias_type": [name] * len(pair_ids),
            "split": [split] * len(pair_ids),
            "phrase": [phrase or pair for phrase, pair in zip(phrases, pair_ids, strict=True)],
            "sent_more": more,
            "sent_less": less,
        }
    )
    rows = [
        shared.with_columns(
            prompt_id=pl.format("{}-{}", "pair_id", pl.lit(role)),
            text=pl.Series(texts),
            role=pl.lit(role),
            group=pl.lit(group),
            **{PERPLEXITY: table["perplexity"]},
        )
        for role, texts, group, table in zip(
            ("more", "less"), (more, less), groups, (first, second), strict=True
        )
    ]
    order = ["prompt_id", "text", "pair_id", "role", "axis", "bias_type", "group", "split", "phrase"]
    both = pl.concat([side.with_row_index("row") for side in rows]).sort("row", maintain_order=True)
    published = [] if called else [PERPLEXITY]
    return both.select(*order, "sent_more", "sent_less", *published)


def _read(path: Path, *, scored: bool) -> pl.DataFrame:
    table = read_table(path, HINT)
    if lacking := missing_columns(path, ["comments_processed", "perplexity"], table.columns, HINT):
        raise lacking
    if not scored:
        return table.filter(pl.col("comments_processed").is_not_null())
    numbers = table["perplexity"].cast(pl.Float64, strict=False)
    bad = (numbers.is_null() | ~(numbers > 0) | table["comments_processed"].is_null()).arg_true()
    if len(bad):
        raise DataError(f"{path}, row {bad[0] + 1}: expected a phrase and its perplexity.", HINT)
    return table.with_columns(numbers)


def _check_rows(first: pl.DataFrame, second: pl.DataFrame, paths: Sequence[Path]) -> None:
    """Raise a DataError if two tables do not form pairs row by row.

    If the second table has the column comments, it must contain the phrases of the first table.
    """
    if first.height != second.height:
        raise DataError(
            f"{paths[0]} has {first.height:,} rows, but {paths[1]} has {second.height:,}. Row by row, they must "
            "form pairs.",
            HINT,
        )
    if "comments" not in second.columns:
        return
    tidy = [table.str.to_lowercase().str.split(" ").list.eval(pl.element().filter(pl.element() != "")).list.join(" ")
            for table in (first["comments_processed"], second["comments"].fill_null(""))]  # fmt: skip
    other = (tidy[0] != tidy[1]).arg_true()
    if len(other):
        raise DataError(
            f"{paths[1]}, row {other[0] + 1}: the phrase is not the counterpart of the phrase in the same row of "
            f"{paths[0]}.",
            HINT,
        )
