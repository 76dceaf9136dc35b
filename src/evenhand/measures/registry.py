"""Every measure with its card, by name: what `evenhand list measures` and `evenhand show` print."""

from collections.abc import Mapping
from types import MappingProxyType

from evenhand.measures.cards_benchmarks import BENCHMARKS
from evenhand.measures.cards_generations import GENERATIONS
from evenhand.measures.cards_likelihood import LIKELIHOOD
from evenhand.measures.cards_pairs import PAIRS
from evenhand.measures.cards_rates import RATES
from evenhand.measures.cards_texts import TEXTS
from evenhand.measures.info import MeasureInfo

MEASURES: Mapping[str, MeasureInfo] = MappingProxyType(
    {info.name: info for info in [*LIKELIHOOD, *PAIRS, *GENERATIONS, *RATES, *TEXTS, *BENCHMARKS]}
)
"""Names are those of the `measure` column of the measurements table."""
