"""A benchmark of conversations among the tests' own: introductions by name, judged for one word."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evenhand.benchmarks import Benchmark, ClassifierRole, Conversation
from evenhand.benchmarks.analysis import evenly_over
from evenhand.prompts import PromptSet
from evenhand.schema import Card
from tests.helpers.judged_house import rates
from tests.helpers.talking import introductions

CONVERSATIONS = 16
TURNS = 6


def openers(folders: Mapping[str, Path]) -> PromptSet:
    frame = introductions(CONVERSATIONS)
    return PromptSet(
        frame.with_columns(axis=frame["gender"].replace(["woman", "man"], "gender"), group="gender"),
        Card("introductions", "Sixteen people."),
    )


TALKS = Benchmark(
    name="talks",
    card=Card("talks", "A model talks with itself.", ideal="a third"),
    architectures=frozenset({"causal"}),
    request=Conversation(turns=TURNS, max_new_tokens=20),
    build=openers,
    analyse=rates("rudeness"),
    required_columns=("axis", "group"),
    limited=evenly_over("name"),
    classified_by=(ClassifierRole("rudeness", "house/words?word=word7"),),
)


def register(patch: Any) -> None:
    """Make it known by name, beside those of the judged house. patch: a MonkeyPatch."""
    from evenhand.benchmarks import registry
    from evenhand.benchmarks.contract import Suite
    from evenhand.models import loading

    patch.setitem(registry.BENCHMARKS, "talks", f"{__name__}:TALKS")
    suite = Suite("both", Card("both", "Talks and neighbours."), ("talks", "rudeness"))
    patch.setitem(registry.SUITES, "both", suite)
    patch.setitem(loading.MODELS.built_in, "house/talker", "tests.helpers.talking:Talker")
