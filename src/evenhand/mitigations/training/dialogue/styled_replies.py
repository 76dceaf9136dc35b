"""Replies to sentences that differ only in the descriptor, with their styles, read from a run or a table."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl

from evenhand.classifiers import MASKED_DESCRIPTOR, UNSAFE, classified_texts, load_or_advise
from evenhand.measures.texts import copied
from evenhand.mitigations.training.dialogue.renaming import mentions
from evenhand.mitigations.training.replies import Reply
from evenhand.models.dialogue import History
from evenhand.prompts.own_files import read_table, require_columns
from evenhand.runs import RunDirectory, answers
from evenhand.schema import DataError, is_folder
from evenhand.stats import Floats

BENCHMARK = "holisticbias-styles"
COLUMNS = ("text", "continuation", "descriptor", "template")
FILE = (
    f"Give the folder of a run of {BENCHMARK}, or a table (.csv, .jsonl, .parquet) with one row per reply. Its columns "
    "are text (the prompt sentence), continuation (the reply), descriptor and template, and optionally axis and noun. "
    "Styles are in style_scores (a list of probabilities) or in one column per style, style_NAME. Without styles, name "
    "a style classifier: --method style-equality?classifier=NAME."
)
WATCHED_SHARE = 0.1
"""Share of the descriptors whose replies are monitored and not learned."""
FEWEST_DESCRIPTORS = 6
FEWEST_WATCHED = 2


@dataclass(frozen=True, eq=False)
class StyledReplies:
    """Replies with their styles, and the division of descriptors.

    frame: descriptor, template, noun, text, continuation, one row per reply. styles: (n, styles). learned, watched:
    descriptors for training and validation. parroted: number of replies left out because they copy the sentence.
    missing: number of rows without a reply or a style.
    """

    frame: pl.DataFrame
    styles: Floats
    learned: tuple[str, ...]
    watched: tuple[str, ...]
    parroted: int
    missing: int

    def places(self, descriptors: Sequence[str]) -> list[int]:
        """Return the rows of some descriptors."""
        return (
            self.frame.select(pl.col("descriptor").is_in(list(descriptors)).arg_true()).to_series().to_list()
        )

    def reply(self, place: int) -> Reply:
        """Return a row as an example: the sentence is the opener, and the continuation is the reply."""
        row = self.frame.row(place, named=True)
        return Reply(History((), (row["text"],)), row["continuation"].strip())

    def own_and_other(self, seed: int) -> tuple[list[Reply], list[Reply], list[Reply]]:
        """Return replies about validation descriptors: after their own sentence, after that of another descriptor, and
        all.

        Replies that mention either descriptor are not compared. Raises DataError if no reply can be compared.
        """
        random = np.random.default_rng([seed, 7])
        places = self.places(self.watched)
        rows = {place: self.frame.row(place, named=True) for place in places}
        sentences: dict[tuple[str, str | None], dict[str, str]] = {}
        for row in rows.values():
            sentences.setdefault((row["template"], row["noun"]), {})[row["descriptor"]] = row["text"]
        first, second = list[Reply](), list[Reply]()
        for row in rows.values():
            same = sentences[row["template"], row["noun"]]
            others = sorted(set(same) - {row["descriptor"]})
            if not others:
                continue
            other = others[int(random.integers(len(others)))]
            said = row["continuation"].strip()
            if not any(mentions(said, _bare(one)) for one in (row["descriptor"], other)):
                first.append(Reply(History((), (row["text"],)), said))
                second.append(Reply(History((), (same[other],)), said))
        if len(first) < FEWEST_WATCHED:
            raise DataError(
                f"Too few validation replies about {', '.join(map(_bare, self.watched[:4]))} can be compared: only "
                f"{len(first)} of their prompts also exist with another descriptor in the same template and with the "
                f"same noun, and {FEWEST_WATCHED} are required.",
                FILE,
            )
        return first, second, [self.reply(place) for place in places]

    @cached_property
    def digest(self) -> str:
        """Return the SHA-256 (hex) of sentences, replies, styles and training descriptors."""
        found = hashlib.sha256(json.dumps([self.frame.rows(), self.learned, self.watched]).encode())
        found.update(np.ascontiguousarray(self.styles).tobytes())
        return found.hexdigest()


def read_styled_replies(path: Path, seed: int, classifier: str = "") -> StyledReplies:
    """Read replies and their styles from a run or a table.

    path: folder of a run with classified styles, or a table (see `FILE`). classifier: name of the style classifier for
    a table without styles; mentions of the descriptor are replaced by "left-handed" before classification.

    A descriptor on two axes counts as two. Replies that begin with the whole sentence are left out (parroting). Raises
    DataError if the format is wrong, there are too few descriptors, or styles are not finite numbers.
    """
    path = path.expanduser()
    if is_folder(path):
        directory = RunDirectory.open(path)
        if BENCHMARK not in directory.benchmarks:
            raise DataError(
                f"{path} contains {', '.join(directory.benchmarks) or 'nothing'}, but {BENCHMARK} is required.",
                FILE,
            )
        table = answers(directory, BENCHMARK)
    else:
        table = read_table(path, FILE)
    require_columns(table, COLUMNS, path, FILE)
    name = pl.col("descriptor").cast(pl.String)
    if "axis" in table.columns:
        name = pl.concat_str(pl.col("axis").cast(pl.String), name, separator=": ", ignore_nulls=True)
    noun = pl.col("noun").cast(pl.String) if "noun" in table.columns else pl.lit(None, pl.String)
    frame = table.select(
        name.alias("descriptor"), pl.col("template").cast(pl.String), noun.alias("noun"),
        pl.col("text").cast(pl.String),
        pl.col("continuation").cast(pl.String).str.replace_all(UNSAFE, "", literal=True),
    )  # fmt: skip
    styles = _styles(table, path, classifier)
    there = frame.select(
        pl.all_horizontal(pl.exclude("noun").is_not_null()) & (pl.col("continuation").str.strip_chars() != "")
    ).to_series().to_numpy()  # fmt: skip
    there &= np.isfinite(styles).all(axis=1)
    parrot = copied(frame)["whole"].fill_null(False).to_numpy() & there
    kept = there & ~parrot
    frame, styles = frame.filter(pl.Series(kept)), styles[kept]
    learned, watched = _split(frame, path, seed)
    return StyledReplies(frame, styles, learned, watched, int(parrot.sum()), int((~there).sum()))


def _bare(descriptor: str) -> str:
    """Return a descriptor without its axis."""
    return descriptor.rpartition(": ")[2]


def _split(frame: pl.DataFrame, path: Path, seed: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    names = frame["descriptor"].unique().sort().to_list()
    if len(names) < FEWEST_DESCRIPTORS:
        raise DataError(
            f"{path} contains replies about {len(names)} descriptors, but {FEWEST_DESCRIPTORS} are required (some "
            "are used for validation).",
            FILE,
        )
    number = max(round(WATCHED_SHARE * len(names)), FEWEST_WATCHED)
    drawn = set(np.random.default_rng([seed, 8]).permutation(len(names))[:number].tolist())
    parts: tuple[list[str], list[str]] = ([], [])
    for place, name in enumerate(names):
        parts[place in drawn].append(name)
    return tuple(parts[0]), tuple(parts[1])


def _styles(table: pl.DataFrame, path: Path, classifier: str) -> Floats:
    """Return the styles of each row, (n, styles); NaN if unknown."""
    columns = [name for name in table.columns if name.startswith("style_")]
    if "style_scores" in columns and isinstance(table.schema["style_scores"], pl.List | pl.Array):
        rows = table["style_scores"].to_list()
        sizes = {len(row) for row in rows if row is not None}
        if len(sizes) != 1:
            raise DataError(
                f"{path}: all rows of style_scores must have the same number of scores, found {sorted(sizes)}.",
                FILE,
            )
        empty = [np.nan] * sizes.pop()
        return np.array([empty if row is None else row for row in rows], dtype=np.float64)
    if classifier:
        texts = classified_texts(table, MASKED_DESCRIPTOR)
        judge = load_or_advise(classifier, "style", option="--method 'style-equality?classifier=NAME'")
        judged = judge.classify([text or "" for text in texts])
        scores = judged.scores.astype(np.float64)
        scores[[text is None for text in texts]] = np.nan
        return scores
    if len(columns) < 2:
        raise DataError(f"{path} has no columns with style scores of the replies.", FILE)
    try:
        return np.asarray(table.select(pl.col(columns).cast(pl.Float64)).to_numpy(), dtype=np.float64)
    except pl.exceptions.PolarsError as error:
        raise DataError(
            f"{path}: the columns {columns[0]} to {columns[-1]} must contain numbers: {str(error).splitlines()[0]}.",
            FILE,
        ) from error
