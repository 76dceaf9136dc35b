"""What the page and the terminal draw: counts, the terms they are of, tables, and facts about how it was done."""

from collections.abc import Mapping
from dataclasses import dataclass

from evenhand.corpus import Counts, TermTable
from evenhand.studies.frequencies.tabulating import FrequencyTables


@dataclass(frozen=True)
class FrequencyView:
    """A finished count."""

    counts: Counts
    table: TermTable
    tables: FrequencyTables
    facts: Mapping[str, object]
    """What was asked and by which versions, by name, as the page's last section shows it: sources, options, times.

    `duplicates` ("keep" or "drop") also decides what is said of copies, `folder` where the files are said to lie.
    """
