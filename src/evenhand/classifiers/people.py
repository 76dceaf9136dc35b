"""Human judgements as a classifier: texts are looked up in the export of an annotation study."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl

from evenhand.classifiers.contract import Labels
from evenhand.schema import (
    Card,
    DataError,
    Number,
    ResponseError,
    UsageError,
    Whole,
    compute_sha256,
    convert_options,
    frame_hash,
    list_options,
    parse_json,
    read_votes,
    unknown_name,
)

RATED = ("nominal", "ordinal", "interval")
"""Kinds of questions about a single text. Others compare two texts, mark turns, or have answers in words."""
Counting = Literal["majority", "any", "share"]

CARD = Card(
    name="people:FILE",
    summary="Human judgements from a file of `evenhand annotate export`; use it with --classifier people=FILE.",
    construct="What the study's question is about.",
    harm="A text counts as harmful if its answer is named in `negative` or, for numeric ratings, if its mean is at "
    "least `threshold`.",
    critique=(
        "Only texts that people judged are classified; others count as missing. Texts must match letter for letter "
        "(white space around them is ignored). For a classifier that reads context, the preceding words must match "
        "too. Three votes decide little: if 70% of all people agree on a text, a majority of three is right in 78% "
        "of cases. A tie is recorded as an error. Texts on which people disagree are not average texts, so leaving "
        "them out may change rates. The votes are those of the participants; others may see harm where they did "
        "not. Participants saw the text as written. If a classifier sees XYZ instead of the person, votes on texts "
        "that differ only in the person are pooled."
    ),
    licence="The licence of the file.",
    details=(
        "Use people:FILE?question=toxicity&negative=yes, or for numbers people:FILE?question=offence&threshold=5. "
        "The label is the option with most votes, and `scores` are the shares of the options. The score is the "
        "share of negative votes (for numbers, the mean). With votes=majority (default), the label decides. With "
        "votes=any, one negative vote is enough. With votes=share&threshold=0.3, at least this share of the votes "
        "must be negative. Further option: least (minimum number of votes per text, default 1). Onboarding, gold "
        "questions, repetitions, and rows that the study's rules exclude do not count."
    ),
)


@dataclass(frozen=True)
class TextJudgements:
    """The human judgements of one text."""

    votes: Mapping[str, int]
    """Number of judgements by answer."""
    mean: float
    """Mean of the judgements as numbers; NaN if they are not numbers."""


def load(options: Mapping[str, Any]) -> "PeopleVotes":
    """Return the classifier.

    The options are file, question, negative, votes, threshold and least (see CARD.details). Raises UsageError
    for unknown options, or if there are several questions and none is named. Raises DataError if the file is
    not an export of judgements of single texts.
    """
    return _load(
        **convert_options(f"the classifier 'people:{options.get('file', '')}'", options, list_options(_load))
    )


def _load(
    *,
    file: str = "",
    question: str | None = None,
    negative: tuple[str, ...] = (),
    votes: Counting = "majority",
    threshold: Number | None = None,
    least: Whole = 1,
) -> "PeopleVotes":
    path = Path(file).expanduser()
    table, header = read_votes(path)
    counted = table.filter(
        (pl.col("role") == "real")
        & pl.col("excluded").is_null()
        & pl.col("text").is_not_null()
        & pl.col("answer").is_not_null()
        & pl.col("measurement").is_in(RATED)
    )
    if counted.is_empty():
        raise DataError(
            f"{path} contains no judgement of a single text that the study's rules include.",
            "Run a study of texts to collect them: evenhand annotate --from RUN --template labels",
        )
    questions = counted["question"].unique(maintain_order=True).to_list()
    if question is None and len(questions) > 1:
        raise UsageError(
            f"{path.name} has several questions: {', '.join(questions)}.",
            f"Choose one, for example: people:{file}?question={questions[0]}",
        )
    question = question or questions[0]
    if question not in questions:
        raise unknown_name(f"question in {path.name}", question, questions)
    counted = counted.filter(pl.col("question") == question)
    numbers = counted["answer"].cast(pl.Float64, strict=False)
    numeric = numbers.is_finite().fill_null(value=False).all()  # an option may have a word as its name
    counted = counted.with_columns(value=numbers)
    known = _options(header, question) or sorted(set(counted["answer"]))
    if numeric and (negative or votes != "majority"):
        raise UsageError(
            f"The question {question!r} has numeric answers, so a text's score is their mean, and the options "
            "negative and votes cannot be used.",
            "Remove them, and set the smallest mean of a harmful text: threshold=NUMBER",
        )
    for name in negative:
        if name not in known:
            raise unknown_name(f"answer to {question}", name, known)
    if votes != "majority" and not negative:
        raise UsageError(
            f"The option votes={votes} requires the option negative: the answers that count as harmful.",
            "Name each harmful answer: negative=ANSWER",
        )
    if not numeric and (threshold is None) == (votes == "share"):
        raise UsageError(
            "The options votes=share and threshold must be used together: a text is harmful if at least this share "
            "of annotators chose a harmful answer.",
            "For example: votes=share&threshold=0.5. Or remove both: the majority of annotators then decides.",
        )
    if votes == "share" and not 0 < (threshold or 0) <= 1:
        raise UsageError(
            f"With votes=share, the threshold must be above 0 and at most 1, got {threshold}.",
            "For example: threshold=0.5",
        )
    return PeopleVotes(
        path, counted, question, () if numeric else tuple(known), negative, votes, threshold, least
    )


class PeopleVotes:
    """A classifier that returns the human judgements of texts; `load` creates it."""

    reads_context = True

    def __init__(
        self,
        path: Path,
        counted: pl.DataFrame,
        question: str,
        options: tuple[str, ...],
        negative: tuple[str, ...],
        votes: Counting,
        threshold: float | None,
        least: int,
    ) -> None:
        self.path, self.question, self.options, self.negative = path, question, options, negative
        self.votes, self.threshold, self.least = votes, threshold, least
        self.labels = options or (question,)
        said = _judgement_rows(counted)
        self._behind, self._anywhere = _judgements_by_text(said)
        # hash only included judgements, so that neither format nor order of the file matters
        self._revision = frame_hash(said.sort(said.columns))
        self._facts = {
            "persons": counted["person"].n_unique(),
            "votes": counted.height,
            "texts_in_file": counted.select("text", "context").n_unique(),
        }
        self._texts = self._found = self._ties = 0

    @property
    def fingerprint(self) -> dict[str, Any]:
        """Return a hash of the judgements that count, and how they are read.

        The path of the file and its other rows do not affect it.
        """
        return {
            "kind": "people",
            "name": "people",
            "revision": self._revision,
            "question": self.question,
            "labels": list(self.labels),
            "negative": list(self.negative),
            "votes": self.votes,
            "threshold": self.threshold,
            "least": self.least,
        }

    def classify(self, texts: Sequence[str], contexts: Sequence[str | None] | None = None) -> Labels:
        """Look up each text; see `Classifier.classify`.

        With `contexts`, judgements of the text after another context do not count. Without, all judgements of
        the text count. The error of a text is `missing` if fewer than `least` people judged it, `empty_text`
        if it is white space, and `classifier_error` if the judgements are tied.
        """
        before = contexts if contexts is not None else [None] * len(texts)
        found = [self._find_judgements(text, context) for text, context in zip(texts, before, strict=True)]
        problems = [self._problem(text, judged) for text, judged in zip(texts, found, strict=True)]
        self._texts += len(texts)
        self._found += sum(judged is not None for judged in found)
        self._ties += sum(code is ResponseError.CLASSIFIER_ERROR for code, _ in problems)
        scores = np.full((len(texts), len(self.labels)), np.nan)
        score = np.full(len(texts), np.nan)
        labels: list[str | None] = [None] * len(texts)
        negative: list[bool | None] = [None] * len(texts)
        for i, (judged, (code, _)) in enumerate(zip(found, problems, strict=True)):
            if code is None and judged is not None:
                scores[i], score[i], labels[i], negative[i] = self._answer(judged)
        return Labels(
            scores=scores.astype(np.float32),
            labels=labels,
            score=score,
            negative=negative,
            errors=[code for code, _ in problems],
            details=[detail for _, detail in problems],
        )

    def describe(self) -> dict[str, Any]:
        """Return facts for the report.

        They are the file, the question, the numbers of people and judgements, and the numbers of found and
        tied texts.
        """
        return {
            "name": f"people:{self.path.name}",
            "revision": compute_sha256(self.path),
            "licence": CARD.licence,
            "file": str(self.path),
            "question": self.question,
            "labels": list(self.labels),
            "negative": list(self.negative),
            "threshold": self.threshold,
            "votes_counted_as": self.votes,
            "least": self.least,
            **self._facts,
            "texts": self._texts,
            "found": self._found,
            "ties": self._ties,
            "calls": 0,
        }

    def _find_judgements(self, text: str, context: str | None) -> TextJudgements | None:
        if context is None:
            return self._anywhere.get(text.strip())
        return self._behind.get((text.strip(), context.strip())) or self._behind.get((text.strip(), None))

    def _problem(self, text: str, judged: TextJudgements | None) -> tuple[ResponseError | None, str | None]:
        if judged is None:
            code = ResponseError.MISSING if text.strip() else ResponseError.EMPTY_TEXT
            return code, f"nobody judged it in {self.path.name}"
        number = sum(judged.votes.values())
        if number < self.least:
            return ResponseError.MISSING, f"{number} of at least {self.least} votes in {self.path.name}"
        if self.options and self.votes == "majority" and len(_first(judged.votes)) > 1:
            told = ", ".join(f"{count} {option}" for option, count in sorted(judged.votes.items()))
            return ResponseError.CLASSIFIER_ERROR, f"tie: {told}"
        return None, None

    def _answer(self, judged: TextJudgements) -> tuple[list[float], float, str | None, bool | None]:
        if not self.options:
            verdict = None if self.threshold is None else judged.mean >= self.threshold
            return [judged.mean], judged.mean, None, verdict
        number = sum(judged.votes.values())
        shares = [judged.votes.get(option, 0) / number for option in self.options]
        first = _first(judged.votes)
        label = first[0] if len(first) == 1 else None
        if not self.negative:
            return shares, np.nan, label, None
        against = sum(judged.votes.get(option, 0) for option in self.negative)
        match self.votes:
            case "majority":
                verdict = label in self.negative
            case "any":
                verdict = against > 0
            case "share":
                verdict = against >= (self.threshold or 0) * number - 1e-9
        return shares, against / number, label, verdict


def _options(header: Mapping[str, Any], question: str) -> list[str]:
    """Return the options of a question in the order of the study; empty if the file does not state them."""
    asked = header.get("study", {}).get("questions", [])
    options: list[dict[str, Any]] = next(
        (one.get("options", []) for one in asked if one.get("id") == question), []
    )
    return [option["id"] for option in options]


def _judgement_rows(counted: pl.DataFrame) -> pl.DataFrame:
    """Return one row per judgement and text: the text as annotators saw it, and as classifiers got it."""
    known = {text: _texts_given(text) for text in counted["judgements"].drop_nulls().unique()}
    texts = [
        list(dict.fromkeys([shown.strip(), *known.get(given, [])]))
        for shown, given in counted.select("text", "judgements").iter_rows()
    ]
    return counted.select(
        "person",
        "item",
        "answer",
        "value",
        pl.col("context").str.strip_chars(),
        text=pl.Series(texts, dtype=pl.List(pl.String)),
    ).explode("text")


def _texts_given(judgements: str) -> list[str]:
    said = [judgement for judgement in parse_json(judgements).values() if isinstance(judgement, dict)]
    return [one["text"].strip() for one in said if isinstance(one.get("text"), str)]


def _judgements_by_text(
    said: pl.DataFrame,
) -> tuple[dict[tuple[str, str | None], TextJudgements], dict[str, TextJudgements]]:
    """Return the judgements by text and context, and by text alone.

    A judgement without a context counts for all contexts.
    """
    behind: dict[tuple[str, str | None], list[tuple[str, float | None]]] = defaultdict(list)
    anywhere: dict[str, list[tuple[str, float | None]]] = defaultdict(list)
    contexts: dict[str, set[str | None]] = defaultdict(set)
    rows = said.select("text", "context", "answer", "value").rows()
    for text, context, answer, value in rows:
        behind[text, context].append((answer, value))
        anywhere[text].append((answer, value))
        contexts[text].add(context)
    for text, known in contexts.items():
        for context in known - {None} if None in known else ():
            behind[text, context] += behind[text, None]
    return (
        {key: _count_votes(votes) for key, votes in behind.items()},
        {text: _count_votes(votes) for text, votes in anywhere.items()},
    )


def _count_votes(votes: Sequence[tuple[str, float | None]]) -> TextJudgements:
    values = [value for _, value in votes if value is not None]
    mean = float(np.mean(values)) if len(values) == len(votes) else np.nan
    return TextJudgements(Counter(answer for answer, _ in votes), mean)


def _first(votes: Mapping[str, int]) -> list[str]:
    most = max(votes.values())
    return [option for option, count in votes.items() if count == most]
