"""What a benchmark is: prompts, one kind of request, the measures on its answers, and a card."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from evenhand.models.contract import Architecture
from evenhand.prompts.prompt_set import PromptSet
from evenhand.runs.requests import ScoreRequest
from evenhand.schema import Card, Measurement


@dataclass(frozen=True)
class AnalysisOptions:
    seed: int = 0
    alpha: float = 0.05
    margin: float = 0.05
    """Smallest difference in log-perplexity (nats per token) that counts as a difference."""


@dataclass(frozen=True)
class Analysis:
    """Measurements (headline rows have group None) and detail tables by name, for the report."""

    measurements: list[Measurement]
    details: Mapping[str, pl.DataFrame] = field(default_factory=dict)


@dataclass(frozen=True)
class Benchmark:
    name: str
    card: Card
    architectures: frozenset[Architecture]
    request: ScoreRequest
    build: Callable[[Mapping[str, Path]], PromptSet]
    """Takes data folders given by the user, by data set name; anything else comes from the cache."""
    analyse: Callable[[pl.DataFrame, AnalysisOptions], Analysis]
    """Takes one row per prompt: the prompt's columns, `log_likelihood`, `token_count`, `perplexity`,
    `error` (and the token columns if kept)."""
    required_columns: tuple[str, ...]
    """What `evenhand measure FILE` needs besides `log_likelihood`+`token_count` or `perplexity`."""
    stratify: tuple[str, ...] = ()
    """Columns over which `--limit` samples evenly."""
    datasets: tuple[str, ...] = ()
