"""Data for the page and the terminal of a run joined with a count."""

from dataclasses import dataclass

from evenhand.measures import FrequencyRelation
from evenhand.studies.frequencies.relation.matching import Matched
from evenhand.studies.frequencies.relation.outcomes import DescribedBenchmark


@dataclass(frozen=True)
class JoinedBenchmark:
    """One benchmark of a run: its outcomes, the frequencies of its descriptors, and the relation between them."""

    asked: DescribedBenchmark
    matched: Matched
    found: FrequencyRelation


@dataclass(frozen=True)
class Joined:
    """A run joined with the counts of a corpus.

    Attributes
    ----------
    model : str
        Name of the model.
    corpora : sequence of str
        Names of the counted corpora.
    benchmarks : sequence of JoinedBenchmark
        Benchmarks of the run whose prompts name descriptors.
    trained_on : bool or None
        True if the model states that it was trained on the counted corpus.
    unfinished : bool
        True if the run is not finished.
    alpha : float
        Probability of a falsely detected relation.
    """

    model: str
    corpora: tuple[str, ...]
    benchmarks: tuple[JoinedBenchmark, ...]
    trained_on: bool
    unfinished: bool
    alpha: float
