"""Write pairs and training texts to files with the names and the layout that RedditBias publishes.

A manifest in the same folder states that evenhand built the files, and from which inputs.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.prompts.redditbias.bias_types import Specification
from evenhand.schema import (
    ChecksumMismatch,
    DataError,
    UsageError,
    compute_sha256,
    is_file,
    read_json,
    write_json,
    write_table,
    write_text,
)

MANIFEST = "built.json"
BUILT_BY = "evenhand data build redditbias"
REBUILD = f"Run `{BUILT_BY}` with this folder again to rewrite them."
FIRST_COLUMNS = ("id", "attribute_in_window", "comment", "comments_processed", "bias_sent", "bias_phrase")


def write_held_out(folder: Path, specification: Specification, parts: Mapping[str, pl.DataFrame]) -> None:
    """Write the pairs of each part: one table per group, and a file with one text per line.

    The files are in data/<bias> and text_files/<bias> below `folder`.

    parts: the pairs (from `counterparts.with_counterparts`) by the name of the part ("valid", "test"), with
    perplexity_1 and perplexity_2 if they are known. Raises WriteError.
    """
    bias, groups = specification.bias, specification.groups
    for part, pairs in parts.items():
        for table, group in zip(_two_tables(pairs), groups, strict=True):
            stem = f"{bias}_{group}_biased_{part}_reduced"
            write_table(_inside(folder, "data", bias, f"reddit_comments_{stem}.csv"), table)
            _write_lines(_inside(folder, "text_files", bias, f"{stem}.txt"), table["comments_processed"])


def write_training(
    folder: Path, specification: Specification, train: pl.DataFrame, held_out: pl.DataFrame
) -> None:
    """Write the training texts: phrases, phrases followed by counterparts, and phrases with swapped attributes.

    The phrases for the losses LMD, ADD and HD have the type's `line_prefix` and capitals. The texts for counterfactual
    data augmentation (CDA) have neither. Raises WriteError.
    """
    bias = specification.bias
    texts = _inside(folder, "text_files", bias)
    for part, rows in (("train", train), ("valid", held_out)):
        phrases = rows["comments_processed"]
        cased = phrases
        for word in specification.capitalised:
            cased = cased.str.replace_all(word, word.capitalize(), literal=True)
        lines = [specification.line_prefix + line for line in cased]
        _write_lines(texts / f"{bias}_bias_manual_{part}.txt", lines)
        if specification.capitalised:
            _write_lines(texts / f"{bias}_bias_manual_lowercase_{part}.txt", phrases)
    both = {
        "targets": ("counterpart", ""),
        "attr": ("attribute_swap", specification.swapped_attributes_prefix),
    }
    for kind, (column, prefix) in both.items():
        lines = [prefix + line for name in ("comments_processed", column) for line in train[name]]
        _write_lines(texts / f"{bias}_bias_manual_swapped_{kind}_train.txt", lines)


def write_attribute_swaps(folder: Path, specification: Specification, pairs: pl.DataFrame) -> None:
    """Write the held-out phrases and the same phrases with the other attributes. Raises WriteError."""
    stem = f"reddit_comments_{specification.bias}_{specification.groups[0]}_processed_phrase"
    kinds = ("biased_testset_neg", "unbiased_testset_pos")
    for table, kind in zip(_two_tables(pairs, "attr", "attribute_swap"), kinds, strict=True):
        write_table(_inside(folder, "data", specification.bias, f"{stem}_{kind}_attr_reduced.csv"), table)


def _inside(folder: Path, *parts: str) -> Path:
    """Return a path below a folder.

    Raises a UsageError if a part, such as the name of a bias or a group, would lead out of the folder.
    """
    path = folder.joinpath(*parts)
    if any(Path(part).name != part for part in parts) or "\0" in str(path):
        raise UsageError(
            f"Cannot write the file {'/'.join(parts)!r} in {folder}: the name of the bias or of a group, which is a "
            "part of this path, contains a slash, a backslash or another character that is not allowed in file names.",
            "In the specification of the bias, use names without / and \\ for `bias`, `minoritised` and `dominant`.",
        )
    return path


def _two_tables(
    pairs: pl.DataFrame, kind: str = "demo", second: str = "counterpart"
) -> tuple[pl.DataFrame, pl.DataFrame]:
    known = "perplexity_1" in pairs.columns
    perplexity = [pl.col(f"perplexity_{n}") if known else pl.lit(None, pl.Float64) for n in (1, 2)]
    literals = [
        pl.col(f"{name}_{kind}").map_elements(_literal, return_dtype=pl.String)
        for name in ("initial", "replaced")
    ]
    return (
        pairs.select(*FIRST_COLUMNS, perplexity=perplexity[0]),
        pairs.select(
            *literals, comments="comments_processed", comments_processed=second, perplexity=perplexity[1]
        ),
    )


def _literal(words: pl.Series) -> str:
    """Return a list as text in Python syntax, as in the published tables."""
    return repr(words.to_list())


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    write_text(path, "".join(f"{line}\n" for line in lines))


@dataclass(frozen=True)
class BuiltFolder:
    """Pairs that evenhand built: their folder, bias type, groups, and a description of the inputs (`made_of`)."""

    folder: Path
    bias: str
    groups: tuple[str, str]
    made_of: str


def write_manifest(
    folder: Path, specification: Specification, made_of: Mapping[str, Any], rules: Mapping[str, Any]
) -> None:
    """Write a manifest that states the inputs of a build, its rules, and the SHA-256 of each file in the folder.

    made_of: for each kind of input, its `file` and `sha256`, or None if it was not given. rules: options of the build,
    JSON-serialisable. Raises WriteError.
    """
    bias = specification.bias
    paths = [path for kind in ("data", "text_files") for path in sorted((folder / kind / bias).iterdir())]
    files = {path.relative_to(folder).as_posix(): compute_sha256(path) for path in paths}
    content = {
        "by": BUILT_BY,
        "bias": bias,
        "groups": specification.groups,
        "rules": rules,
        "made_of": made_of,
    }
    write_json(folder / MANIFEST, {**content, "files": files})


def read_manifest(folder: Path) -> BuiltFolder | None:
    """Return the description of the built pairs in a folder, or None if the folder has no manifest.

    Raises a DataError if the manifest cannot be read or was not written by `write_manifest`, and ChecksumMismatch if a
    file was changed after the build.
    """
    path = folder / MANIFEST
    if not is_file(path):
        return None
    content = read_json(path, REBUILD)
    try:
        first, second = content["groups"]
        files, made_of = dict(content["files"]), content["made_of"]
        told = [f"{name} {one['file']} ({str(one['sha256'])[:8]})" for name, one in made_of.items() if one]
        how = "by the published rules" if content["rules"]["as_published"] else "by the corrected rules"
        built = BuiltFolder(
            folder, str(content["bias"]), (str(first), str(second)), f"{', '.join(told)}, {how}"
        )
        inside = all(not Path(name).is_absolute() and ".." not in name for name in files)
        plain = all(Path(name).name == name for name in (built.bias, *built.groups))
        sound = content["by"] == BUILT_BY and inside and plain
    except (TypeError, KeyError, ValueError, AttributeError) as error:
        raise DataError(f"{path} is not a manifest of built pairs: {error!r}.", REBUILD) from error
    if not sound:
        raise DataError(f"{path} is not a manifest of built pairs.", REBUILD)
    for name, sha256 in files.items():
        if not is_file(folder / name) or compute_sha256(folder / name) != sha256:
            raise ChecksumMismatch(
                f"{folder / name} was changed after it was built (its checksum in {path} differs).", REBUILD
            )
    return built
