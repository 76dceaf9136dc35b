"""The table of terms that are counted: frozen, sorted, with a hash that merged counts must share."""

from dataclasses import dataclass
from functools import cached_property

import polars as pl

from evenhand.schema import frame_hash

TERM_COLUMNS = {
    "term": pl.UInt32,  # 0 ... k-1, the row of the term
    "name": pl.String,  # as it is shown: "African American"
    "kind": pl.String,  # descriptor, pronoun, name, person_noun, or a user's own word for a list
    "axis": pl.String,  # gender_and_sex, race_ethnicity, ..., pronouns, names, or the user's
    "group": pl.String,  # bucket of a descriptor, she/he/they, origin or gender of a name; null where there is none
    "source": pl.String,  # evenhand, holisticbias-v1.1, the file's name, ...
    "ambiguous": pl.Boolean,  # known to have senses that are not of people (white, pan)
}
SURFACE_COLUMNS = {
    "surface": pl.UInt32,  # 0 ... s-1, the row of the surface
    "term": pl.UInt32,
    "text": pl.String,  # what is looked for, normalised as documents are
    "inflected": pl.Boolean,  # a plural or possessive that was made here, not written in the list
}


@dataclass(frozen=True)
class TermTable:
    """Terms and the surfaces (spellings) that count as them; two terms may share a surface."""

    terms: pl.DataFrame
    """TERM_COLUMNS, one row a term in order."""
    surfaces: pl.DataFrame
    """SURFACE_COLUMNS, one row a surface in order."""

    @cached_property
    def content_hash(self) -> str:
        """Of all terms and surfaces; counts of different tables are never added."""
        return frame_hash(pl.concat([self.terms, self.surfaces.rename({"term": "of_term"})], how="diagonal"))

    def __len__(self) -> int:
        return self.terms.height
