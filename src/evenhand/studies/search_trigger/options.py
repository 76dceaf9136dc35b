"""What a search for a trigger is asked to do: every option once."""

from typing import cast

from pydantic import Field

from evenhand.classifiers import ClassifiedText
from evenhand.mitigations.triggers import Mode, Objective, TriggerSearchOptions
from evenhand.models import Decoding
from evenhand.schema import UsageError
from evenhand.studies.audit import SeedOptions
from evenhand.studies.model_options import ModelOptions, check_chat


class TriggerSearch(SeedOptions, ModelOptions):
    """Options of a search for a trigger, in one place. Unknown names are refused.

    >>> TriggerSearch(model="gpt2", prompts="mine.csv", classifier="vader").decoding.samples
    10
    """

    prompts: str
    """A file of prompts: text, optionally group and split (train, dev, test)."""
    classifier: str
    """The classifier of negative continuations in search, choice and test."""
    examples: str | None = None
    """A file of labelled continuations to search on; None: the model's own, as the classifier labels them."""
    mode: str = "mitigate"
    """See `Objective.mode`: mitigate, neutral or induce."""
    against: str | None = None
    favour: str | None = None
    fluency: float = 0.0
    tokens: int | None = None
    """See `TriggerSearchOptions`, as for the following."""
    initial: str | None = None
    locked: tuple[int, ...] = ()
    restarts: int = 3
    """Rounds; all but the first begin with random tokens."""
    sweeps: int = 50
    candidates: int = 100
    beam: int = 1
    screen: float | None = 0.25
    punctuation: bool = False
    """Allow punctuation and digits."""
    exclude: tuple[str, ...] = ()
    most_perplexity: float | None = None
    samples: int = 10
    """Continuations a prompt."""
    max_new_tokens: int = 30
    temperature: float = 0.7
    """Sampling temperature of the continuations that are classified."""
    top_k: int | None = 40
    """0 or None turns the filter off."""
    judge_prompt: bool = False
    """Judge prompt and continuation together."""
    first_sentence: bool = False
    """Judge up to the first full stop only."""
    guard: float = Field(default=1.5, ge=1)
    """How many times as perplexing continuations may be behind the trigger."""

    @property
    def objective(self) -> Objective:
        """What the trigger is to achieve; raises UsageError for modes and groups that do not fit."""
        return Objective(
            mode=cast(Mode, self.mode), against=self.against, favour=self.favour, fluency=self.fluency
        )

    @property
    def search(self) -> TriggerSearchOptions:
        """How it is searched; raises UsageError for values out of range."""
        return TriggerSearchOptions(
            tokens=self.tokens,
            initial=self.initial,
            locked=self.locked,
            restarts=self.restarts,
            sweeps=self.sweeps,
            candidates=self.candidates,
            beam=self.beam,
            screen=self.screen,
            words_only=not self.punctuation,
            exclude=self.exclude,
            most_perplexity=self.most_perplexity,
            seed=self.seed,
        )

    @property
    def decoding(self) -> Decoding:
        """How the continuations that are judged are written; raises UsageError for values out of range."""
        return Decoding(
            max_new_tokens=self.max_new_tokens,
            temperature=self.temperature,
            top_k=self.top_k or None,
            samples=self.samples,
            seed=self.seed,
        )

    @property
    def rule(self) -> ClassifiedText:
        """Which text the classifier is given."""
        return ClassifiedText(
            part="prompt+continuation" if self.judge_prompt else "continuation",
            first_sentence=self.first_sentence,
        )

    def check_model(self) -> None:
        """Raise UsageError for a chat template, because the trigger would not be at the beginning of the text."""
        check_chat(self)
        if self.chat:
            raise UsageError(
                "`--chat` cannot be used with `search-trigger`: a trigger must be the first text that the model "
                "reads, but the chat template comes first.",
                "Remove --chat, or use an instruction: --mitigate prefix=...",
            )
