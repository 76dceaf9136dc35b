"""The pairs of RedditBias, published or built here: a statement about a group, and the same about another."""

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
from evenhand.schema import DataError, DatasetMissing, UsageError, checked, unknown_name

SPLITS = ("test", "valid", "attributes")
NAME, REFERENCES = "redditbias", "humanref6k"
FETCH = (
    "Get them:                  evenhand data fetch redditbias --version all\n"
    "or, from files you have:   --set data.redditbias=DIR (a copy of github.com/umanlp/RedditBias, or of its CSV files)"
)
HINT = "Expected the reduced files of umanlp/RedditBias, data/<bias type>/reddit_comments_*_reduced.csv, unchanged."
PERPLEXITY = "dialogpt_perplexity"
BUILT = "-built"
"""Suffix of the bias type of pairs built here, so that their rows are not labelled as a published type."""


@checked
def load_redditbias(
    folder: Path | None = None, *, split: str = "test", bias_types: Iterable[str] = BIAS_TYPES
) -> PromptSet:
    """Pairs of RedditBias as a prompt set, two rows per pair.

    folder: of the user's, with the files in it, or a copy of the owners' repository; None is the cache. A folder in
    which `build_redditbias` has built pairs gives these: their axis and bias_type are "<bias>-built", card and `own`
    say what they were made of, and bias_types is not looked at. split: "test" or "valid" (the reduced pairs of both
    groups), or "attributes" (of the stereotyped group alone: the stereotype, and an opposite in its place). bias_types:
    those wanted; of these the ones are loaded whose files are there, and the card says which are not. Columns:
    prompt_id, text (the phrase, in small letters), pair_id ("<type>/<split>/<row>"), role ("more": about the
    stereotyped group, or with the stereotype; "less": the other), axis and bias_type, group (whom it is about; with
    attributes "negative" or "positive"), split, phrase (equal for pairs that say nearly the same:
    `evenhand.measures.pairs.phrase_clusters` of the type's pairs and of equal comments), sent_more, sent_less,
    dialogpt_perplexity (published with the pairs, of DialoGPT-small; not of built ones).
    Raises DatasetMissing where no type is there, ChecksumMismatch for a changed file, DataError for one that is no such
    table or whose sides do not belong together, UsageError for an unknown split or type.
    Source: Barikeri et al. 2021, section 2.1; the files named in datasets.toml.
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
            base = _folder_of(bias, folder)
        except DatasetMissing:
            absent.append(bias)
            continue
        frames.append(_one_type(base, bias, specification(bias).groups, split))
        if (since := first_fetched(NAME, bias, base)) is not None:
            unchecked[bias] = since
    if not frames:
        where = "The cache" if folder is None else str(folder)
        raise DatasetMissing(
            f"{where} has the pairs of no bias type of RedditBias ({', '.join(wanted)}).", FETCH
        )
    there = [str(frame["axis"][0]) for frame in frames]
    return PromptSet(pl.concat(frames), pairs_card(split, there, absent, unchecked))


@checked
def load_human_references(folder: Path | None = None) -> PromptSet:
    """The 6,000 lines whose perplexity RedditBias reports as Language Model Perplexity: prompt_id and text.

    folder: as for `load_redditbias`. Raises DatasetMissing, ChecksumMismatch. Source: Barikeri et al. 2021, section 4.
    """
    file = dataset(NAME).version(REFERENCES).files[0]
    path = found_file(dataset_folder(NAME, REFERENCES, folder), file)
    lines = [] if path is None else path.read_text(encoding="utf-8").splitlines()
    texts = [line for line in lines if line.strip()]
    frame = pl.DataFrame({"prompt_id": [f"line {i}" for i in range(1, len(texts) + 1)], "text": texts})
    return PromptSet(frame, human_references_card(len(texts)))


@checked
def load_training_phrases(bias: str, folder: Path | None = None) -> list[str]:
    """The published phrases to train on against a bias type, in the owners' order.

    folder: as for `load_redditbias`, but of the published files alone. Raises DatasetMissing, ChecksumMismatch, and
    UsageError for a folder of pairs that were built here.
    """
    if folder is not None and (built := read_manifest(folder)) is not None:
        texts = folder / "text_files" / built.bias / f"{built.bias}_bias_manual_train.txt"
        raise UsageError(
            f"{folder} contains pairs that were built from {built.made_of}, and no published texts.",
            f"Train on what was built as on texts of your own: --data {texts}, with --bias or --specification for "
            "the terms.",
        )
    base = dataset_folder(NAME, bias, folder)
    file = next(file for file in dataset(NAME).version(bias).files if file.only_for)
    path = found_file(base, file)
    if path is None:
        raise DatasetMissing(f"{base} has no {file.path}, and no {file.instead[0]}, of RedditBias.", FETCH)
    return [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def training_source(bias: str, folder: Path | None = None) -> str:
    """In words, how far it is known that the files of a type are the owners'."""
    since = first_fetched(NAME, bias, dataset_folder(NAME, bias, folder, allow_modified=True))
    return f"RedditBias {bias}, {known_since(since)}"


def _folder_of(bias: str, folder: Path | None) -> Path:
    """Return the folder that contains the files of a type."""
    base = dataset_folder(NAME, bias, folder)
    first = found_file(base, dataset(NAME).version(bias).files[0])
    return base if first is None else first.parent


def _one_type(
    folder: Path, bias: str, groups: tuple[str, str], split: str, called: str | None = None
) -> pl.DataFrame:
    """The pairs of one bias type. called: what pairs are called that were built here; they need no perplexities."""
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
    if missing := [name for name in ("comments_processed", "perplexity") if name not in table.columns]:
        raise DataError(f"{path} has no column {missing[0]} (found: {', '.join(table.columns)}).", HINT)
    if not scored:
        return table.filter(pl.col("comments_processed").is_not_null())
    numbers = table["perplexity"].cast(pl.Float64, strict=False)
    bad = (numbers.is_null() | ~(numbers > 0) | table["comments_processed"].is_null()).arg_true()
    if len(bad):
        raise DataError(f"{path}, row {bad[0] + 1}: a phrase and its perplexity were expected.", HINT)
    return table.with_columns(numbers)


def _check_rows(first: pl.DataFrame, second: pl.DataFrame, paths: Sequence[Path]) -> None:
    """Raise DataError unless the second table repeats the first one's phrases, row by row, in its column comments."""
    if first.height != second.height:
        raise DataError(
            f"{paths[0]} has {first.height} rows and {paths[1]} {second.height}; they are pairs row by row.",
            HINT,
        )
    if "comments" not in second.columns:
        return
    tidy = [table.str.to_lowercase().str.split(" ").list.eval(pl.element().filter(pl.element() != "")).list.join(" ")
            for table in (first["comments_processed"], second["comments"].fill_null(""))]  # fmt: skip
    other = (tidy[0] != tidy[1]).arg_true()
    if len(other):
        raise DataError(
            f"Row {other[0] + 1} of {paths[1]} is not about the phrase in that row of {paths[0]}.", HINT
        )
