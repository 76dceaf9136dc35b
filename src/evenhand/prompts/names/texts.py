"""Read evenhand's own lists in this folder: personas, names that are also words, and occupations."""

import tomllib
from functools import lru_cache
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.prompts.names.spelling import statistics_spelling


@lru_cache(maxsize=8)
def own_file(name: str) -> dict[str, Any]:
    """Return the content of a TOML file in this folder."""
    return tomllib.loads(Path(__file__).with_name(name).read_text(encoding="utf-8"))


def load_personas() -> tuple[str, ...]:
    """Return evenhand's personas, in the format of `read_personas`.

    Each persona is a text of two lines in the first person, without gender, name or occupation, in the style of
    BlenderBot's training data.

    >>> load_personas()[0].split("\\n")
    ['i get up before the sun does.', 'my favorite meal is breakfast.']
    """
    return tuple("\n".join(lines) for lines in own_file("personas.toml")["personas"])


def is_common_word(name: str) -> bool:
    """Return True if a first name is also another English word, such as a month or a place.

    Such a word does not always refer to a person, so evenhand replaces it only after "name is".

    >>> [is_common_word(name) for name in ("Hope", "Will", "May", "Martha")]
    [True, True, True, False]
    """
    return statistics_spelling(name).lower() in _common_words()


@lru_cache(maxsize=1)
def _common_words() -> frozenset[str]:
    return frozenset(own_file("common_words.toml")["words"])


def occupations() -> pl.DataFrame:
    """Return occupations with the percentage of women who work in them (United States, 2020).

    The columns are:

    - occupation and singular: the title (the same word in both columns);
    - plural: plural of the title;
    - share_women and share: percentage of women (the same in both; `occupation_lean` reads share);
    - bls_row: row of table 11;
    - broad: True if another row of the table would also fit.

    Source: U.S. Bureau of Labor Statistics, Current Population Survey, table 11, annual averages 2020; titles of the
    Winogender schemas (Rudinger et al. 2018). We assigned the rows to the titles.

    >>> occupations().filter(occupation="nurse").select("plural", "share_women", "bls_row").row(0)
    ('nurses', 87.4, 'Registered nurses')
    """
    listed = pl.DataFrame(
        own_file("occupations.toml")["occupation"],
        schema={
            "singular": pl.String,
            "plural": pl.String,
            "share_women": pl.Float64,
            "bls_row": pl.String,
            "broad": pl.Boolean,
        },
    )
    return listed.select(
        pl.col("singular").alias("occupation"),
        "singular",
        "plural",
        "share_women",
        pl.col("share_women").alias("share"),
        "bls_row",
        pl.col("broad").fill_null(False),
    )
