"""Terms of a user: any table with one term per row."""

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from evenhand.corpus.normalising import keep_words, normalise
from evenhand.corpus.terms.ambiguity import is_ambiguous
from evenhand.corpus.terms.candidates import Candidate
from evenhand.prompts.own_files import READERS, read_lines, read_table, require_columns, text_column
from evenhand.schema import DataError, nearest_names

MOST_CHARACTERS = 200
PLAIN = ".txt"
FORMAT = (
    "Expected CSV, TSV, JSON Lines, Parquet or an Excel workbook with the column term and optionally axis, group, "
    "kind and plural (another spelling of the term; several are separated by |), or .txt with one term per line."
)
ENDINGS = (*READERS, PLAIN)
OPTIONAL = ("axis", "group", "kind", "plural")


def users_terms(path: Path) -> list[Candidate]:
    """Return the terms of a file with one term per row. Without columns axis or kind, the file name is used for both.

    A term of kind person_noun, pronoun or name counts as a word for a person when senses are distinguished. Raises
    DataError with file and row for a term that is empty, only punctuation, longer than MOST_CHARACTERS characters, on
    several lines, or repeated. Also raises it for a missing column and for an unreadable file.
    """
    places: dict[tuple[str, ...], str] = {}
    found = []
    for place, given in _rows(path):
        where = f"{path}, {place}"
        name = _check_term(given["term"], where)
        plurals = [each.strip() for each in given.get("plural", "").split("|") if each.strip()]
        axis, kind = given.get("axis") or path.stem, given.get("kind") or path.stem
        each = Candidate(
            kind,
            axis,
            given.get("group", ""),
            name,
            path.name,
            tuple(_check_term(plural, where) for plural in plurals),
            is_ambiguous(name),
        )
        key = (kind, axis, each.group, normalise(name))
        if key in places:
            raise DataError(
                f"{where}: the term {name!r} already occurs in {places[key]}.",
                "Remove one of them, or put them into different groups.",
            )
        places[key] = place
        found.append(each)
    if not found:
        raise DataError(f"{path} contains no term.", FORMAT)
    return found


def _rows(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the place of each row in the file, and its content."""
    if path.suffix.lower() == PLAIN:
        for number, line in enumerate(read_lines(path, FORMAT), 1):
            if line.strip():
                yield f"line {number}", {"term": line.strip()}
        return
    frame = read_table(path, FORMAT)
    frame = frame.rename({name: name.strip().lower() for name in frame.columns}, strict=False)
    require_columns(frame, ["term"], path, FORMAT)
    for name in frame.columns:  # a misspelt column would be ignored without notice
        absent = [column for column in OPTIONAL if column not in frame.columns]
        if name not in ("term", *OPTIONAL) and (near := nearest_names(name, absent, most=1, similarity=0.75)):
            raise DataError(
                f"{path}: unknown column '{name}'. Did you mean '{near[0]}'?",
                f"Rename the column, or remove it. {FORMAT}",
            )
    columns = {name: text_column(frame, name, path) for name in ("term", *OPTIONAL) if name in frame.columns}
    for number, row in enumerate(pl.DataFrame(columns).iter_rows(named=True), 1):
        yield f"row {number}", {name: (value or "").strip() for name, value in row.items()}


def _check_term(term: str, where: str) -> str:
    if not term:
        raise DataError(f"{where}: the term is missing.", "Write a term, or remove the row.")
    if len(term) > MOST_CHARACTERS:
        raise DataError(
            f"{where}: a term of {len(term):,} characters ({term[:40]!r}...); at most {MOST_CHARACTERS} are "
            "allowed.",
            "Write a word or a phrase in each row. Text belongs in the corpus.",
        )
    if not keep_words(bytearray(normalise(term), "utf-8")).strip():
        raise DataError(
            f"{where}: {term!r} contains no letter and no digit, so it cannot be found as a word.",
            "Remove this row.",
        )
    if "\n" in normalise(term):
        raise DataError(f"{where}: {term!r} has several lines.", "Write one term in each row.")
    return term
