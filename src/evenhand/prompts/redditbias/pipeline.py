"""Build pairs of phrases from dumps of comments, in steps that each write a table.

A table is recomputed only if its sources have changed. The steps stop when annotators must label phrases, and continue
once the labels are given.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import polars as pl

from evenhand.prompts.redditbias.annotation import (
    biased_phrases,
    label_counts,
    read_annotations,
    to_annotate,
)
from evenhand.prompts.redditbias.bias_types import Specification
from evenhand.prompts.redditbias.cleaning import MOST_CHARACTERS, clean_comments
from evenhand.prompts.redditbias.counterparts import residues, with_counterparts
from evenhand.prompts.redditbias.dumps import SEARCHED, dump_files, found_comments, search_dump
from evenhand.prompts.redditbias.filtering import extract_phrases, with_single_target
from evenhand.prompts.redditbias.perplexities import (
    SECOND,
    read_perplexities,
    texts_to_score,
    without_outliers,
)
from evenhand.prompts.redditbias.published_files import (
    write_attribute_swaps,
    write_held_out,
    write_manifest,
    write_training,
)
from evenhand.prompts.redditbias.splits import train_and_held_out, valid_and_test
from evenhand.prompts.redditbias.unpacking import EXPECTED
from evenhand.prompts.stages import Stages, content_key
from evenhand.schema import (
    DataError,
    UsageError,
    compute_sha256,
    frame_hash,
    is_file,
    table_bytes,
    write_table,
)

VERSION = 1
"""Version of the rules of these steps. If it changes, every table is recomputed."""
TABLES = "tables"
TO_ANNOTATE, TO_SCORE, SEARCH = "to_annotate.csv", "to_score.csv", "dumps.csv"
ENDS = 1 << 16
"""Number of bytes at each end that identify a dump, together with its size and date."""
ReportStage = Callable[[str, int, int], None]
"""Function that is called with a step, the number of finished items and the total number."""


@dataclass(frozen=True)
class Steps:
    """Options of `build_redditbias`."""

    as_published: bool = False
    """True to use the published rules with their errors, False to use the corrected rules."""
    most_characters: int = MOST_CHARACTERS
    """Cleaned comments with this number of characters or more are left out."""

    def __post_init__(self) -> None:
        if self.most_characters < 2:
            raise UsageError(f"most_characters must be at least 2, got {self.most_characters}.")


@dataclass(frozen=True)
class BuiltPairs:
    """The result of a build.

    Tables are in <folder>/tables, and files in the published layout in <folder>/data and <folder>/text_files.
    """

    folder: Path
    bias: str
    counts: dict[str, int]
    """Number of rows of each table so far, in the order of the steps."""
    warnings: tuple[str, ...] = ()
    """Problems in dumps or annotations that did not stop the build."""
    residues: pl.DataFrame | None = None
    """Result of `counterparts.residues`; None before that step."""
    labels: pl.DataFrame | None = None
    """How often each label was given (result of `annotation.label_counts`); None before that step."""
    to_annotate: Path | None = None
    """File with the table to be labelled, if the build waits for labels."""
    to_score: Path | None = None
    """File with the held-out texts to score, if no perplexities were given. Outliers are then not left out."""


def build_redditbias(
    specification: Specification,
    folder: Path | str,
    dumps: Sequence[Path | str] = (),
    annotations: Path | str | None = None,
    perplexities: Path | str | None = None,
    how: Steps | None = None,
    report_progress: ReportStage | None = None,
) -> BuiltPairs:
    """Build the phrases and pairs of one bias type, up to the step that the given files allow.

    Parameters
    ----------
    specification : Specification
        Terms and rules of the bias type.
    folder : path or str
        Folder of the build. A build that was stopped there is resumed, even if the process was killed.
    dumps : sequence of path or str
        Files or folders of dumps, as in `dumps.dump_files`. Not needed with `annotations`.
    annotations : path or str, optional
        The labelled table. Without it, the build writes the table to be labelled and stops.
    perplexities : path or str, optional
        Perplexities of the held-out texts under a model. Without it, no outliers are left out.
    how : Steps, optional
        Options. Default: the corrected rules.
    report_progress : callable, optional
        Called with a step, the number of finished items and the total number.

    Returns
    -------
    BuiltPairs
        Number of rows of each table, warnings, and the files that you must complete next.

    Raises
    ------
    UsageError
        Neither dumps nor annotations are given, or you edited the table to be labelled, and the build would have to
        overwrite it.
    DataError
        A file is damaged, or no comment matches the search terms.
    WriteError
        A file cannot be written.

    Notes
    -----
    A table appears only when it is complete, and is recomputed only if its sources have changed. Source: Barikeri et
    al. 2021, sections 2 and 5.1.
    """
    how, folder = how or Steps(), Path(folder)
    report = report_progress or (lambda step, done, total: None)
    if not dumps and annotations is None:
        raise UsageError(
            "Neither `--from` nor `--annotations` was given.",
            "Give dumps of Reddit comments (--from FILE), or a labelled table (--annotations FILE).",
        )
    stages = Stages(folder / TABLES)
    base = content_key(VERSION, specification.stored_form(), asdict(how))
    counts: dict[str, int] = {}
    warnings: list[str] = []
    if dumps:
        phrases = _phrases(stages, base, specification, dump_files(dumps), how, counts, warnings, report)
        if annotations is None:
            path = _annotation_table(folder, phrases)
            return BuiltPairs(folder, specification.bias, counts, tuple(warnings), to_annotate=path)
    assert annotations is not None  # checked above: there are dumps or annotations
    labels = Path(annotations).expanduser()
    scores = None if perplexities is None else Path(perplexities).expanduser()
    return _pairs(stages, base, specification, folder, labels, scores, how, counts, warnings)


def _phrases(
    stages: Stages,
    base: str,
    specification: Specification,
    files: Sequence[Path],
    how: Steps,
    counts: dict[str, int],
    warnings: list[str],
    report: ReportStage,
) -> pl.DataFrame:
    searched = []
    for number, path in enumerate(files, 1):
        key = content_key(VERSION, specification.targets_1, specification.attributes_1, *_file_identity(path))
        search = partial(
            search_dump,
            path,
            specification.targets_1,
            specification.attributes_1,
            partial(report, f"searching {path.name} (dump {number} of {len(files)})"),
        )
        searched.append(stages.frame(f"dumps/{key}.parquet", key, search))
    found = pl.concat(searched) if searched else pl.DataFrame(schema=SEARCHED)
    write_table(stages.folder.parent / SEARCH, found.drop("comments"))
    warnings += _dump_warnings(found)
    comments = found_comments(found)
    if comments.is_empty():
        raise DataError(
            f"None of {len(files):,} dumps contains a comment with a target and an attribute of "
            f"{specification.bias}." + "".join(f"\n{warning}" for warning in warnings),
            EXPECTED,
        )
    counts["comments"] = comments.height
    key = content_key(base, frame_hash(comments))
    steps: list[tuple[str, Callable[[pl.DataFrame], pl.DataFrame]]] = [
        (
            "cleaned",
            partial(clean_comments, as_published=how.as_published, most_characters=how.most_characters),
        ),
    ]
    if specification.single_targets:
        words = specification.single_targets
        steps.append(
            ("single_target", partial(with_single_target, words=words, as_published=how.as_published))
        )
    steps.append(
        ("phrases", partial(extract_phrases, specification=specification, as_published=how.as_published))
    )
    table = comments
    for name, step in steps:
        report(name, 0, 1)
        table = stages.frame(f"{name}.parquet", content_key(key, name), partial(step, table))
        counts[name] = table.height
        report(name, 1, 1)
    return table


def _annotation_table(folder: Path, phrases: pl.DataFrame) -> Path:
    """Write the table to be labelled if it does not exist; existing labels are never overwritten."""
    path = folder / TO_ANNOTATE
    stages = Stages(folder)
    key = content_key(frame_hash(phrases))
    table = to_annotate(phrases)
    if path.is_file() and stages.input_key(TO_ANNOTATE) == key:
        return path
    # a build that was killed directly after writing has not recorded the table
    if stages.is_edited(TO_ANNOTATE) and path.read_bytes() != table_bytes(table, "csv"):
        raise UsageError(
            f"{path} was edited, but these dumps or rules would create it again.",
            f"To use the edited file: --annotations {path}. To create a new one, move it away.",
        )
    return stages.write_csv(TO_ANNOTATE, key, table)


def _pairs(
    stages: Stages,
    base: str,
    specification: Specification,
    folder: Path,
    annotations: Path,
    perplexities: Path | None,
    how: Steps,
    counts: dict[str, int],
    warnings: list[str],
) -> BuiltPairs:
    key = content_key(base, compute_sha256(annotations)) if is_file(annotations) else base
    annotated = stages.frame("annotated.parquet", key, partial(read_annotations, annotations))
    labels = label_counts(annotated)
    left_out = labels.filter(pl.col("taken_as").is_null() & (pl.col("label") != ""))
    if left_out.height:
        words = ", ".join(f"{label!r} ({count:,})" for _, label, count, _ in left_out.head(5).rows())
        warnings.append(f"Labels of the annotation table that are neither 1 nor 0 were ignored: {words}.")
    pairs = stages.frame(
        "pairs.parquet",
        key,
        lambda: with_counterparts(biased_phrases(annotated), specification, as_published=how.as_published),
    )
    train, held_out = train_and_held_out(
        pairs, specification.train_share, stratified=specification.stratified
    )
    reduced, swapped, to_score = held_out, held_out, None
    if perplexities is None:
        to_score = write_table(folder / TO_SCORE, texts_to_score(held_out))
    else:
        known = read_perplexities(perplexities)
        reduced, swapped = (
            without_outliers(held_out, known, second, as_published=how.as_published) for second in SECOND
        )
    valid, test = valid_and_test(reduced)
    counts |= {
        "annotated": annotated.height,
        "pairs": pairs.height,
        "train": train.height,
        "held_out": held_out.height,
        "without_outliers": reduced.height,
        "valid": valid.height,
        "test": test.height,
    }
    write_training(folder, specification, train, held_out)
    write_held_out(folder, specification, {"valid": valid, "test": test})
    write_attribute_swaps(folder, specification, swapped)
    made_of = {
        "labels": _describe_file(annotations),
        "perplexities": perplexities and _describe_file(perplexities),
    }
    write_manifest(folder, specification, made_of, {"version": VERSION, **asdict(how)})
    return BuiltPairs(
        folder,
        specification.bias,
        counts,
        tuple(warnings),
        residues=residues(pairs.select("comments_processed"), specification),
        labels=labels,
        to_score=to_score,
    )


def _describe_file(path: Path) -> dict[str, str]:
    return {"file": path.name, "sha256": compute_sha256(path)}


def _file_identity(path: Path) -> tuple[str | int | bytes, ...]:
    """Return values that identify a dump without reading all of it: name, size, date, and a hash of both ends."""
    state = path.stat()
    with path.open("rb") as handle:
        beginning = handle.read(ENDS)
        handle.seek(max(0, state.st_size - ENDS))
        end = handle.read(ENDS)
    return path.name, state.st_size, state.st_mtime_ns, content_key(beginning.hex(), end.hex())


def _dump_warnings(searched: pl.DataFrame) -> list[str]:
    said = []
    for row in searched.iter_rows(named=True):
        match row["state"]:
            case "truncated":
                said.append(
                    f"{row['dump']} is cut off or damaged after {row['lines']:,} lines. The lines before are used."
                )
            case "empty":
                said.append(f"{row['dump']} contains nothing.")
            case "no comments":
                said.append(
                    f"{row['dump']}: none of {row['lines']:,} lines is a comment with `id` and `body`."
                )
        if row["broken"]:
            said.append(f"{row['dump']}: {row['broken']:,} of {row['lines']:,} lines are not JSON objects.")
        if row["without_fields"] and row["state"] != "no comments":
            said.append(f"{row['dump']}: {row['without_fields']:,} of {row['lines']:,} rows lack id or body.")
    return said
