"""The immutable, sorted table of terms to count, with a hash that all merged counts must share."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.schema import DataError, frame_hash, read_json, write_json

LAYOUT = 1
"""Version of the file layout; files with another version are refused."""
HINT = "Expected a table written by `TermTable.write`. Create it again with `build_terms`."

TERM_COLUMNS = {
    "term": pl.UInt32,  # 0 ... k-1, the row of the term
    "name": pl.String,  # as it is displayed: "African American"
    "kind": pl.String,  # descriptor, pronoun, name, person_noun, or the kind in a user's list
    "axis": pl.String,  # gender_and_sex, race_ethnicity, ..., pronouns, names, or the axis in a user's list
    # bucket of a descriptor; she, he, they; origin or gender of a name; null if there is none
    "group": pl.String,
    "source": pl.String,  # evenhand, holisticbias-v1.1, the file's name, ...
    "ambiguous": pl.Boolean,  # known to have senses that do not refer to people (white, pan)
}
SURFACE_COLUMNS = {
    "surface": pl.UInt32,  # 0 ... s-1, the row of the surface
    "term": pl.UInt32,
    "text": pl.String,  # what is searched, normalised in the same way as documents
    "inflected": pl.Boolean,  # a plural or possessive that was formed here and is not in the list
}


@dataclass(frozen=True, eq=False)
class TermTable:
    """Terms to be counted in a corpus, with the surfaces (spellings) of each.

    `build_terms` creates it. Two terms may share a surface.

    Examples
    --------
    >>> from evenhand.corpus import build_terms
    >>> table = build_terms(["pronouns"])
    >>> woman = table.terms.filter(name="woman")["term"].item()
    >>> table.list_surfaces(woman)
    ['woman', 'women']
    """

    terms: pl.DataFrame
    """One row per term, in order, with the columns TERM_COLUMNS."""
    surfaces: pl.DataFrame
    """One row per surface, in order, with the columns SURFACE_COLUMNS."""

    @cached_property
    def content_hash(self) -> str:
        """Return a hash of all terms and surfaces. Counts of different tables are never added."""
        return frame_hash(pl.concat([self.terms, self.surfaces.rename({"term": "of_term"})], how="diagonal"))

    def __len__(self) -> int:
        return self.terms.height

    def list_surfaces(self, term: int) -> list[str]:
        """Return the surfaces (spellings) of a term. The first one is the spelling in its list."""
        return self.surfaces.filter(term=term)["text"].to_list()

    def write(self, path: Path | str) -> Path:
        """Write the table, with its hash, as JSON, and return the path. Raises WriteError."""
        content = {"layout": LAYOUT, "content_hash": self.content_hash}
        return write_json(
            path, content | {part: getattr(self, part).to_dict(as_series=False) for part in _PARTS}
        )

    @classmethod
    def read(cls, path: Path | str) -> "TermTable":
        """Read a table from a file of `write`.

        Raises DataError if the file is not such a table, or was changed after it was written.
        """
        content = read_json(Path(path), HINT)
        if not isinstance(content, dict) or content.get("layout") != LAYOUT:
            raise DataError(
                f"{path} is not a table of terms, or was written by another version of evenhand.", HINT
            )
        table = cls(**{part: _frame(content.get(part), columns, path) for part, columns in _PARTS.items()})
        if table.content_hash != content.get("content_hash"):
            raise DataError(f"{path} was changed after it was written (its hash differs).", HINT)
        return table


_PARTS: dict[str, dict[str, Any]] = {"terms": TERM_COLUMNS, "surfaces": SURFACE_COLUMNS}


def _frame(content: Any, columns: dict[str, Any], path: Path | str) -> pl.DataFrame:
    if not isinstance(content, dict) or list(content) != list(columns):
        raise DataError(f"{path} is not a table of terms of this version.", HINT)
    try:
        return pl.DataFrame(content, schema=columns)
    except (pl.exceptions.PolarsError, TypeError, ValueError, OverflowError) as error:
        raise DataError(f"{path} contains no table of terms: {str(error).splitlines()[0]}.", HINT) from error
