"""A study: everything that is fixed before the first annotator takes part, as one object that a YAML file contains."""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from evenhand.annotation.definition.coherence import find_problems
from evenhand.annotation.definition.items import Data, Item, Words
from evenhand.annotation.definition.parts import (
    Assignment,
    Block,
    Completion,
    Consent,
    Hidden,
    Onboarding,
    Page,
)
from evenhand.annotation.definition.problems import Problem
from evenhand.annotation.definition.questions import BaseQuestion, Key, Question
from evenhand.annotation.definition.rules import OnboardingBelow, Rule

INCOHERENT = "study"
"""Type of the pydantic error whose context contains all problems of `find_problems`."""


class Study(Data):
    """The definition of a human evaluation: questions, items, and rules.

    `read_study` reads it from a YAML file, and `build_study` makes it from model texts.
    docs/how-to/write_a_study_file.md explains every field.
    """

    evenhand_study: Literal[1]
    name: Key
    title: Words
    instructions: Page = ""
    """Shown above every item, collapsed after the first; empty lines separate paragraphs."""
    language: Annotated[str, Field(pattern=r"^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$")] = "en"
    seed: int = Field(default=0, ge=0, lt=2**63)
    consent: Consent = Consent()
    questions: tuple[Question, ...] = Field(min_length=1, max_length=100)
    items: tuple[Item, ...] = Field(min_length=1, max_length=1_000_000)
    """Items to judge. In the file, a list or `{file: items.jsonl}` in the same folder."""
    onboarding: Onboarding | None = None
    hidden: Hidden = Hidden()
    rules: tuple[Rule, ...] = (OnboardingBelow(),)
    assignment: Assignment = Assignment()
    survey: tuple[Block, ...] = ()
    completion: Completion = Completion()

    def question(self, name: str) -> BaseQuestion:
        """Return a question by its id; raises KeyError."""
        return next(question for question in self.questions if question.id == name)

    @model_validator(mode="before")
    @classmethod
    def _no_idle_default(cls, given: Any) -> Any:
        """Drop the default onboarding rule if the study has no onboarding."""
        if isinstance(given, dict) and "rules" not in given and given.get("onboarding") is None:
            return {**given, "rules": ()}
        return given

    @model_validator(mode="after")
    def _coherent(self) -> "Study":
        if found := find_problems(
            self.name,
            questions=self.questions,
            items=self.items,
            onboarding=self.onboarding,
            hidden=self.hidden,
            rules=self.rules,
            assignment=self.assignment,
            survey=self.survey,
            completion=self.completion,
        ):
            raise PydanticCustomError(
                INCOHERENT, "{text}", {"text": "\n".join(map(str, found)), "problems": found}
            )
        return self


def get_problems(context: dict[str, Any]) -> list[Problem]:
    """Return the problems in the context of an error of the type INCOHERENT."""
    return list(context["problems"])
