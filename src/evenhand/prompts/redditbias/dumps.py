"""Search local Reddit dumps (.zst, .jsonl, .gz) for comments, line by line, so that memory does not grow with the dump.

Defects of a dump are reported: lines that are not JSON, rows without id or body, and a truncated end.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Literal

import polars as pl

from evenhand.prompts.redditbias.queries import Terms
from evenhand.prompts.redditbias.unpacking import ENDINGS, EXPECTED, TruncatedFileError, line_blocks
from evenhand.schema import DataError, is_file, is_folder, missing_file, parse_json, without_surrogates

TOLD_EVERY = 1 << 27
"""Number of decompressed bytes between two reports of progress."""
FOUND = pl.Struct({"id": pl.String, "body": pl.String, "target": pl.String, "attribute": pl.String})
COUNTS = ("lines", "broken", "without_fields", "matched")
SEARCHED: dict[str, pl.DataType | type[pl.DataType]] = {
    "dump": pl.String,
    "state": pl.String,
    **dict.fromkeys(COUNTS, pl.Int64),
    "comments": pl.List(FOUND),
}
State = Literal["complete", "truncated", "empty", "no comments"]


def dump_files(places: Sequence[Path | str]) -> list[Path]:
    """Return the paths of dumps, with the dumps inside each folder in order of their names.

    places: files and folders. Raises a DataError if a place does not exist, a file has an unsupported type, or a folder
    contains no dumps.
    """
    files: list[Path] = []
    for place in [Path(place).expanduser() for place in places]:
        if is_folder(place):
            inside = sorted(path for path in place.iterdir() if path.suffix.lower() in ENDINGS)
            if not inside:
                raise DataError(f"The folder {place} contains no dumps of Reddit comments.", EXPECTED)
            files += inside
        elif not is_file(place):
            raise missing_file(place, EXPECTED)
        elif place.suffix.lower() not in ENDINGS:
            raise DataError(f"{place}: unsupported file type '{place.suffix}'.", EXPECTED)
        else:
            files.append(place)
    return files


def search_dump(
    path: Path,
    targets: Sequence[str],
    attributes: Sequence[str],
    report_progress: Callable[[int, int], None] | None = None,
) -> pl.DataFrame:
    """Return the comments of one dump that contain a target and an attribute, as a table of one row.

    path: the dump. targets, attributes: terms (T1 and A1) in the format of `queries.term_patterns`. report_progress:
    called from time to time with the number of bytes of the file that were read, and the size of the file.

    Columns of the table:

    - dump: name of the file.
    - state: "complete", "truncated" (cut off or damaged; the lines before are used), "empty", or "no comments" (no line
      has id and body).
    - lines: number of lines that are not blank.
    - broken: number of lines that are not JSON objects, or are longer than 16 MiB. Lines without the terms are not
      parsed, so not all such lines are found.
    - without_fields: number of rows without id or body. In rows without the terms, only a missing body is always found.
    - matched: number of comments found.
    - comments: list of structs with id, body, and the first target and the first attribute that the comment contains.
      A comment that the dump repeats is listed once.

    Raises a DataError if the file cannot be read, does not have the format of its name, or needs the missing package
    zstandard. Source: Barikeri et al. 2021, section 2.2. The query language is that of the search service they used,
    which is no longer available.
    """
    search = _DumpSearch(Terms(targets), Terms(attributes))
    state: State = "complete"
    size, last, told = path.stat().st_size, b"\n", 0
    try:
        with path.open("rb") as handle, closing(line_blocks(handle, path)) as blocks:
            for block in blocks:
                search.block(block)
                last, told = block, told + len(block)
                if told >= TOLD_EVERY and report_progress:
                    report_progress(handle.tell(), size)
                    told = 0
    except TruncatedFileError:
        state = "truncated"
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}.", EXPECTED) from error
    counts = search.counts
    if state == "complete" and not last.endswith((b"\n", b"}")):
        state = "truncated"  # the last line is incomplete
        counts.subtract(["lines", "broken"])
    if state == "complete" and not search.with_fields:
        state = "no comments" if counts["lines"] else "empty"
    counts["matched"] = len(search.found)
    row_of_table = {"dump": path.name, "state": state, **counts, "comments": list(search.found.values())}
    return pl.DataFrame([row_of_table], schema=SEARCHED)


def found_comments(searched: pl.DataFrame) -> pl.DataFrame:
    """Return the comments of all dumps, with the first one of each id.

    searched: rows from `search_dump`. Returns a table with the columns dump, id, body, target and attribute.
    """
    comments = searched.filter(pl.col("matched") > 0).select("dump", "comments").explode("comments")
    return comments.unnest("comments").unique("id", keep="first", maintain_order=True)


class _DumpSearch:
    """A search through blocks of lines. For speed, it parses only lines that may contain a target and an attribute."""

    def __init__(self, targets: Terms, attributes: Terms):
        self.targets, self.attributes = targets, attributes
        self.counts: Counter[str] = Counter(dict.fromkeys(COUNTS, 0))
        self.found: dict[str, dict[str, str]] = {}
        self.with_fields = False
        """True if a line with id and body was found."""

    def block(self, block: bytes) -> None:
        """Search a block of whole lines, and add what it contains to `counts` and `found`."""
        number = block.count(b"\n")
        plain = (
            bool(self.targets.stems)
            and block.startswith(b"{")
            and block.endswith(b"}\n")
            and block.count(b"}\n{") == number - 1
            and block.count(b'"body":') == number
        )
        if not plain:
            for line in block.split(b"\n"):
                self._line(line.strip())
            return
        self.counts["lines"] += number
        self.with_fields = True
        small = block.lower()
        places = {}
        for stem in self.targets.stems:  # a search per stem is far faster than one pattern for all
            at = small.find(stem)
            while at >= 0:
                end = small.index(b"\n", at)
                places[small.rfind(b"\n", 0, at) + 1] = end
                at = small.find(stem, end)
        for start, end in sorted(places.items()):
            if _holds_some(self.attributes.stems, small[start:end]):
                self._row(block[start:end])

    def _line(self, line: bytes) -> None:
        if not line:
            return
        self.counts["lines"] += 1
        if not (line.startswith(b"{") and line.endswith(b"}")):
            self.counts["broken"] += 1
        elif not (b'"body"' in line and b'"id"' in line):
            self.counts["without_fields"] += 1
        else:
            small = line.lower()
            if _holds_some(self.targets.stems, small) and _holds_some(self.attributes.stems, small):
                self._row(line)
            else:
                self.with_fields = True

    def _row(self, line: bytes) -> None:
        try:
            row = parse_json(line)
        except ValueError:
            self.counts["broken"] += 1
            return
        name, body = row.get("id"), row.get("body")
        if not (isinstance(name, str) and isinstance(body, str)):
            self.counts["without_fields"] += 1
            return
        self.with_fields = True
        name, body = without_surrogates(name), without_surrogates(body)
        target = self.targets.first(body)
        attribute = target and self.attributes.first(body)
        if target and attribute and name not in self.found:
            self.found[name] = {"id": name, "body": body, "target": target, "attribute": attribute}


def _holds_some(stems: tuple[bytes, ...], small: bytes) -> bool:
    """Return True if a line may contain one of the terms. This is far faster than parsing the line.

    stems: from `Terms.stems`. small: the line in lower case.
    """
    return not stems or any(stem in small for stem in stems)
