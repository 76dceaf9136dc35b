"""Data for the page and the terminal: counts, their terms, tables, and facts about the count."""

from collections.abc import Mapping
from dataclasses import dataclass

from evenhand.corpus import Counts, TermTable
from evenhand.studies.frequencies.tabulating import FrequencyTables


@dataclass(frozen=True)
class FrequencyView:
    """Everything that the page of a finished count shows."""

    counts: Counts
    table: TermTable
    tables: FrequencyTables
    facts: Mapping[str, object]
    """Facts by name for the last section of the page: sources, options, versions and times.

    `duplicates` ("keep" or "drop") also determines the note about copies, and `folder` the location shown for files.
    """
