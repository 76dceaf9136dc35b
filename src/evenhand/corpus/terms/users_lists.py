"""Terms of a user: any table with a term a row."""

from pathlib import Path

import polars as pl

from evenhand.corpus.normalising import normalised, words_alone
from evenhand.corpus.terms.ambiguity import is_ambiguous
from evenhand.corpus.terms.candidates import Candidate
from evenhand.prompts.own_files import read_table, require_columns, text_column
from evenhand.schema import DataError

MOST_CHARACTERS = 200
FORMAT = (
    "Expected CSV, TSV, JSON Lines, Parquet or a workbook with the column term and, if wanted, axis, group, kind and "
    "plural (a spelling that counts as the term; more than one parted by |)."
)
OPTIONAL = ("axis", "group", "kind", "plural")


def users_terms(path: Path) -> list[Candidate]:
    """The terms of a file, a row each. Without a column axis or kind, both are called as the file is.

    A term of kind person_noun, pronoun or name counts as a word for a person where senses are told apart. Raises
    DataError naming file and row for a term that is empty, nothing but signs, of more than MOST_CHARACTERS characters,
    on several lines or there twice; for a missing column, and a file that cannot be read.
    """
    frame = read_table(path, FORMAT)
    frame = frame.rename({name: name.strip().lower() for name in frame.columns}, strict=False)
    require_columns(frame, ["term"], path, FORMAT)
    columns = {name: text_column(frame, name, path) for name in ("term", *OPTIONAL) if name in frame.columns}
    candidates: dict[tuple[str, ...], int] = {}
    found = []
    for number, row in enumerate(pl.DataFrame(columns).iter_rows(named=True), 1):
        where = f"{path}, row {number}"
        given = {name: (value or "").strip() for name, value in row.items()}
        name = _checked(given["term"], where)
        plurals = tuple(
            _checked(each.strip(), where) for each in given.get("plural", "").split("|") if each.strip()
        )
        axis, kind = given.get("axis") or path.stem, given.get("kind") or path.stem
        each = Candidate(kind, axis, given.get("group", ""), name, path.name, plurals, is_ambiguous(name))
        key = (kind, axis, each.group, normalised(name))
        if key in candidates:
            raise DataError(
                f"{where}: {name!r} is the term of row {candidates[key]} again.",
                "Leave one of them out, or put them into different groups.",
            )
        candidates[key] = number
        found.append(each)
    return found


def _checked(term: str, where: str) -> str:
    if not term:
        raise DataError(f"{where}: there is no term.", "Write a term, or leave the row out.")
    if len(term) > MOST_CHARACTERS:
        raise DataError(
            f"{where}: a term of {len(term):,} characters ({term[:40]!r}...); at most {MOST_CHARACTERS} can be found.",
            "Write a word or a phrase in each row; text belongs into the corpus.",
        )
    if not words_alone(bytearray(normalised(term), "utf-8")).strip():
        raise DataError(
            f"{where}: {term!r} holds no letter and no digit, so it is nowhere a word.", "Leave it out."
        )
    if "\n" in normalised(term):
        raise DataError(f"{where}: {term!r} is on several lines.", "Write one term in each row.")
    return term
