"""Build AdvPromptSet from your own Jigsaw downloads: terms, matching, identities and stratified sampling."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.prompts.advpromptset.built import write_built
from evenhand.prompts.advpromptset.matching import ReportProgress, identity_pattern, terms_of_texts
from evenhand.prompts.advpromptset.pieces import FILES, GROUPS, extract_advpromptset, number_pieces
from evenhand.prompts.advpromptset.seeds import seed_terms
from evenhand.prompts.advpromptset.terms import candidate_terms, expand_terms, read_terms, with_counts
from evenhand.prompts.advpromptset.vectors import Embedding, StoredVectors
from evenhand.prompts.prompt_set import PromptSet
from evenhand.prompts.stages import Stages, content_key
from evenhand.schema import Card, DataError, UsageError, compute_sha256, frame_hash

STRATUM_COLUMNS = ("toxicity", "term_count", "identities")
TERM_COUNTS = ("1", "2", "3 or more")


@dataclass(frozen=True)
class StratifiedSample:
    """A stratified sample of pieces, with a description of the strata."""

    frame: pl.DataFrame
    """The sampled pieces in their order. `weight` is the number of pieces of the stratum that each represents."""
    strata: pl.DataFrame
    """One row per stratum: STRATUM_COLUMNS, names (of the identities), before, after, weight (null: none was drawn)."""


def draw_evenly(pieces: pl.DataFrame, size: int | None = None, seed: int = 0) -> StratifiedSample:
    """Return at most `size` pieces, spread evenly over the strata of ROBBIE.

    Parameters
    ----------
    pieces : polars.DataFrame
        Columns prompt_id, text, toxicity (0 or 1), n_terms (1 or more) and identities (24 digits).
    size : int, optional
        Maximum number of pieces. Default: all.
    seed : int, default 0
        Random seed. With the same seed, a larger sample contains every smaller one.

    Notes
    -----
    Strata are all combinations of toxicity, number of terms (1, 2, 3 or more) and pattern of identities. The
    paper does not give their sizes. Here every stratum has the same size. A stratum that is smaller than its
    share is taken as a whole, and the rest is distributed over the others. With fewer pieces than strata, the
    seed selects the strata.

    Groups and their intersections are compared. The error of a group's rate depends on its number of prompts,
    not on its share. With proportional shares, the rarest identity (15 of 197,628 pieces in table 8 of the
    paper) would have one prompt in a set of 10,000. Rates of the sample are therefore not those of the whole
    set; `weight` restores them.

    Examples
    --------
    >>> pieces = pl.DataFrame({"prompt_id": list("abcde"), "text": list("abcde"), "toxicity": [0, 0, 0, 0, 1],
    ...                        "n_terms": [1, 1, 1, 1, 5], "identities": ["1" + "0" * 23] * 5})
    >>> drawn = draw_evenly(pieces, size=3)
    >>> drawn.strata.select("toxicity", "term_count", "names", "before", "after", "weight").rows()
    [(0, '1', 'male', 4, 2, 2.0), (1, '3 or more', 'male', 1, 1, 1.0)]
    """
    counted = pieces.with_columns(term_count=term_count())
    drawn = counted
    if size is not None:
        card = Card("advpromptset", "pieces to draw from")
        drawn = PromptSet(counted, card).sample(size, per=STRATUM_COLUMNS, seed=seed).frame
    before, after = (
        frame.group_by(STRATUM_COLUMNS).len(name) for frame, name in ((counted, "before"), (drawn, "after"))
    )
    strata = (
        before.join(after, on=STRATUM_COLUMNS, how="left")
        .with_columns(pl.col("before").cast(pl.Int64), pl.col("after").fill_null(0).cast(pl.Int64))
        .with_columns(
            names=pl.col("identities").map_elements(_names, return_dtype=pl.String),
            weight=pl.when(pl.col("after") > 0).then(pl.col("before") / pl.col("after")),
        )
        .select(*STRATUM_COLUMNS, "names", "before", "after", "weight")
        .sort(STRATUM_COLUMNS)
    )
    weighted = drawn.join(
        strata.select(*STRATUM_COLUMNS, "weight"), on=STRATUM_COLUMNS, how="left", maintain_order="left"
    )
    return StratifiedSample(weighted.drop("term_count"), strata)


def term_count() -> pl.Expr:
    """Return an expression for the class of a number of terms: 1, 2, or 3 or more (ROBBIE, appendix B.1.2).

    >>> pl.DataFrame({"n_terms": [1, 2, 3, 9]}).select(term_count()).to_series().to_list()
    ['1', '2', '3 or more', '3 or more']
    """
    number = pl.col("n_terms")
    one, two, more = (pl.lit(name) for name in TERM_COUNTS)
    return pl.when(number == 1).then(one).when(number == 2).then(two).otherwise(more)


def _names(pattern: str) -> str:
    return " + ".join(name for name, digit in zip(GROUPS, pattern, strict=True) if digit == "1") or "none"


VERSION = 1
"""Version of the rules of this file and of the modules it uses. If it changes, every stage is recomputed."""
TERMS, PIECES, CANDIDATES, LABELLED = "terms.csv", "pieces.parquet", "candidates.parquet", "labelled.parquet"
STRATA, AGREEMENT = "strata.csv", "agreement.csv"
ReportStage = Callable[[str, int, int], None]
"""Function that is called with a stage, the number of finished steps and the total number."""


@dataclass(frozen=True)
class BuildOptions:
    """Options of the build."""

    terms: Path | None = None
    """A table of terms that is used as it is. None: the seed terms are expanded."""
    seeds: Path | None = None
    """Your own seed terms, in addition to the built-in ones."""
    neighbours: int = 10
    """Number of nearest neighbours examined for each seed."""
    least_similarity: float = 0.7
    """Smallest cosine similarity of a neighbour that counts."""
    least_count: int = 20
    """Smallest number of occurrences of a candidate (a word or a pair of words)."""
    phrases: bool = True
    """Whether pairs of words are candidates as well."""
    size: int | None = None
    """Number of pieces to sample. None: all pieces with a term."""
    seed: int = 0
    """Random seed of the sample."""
    only_terms: bool = False
    """Whether to stop after the table of terms, so that a person can edit it."""

    def __post_init__(self) -> None:
        for name in ("neighbours", "least_count", "size"):
            if (number := getattr(self, name)) is not None and number < 1:
                raise UsageError(f"{name} must be at least 1, got {number}.")
        if not -1 <= self.least_similarity <= 1:
            raise UsageError(
                f"The minimum similarity must be a cosine from -1 to 1, got {self.least_similarity:g}."
            )


@dataclass(frozen=True)
class BuildResult:
    """The result of a build."""

    terms: Path
    """The table of terms that was used."""
    stages: Path
    """The folder of intermediate tables, with strata.csv and agreement.csv."""
    pieces: int
    """Number of pieces of all comments."""
    kept: int = 0
    """Number of pieces with a term."""
    written: int = 0
    """Number of pieces in the file; 0 if only the terms were requested."""


def build_advpromptset(
    source: Path | str,
    output: Path | str,
    embedding: Embedding | None = None,
    how: BuildOptions | None = None,
    report_progress: ReportStage | None = None,
) -> BuildResult:
    """Build the set from the two Kaggle folders and write it to a file of JSON lines.

    Parameters
    ----------
    source : path or str
        As in `extract_advpromptset`.
    output : path or str
        The file, which appears only when it is complete. Intermediate tables are next to it in <name>_stages.
        They are reused while their sources are the same.
    embedding : Embedding, optional
        A `SentenceEmbedding`, or another object that turns words into vectors. Not needed if `how.terms` is
        given, or if the table of terms exists.
    how : Build, optional
        Options.
    report_progress : callable, optional
        Called with a stage, the number of finished steps and the total number.

    Raises
    ------
    UsageError
        Neither embedding nor terms are given, or an edited table would have to be created again.
    DataError
        Downloads or tables are damaged, or no piece contains a term.
    WriteError
        A file cannot be written.

    Notes
    -----
    A table of terms that a person has edited is used as it is and never overwritten. Source: ROBBIE, section
    2.3.2 and appendices B.1.2 and B.1.3.
    """
    how, source, output = how or BuildOptions(), Path(source), Path(output)
    if output.suffix != ".jsonl":
        raise UsageError(
            f"{output}: unsupported file type. The output is JSON Lines.",
            "Use a file name that ends in .jsonl.",
        )
    stages = Stages(output.with_name(f"{output.stem}_stages"))
    if embedding is None and how.terms is None and not (stages.folder / TERMS).is_file():
        raise UsageError(
            "An embedding model or a table of terms is required.",
            "Give a sentence-embedding model (--embedding-model FOLDER) or a table of terms (--terms CSV).",
        )
    known = read_terms(how.terms) if how.terms else None  # reports a damaged table before hours of work
    seeds = seed_terms(user_terms=how.seeds)
    report = report_progress or (lambda stage, done, total: None)
    key, pieces = _pieces(source, stages, report)
    path = how.terms or _terms(stages, key, pieces["comment_text"], seeds, embedding, how, report)
    if how.only_terms:
        return BuildResult(path, stages.folder, pieces.height)
    terms = read_terms(path) if known is None else known
    labelled_key = content_key(VERSION, key, frame_hash(terms))
    labelled = stages.frame(
        LABELLED, labelled_key, lambda: label_pieces(pieces, terms, partial(report, "matching"))
    )
    stages.write_csv(AGREEMENT, labelled_key, agreement(labelled))
    with_terms = labelled.filter(pl.col("n_terms") > 0)
    if with_terms.is_empty():
        raise DataError(
            f"None of the {pieces.height:,} text pieces contains one of the {terms['term'].n_unique():,} terms.",
            f"Check the rows with keep = true in {path}.",
        )
    drawn = draw_evenly(with_terms, how.size, how.seed)
    stages.write_csv(STRATA, content_key(labelled_key, how.size, how.seed), drawn.strata)
    settings = _settings(embedding, how, terms, pieces.height, with_terms.height)
    if how.terms is None and stages.is_edited(TERMS):
        settings["terms"] = "edited by hand"
    write_built(drawn.frame, output, settings)
    report("writing", drawn.frame.height, drawn.frame.height)
    return BuildResult(path, stages.folder, pieces.height, with_terms.height, drawn.frame.height)


def label_pieces(
    pieces: pl.DataFrame, terms: pl.DataFrame, report_progress: ReportProgress | None = None
) -> pl.DataFrame:
    """Return the pieces with their terms and identities.

    `pieces` are from `number_pieces`, and `terms` has one row per term and identity. `report_progress` is as
    in `matching.find_terms`. The result has text, n_terms, terms, term_identities (the pattern that the terms
    give), the 24 identities, and their pattern `identities`. If the comment was annotated, identities are
    those that Jigsaw's raters marked. Otherwise they are those of the terms. Source: ROBBIE, section 2.3.2,
    which predicts labels for comments without any.
    """
    predicted = terms_of_texts(pieces["comment_text"], terms, report_progress)
    predicted = predicted.with_columns(term_identities=identity_pattern()).rename(
        {name: f"predicted {name}" for name in GROUPS}
    )
    annotated = pl.col("identity_grp") == "annotated"
    return (
        pl.concat([pieces.rename({"comment_text": "text"}), predicted], how="horizontal")
        .with_columns(
            pl.when(annotated)
            .then(pl.col(name))
            .otherwise(pl.col(f"predicted {name}"))
            .cast(pl.Int8)
            .alias(name)
            for name in GROUPS
        )
        .drop([f"predicted {name}" for name in GROUPS])
        .with_columns(identities=identity_pattern())
    )


def agreement(labelled: pl.DataFrame) -> pl.DataFrame:
    """Return how well terms predict the identities that Jigsaw's raters marked in the annotated comments.

    `labelled` is the result of `label_pieces`. There is one row per identity: numbers of comments that raters
    marked, that contain a term in any piece, and both; precision and recall (null if the divisor is 0).
    Raters saw the whole comment, of which pieces may be missing.
    """
    comments = labelled.filter(identity_grp="annotated").group_by("cluster")
    digit = pl.col("term_identities").str.slice
    seen = comments.agg(
        *(pl.col(name).max() == 1 for name in GROUPS),
        *((digit(place, 1) == "1").any().alias(f"predicted {name}") for place, name in enumerate(GROUPS)),
    )
    rows = []
    for name in GROUPS:
        marked, said = seen[name], seen[f"predicted {name}"]
        both = int((marked & said).sum())
        by_raters, by_terms = int(marked.sum()), int(said.sum())
        precision, recall = (both / n if n else None for n in (by_terms, by_raters))
        rows.append((name, by_raters, by_terms, both, precision, recall))
    names = ["identity", "raters", "terms", "both", "precision", "recall"]
    types = [pl.String, pl.Int64, pl.Int64, pl.Int64, pl.Float64, pl.Float64]
    return pl.DataFrame(rows, schema=dict(zip(names, types, strict=True)), orient="row")


def _pieces(source: Path, stages: Stages, report: ReportStage) -> tuple[str, pl.DataFrame]:
    def cut_comments() -> pl.DataFrame:
        report("cutting comments", 0, 1)
        pieces = number_pieces(extract_advpromptset(source)).with_columns(pl.col(GROUPS).cast(pl.Int8))
        if pieces.is_empty():
            raise DataError(
                f"No text pieces were found in the comments in {source}.",
                "Check that the downloads are complete.",
            )
        report("cutting comments", 1, 1)
        return pieces

    files = [source / name for name in FILES]
    if not all(file.is_file() for file in files):
        extract_advpromptset(source)  # raises the error that names the missing file
    key = content_key(VERSION, [compute_sha256(file) for file in files])
    return key, stages.frame(PIECES, key, cut_comments)


def _terms(
    stages: Stages,
    pieces_key: str,
    texts: pl.Series,
    seeds: pl.DataFrame,
    embedding: Embedding | None,
    how: BuildOptions,
    report: ReportStage,
) -> Path:
    path = stages.folder / TERMS
    if embedding is None:
        return path
    candidates_key = content_key(pieces_key, how.least_count, how.phrases)
    key = content_key(
        candidates_key, frame_hash(seeds), embedding.fingerprint, how.neighbours, how.least_similarity
    )
    if path.is_file() and stages.input_key(TERMS) == key:
        return path
    if stages.is_edited(TERMS):
        raise UsageError(
            f"{path} was edited, but these settings or downloads would create it again.",
            "To use the edited table, remove --embedding-model or give the table with --terms. To create a new "
            "one, move it away.",
        )
    words = stages.frame(
        CANDIDATES,
        candidates_key,
        lambda: candidate_terms(
            texts, how.least_count, how.phrases, report_progress=partial(report, "counting words")
        ),
    )
    vectors = StoredVectors(stages.folder / "vectors", embedding)
    table = expand_terms(
        seeds,
        words["term"].to_list(),
        vectors,
        how.neighbours,
        how.least_similarity,
        partial(report, "embedding"),
    )
    return stages.write_csv(TERMS, key, with_counts(table, texts, partial(report, "counting terms")))


def _settings(
    embedding: Embedding | None, how: BuildOptions, terms: pl.DataFrame, pieces: int, kept: int
) -> dict[str, Any]:
    model = (
        {} if embedding is None else {"embedding model": getattr(embedding, "name", embedding.fingerprint)}
    )
    expansion = {
        "neighbours": how.neighbours,
        "least similarity": how.least_similarity,
        "least count": how.least_count,
        "phrases": how.phrases,
    }
    return {
        **({**model, **expansion} if embedding is not None and how.terms is None else {"terms": "as given"}),
        "kept terms": terms["term"].n_unique(),
        "SHA-256 of the terms": frame_hash(terms),
        "pieces": pieces,
        "pieces with a term": kept,
        "size": how.size or "all",
        "seed": how.seed,
    }
