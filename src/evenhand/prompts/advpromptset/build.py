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
from evenhand.schema import Card, DataError, UsageError, frame_hash, sha256_of

STRATUM_COLUMNS = ("toxicity", "term_count", "identities")
TERM_COUNTS = ("1", "2", "3 or more")


@dataclass(frozen=True)
class Drawn:
    """What was drawn, and from which strata."""

    frame: pl.DataFrame
    """The pieces drawn, in their order, with `weight`: how many pieces of its stratum each stands for."""
    strata: pl.DataFrame
    """One row per stratum: STRATUM_COLUMNS, names (of the identities), before, after, weight (null: none was drawn)."""


def draw_evenly(pieces: pl.DataFrame, size: int | None = None, seed: int = 0) -> Drawn:
    """At most `size` pieces, spread evenly over the strata of ROBBIE.

    pieces: prompt_id, text, toxicity (0 or 1), n_terms (1 or more) and identities (24 digits). size: None keeps
    all. seed: decides who is drawn; a larger size of the same seed contains every smaller one.

    Strata are all combinations of toxicity, number of terms (1, 2, 3 or more) and pattern. The paper does not
    give the number from each; here every stratum gives equally many, and one that is smaller than its share is taken
    whole, the rest being shared among the others (with fewer pieces than strata, the seed decides which strata
    give one). What is compared are the groups and their intersections, and the error of a rate hangs on the
    number of prompts of a group, not on its share: proportional shares would give the rarest identity (15 of
    197,628 pieces in the paper's table 8) one prompt in a set of 10,000. As a consequence, rates of all sampled
    prompts are not those of the whole set; `weight` restores them.

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
    return Drawn(weighted.drop("term_count"), strata)


def term_count() -> pl.Expr:
    """The class of a number of terms: 1, 2, or 3 or more.

    Source: ROBBIE, appendix B.1.2.

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
"""Called with a stage, and how many are done, of how many."""


@dataclass(frozen=True)
class Build:
    """How the set is built."""

    terms: Path | None = None
    """A table of terms to take as it is, instead of expanding seeds."""
    seeds: Path | None = None
    """Your own seed terms, in addition to the built-in ones."""
    neighbours: int = 10
    """Number of nearest neighbours examined for each seed."""
    least_similarity: float = 0.7
    """Cosine from which they count."""
    least_count: int = 20
    """Occurrences from which a word or pair of words is a candidate."""
    phrases: bool = True
    """Whether pairs of words are candidates as well."""
    size: int | None = None
    """Pieces to draw; None: all that hold a term."""
    seed: int = 0
    """Of that draw."""
    only_terms: bool = False
    """Stop when the table of terms is there, so that a person can edit it."""

    def __post_init__(self) -> None:
        for name in ("neighbours", "least_count", "size"):
            if (number := getattr(self, name)) is not None and number < 1:
                raise UsageError(f"{name} must be at least 1, got {number}.")
        if not -1 <= self.least_similarity <= 1:
            raise UsageError(
                f"The minimum similarity must be a cosine from -1 to 1, got {self.least_similarity:g}."
            )


@dataclass(frozen=True)
class Built:
    """What a build came to."""

    terms: Path
    """The table of terms that was used."""
    stages: Path
    """The folder of intermediate tables, with strata.csv and agreement.csv."""
    pieces: int
    """Pieces cut out of the comments."""
    kept: int = 0
    """Those that hold a term."""
    written: int = 0
    """Those in the file; 0 if only the terms were asked for."""


def build_advpromptset(
    source: Path | str,
    output: Path | str,
    embedding: Embedding | None = None,
    how: Build | None = None,
    report_progress: ReportStage | None = None,
) -> Built:
    """Build the set from the two Kaggle folders and write it as JSON lines, whole or not at all.

    source: as in `extract_advpromptset`. output: the file; intermediate tables are next to it in <name>_stages
    and are reused as long as their sources are the same. embedding: a `SentenceEmbedding` or anything
    that turns words into vectors; not needed where `how.terms` is given or the table of terms is there already.
    how: see `Build`. report_progress: called with a stage, and how many are done, of how many.

    A table of terms that a person has edited is used as it stands and never overwritten. Returns what was made.
    Raises UsageError where neither embedding nor terms are given, and where an edited table would have to be made
    anew; DataError for broken downloads or tables and when no piece holds a term; WriteError.
    Source: ROBBIE, section 2.3.2 and appendices B.1.2 and B.1.3.
    """
    how, source, output = how or Build(), Path(source), Path(output)
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
    known = read_terms(how.terms) if how.terms else None  # a broken table is said before hours of work
    seeds = seed_terms(user_terms=how.seeds)
    report = report_progress or (lambda stage, done, total: None)
    key, pieces = _pieces(source, stages, report)
    path = how.terms or _terms(stages, key, pieces["comment_text"], seeds, embedding, how, report)
    if how.only_terms:
        return Built(path, stages.folder, pieces.height)
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
    return Built(path, stages.folder, pieces.height, with_terms.height, drawn.frame.height)


def label_pieces(
    pieces: pl.DataFrame, terms: pl.DataFrame, report_progress: ReportProgress | None = None
) -> pl.DataFrame:
    """The pieces with their terms and identities.

    pieces: as `number_pieces` gives them. terms: one row per (term, identity). report_progress: as in
    `matching.find_terms`. Returns them with text, n_terms, terms, term_identities (the pattern of what the terms
    say), the 24 identities and their pattern `identities`: of an annotated piece what Jigsaw's raters marked in its
    comment, of any other what the terms say.
    Source: ROBBIE, section 2.3.2: labels are predicted for the comments without any.
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
    """How well the terms tell what Jigsaw's raters saw, in the comments that were annotated.

    labelled: as `label_pieces` gives it. Returns one row per identity: comments that raters marked, that hold a
    term (in any piece), both; precision and recall (null: nothing to divide by). Raters saw the whole comment,
    of which pieces may be missing.
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
    def cut() -> pl.DataFrame:
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
        extract_advpromptset(source)  # says which is missing
    key = content_key(VERSION, [sha256_of(file) for file in files])
    return key, stages.frame(PIECES, key, cut)


def _terms(
    stages: Stages,
    pieces_key: str,
    texts: pl.Series,
    seeds: pl.DataFrame,
    embedding: Embedding | None,
    how: Build,
    report: ReportStage,
) -> Path:
    path = stages.folder / TERMS
    if embedding is None:
        return path
    candidates_key = content_key(pieces_key, how.least_count, how.phrases)
    key = content_key(
        candidates_key, frame_hash(seeds), embedding.fingerprint, how.neighbours, how.least_similarity
    )
    if path.is_file() and stages.key_of(TERMS) == key:
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
    embedding: Embedding | None, how: Build, terms: pl.DataFrame, pieces: int, kept: int
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
