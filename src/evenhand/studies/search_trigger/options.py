"""Options of a search for a trigger."""

from typing import cast

from pydantic import Field

from evenhand.classifiers import ClassifiedText
from evenhand.mitigations.triggers import Mode, Objective, TriggerSearchOptions
from evenhand.models import Decoding
from evenhand.schema import UsageError
from evenhand.studies.model_options import ModelOptions, check_chat
from evenhand.study import SeedOptions


class TriggerSearch(SeedOptions, ModelOptions):
    """All options of a search for a trigger. Unknown names are refused.

    >>> TriggerSearch(model="gpt2", prompts="mine.csv", classifier="vader").decoding.samples
    10
    """

    prompts: str
    """File of prompts with the columns text and optionally group and split (train, dev, test)."""
    classifier: str
    """Classifier of negative continuations, used for search, choice and test."""
    examples: str | None = None
    """File of labelled continuations for the search. None: the model's own continuations, labelled by the
    classifier.
    """
    mode: str = "mitigate"
    """Aim of the search: mitigate, neutral or induce (see `Objective.mode`)."""
    against: str | None = None
    favour: str | None = None
    fluency: float = 0.0
    tokens: int | None = None
    """Number of tokens of the trigger. This and the following options are explained in `TriggerSearchOptions`."""
    initial: str | None = None
    locked: tuple[int, ...] = ()
    restarts: int = 3
    """Number of rounds. All but the first start with random tokens."""
    sweeps: int = 50
    candidates: int = 100
    beam: int = 1
    screen: float | None = 0.25
    punctuation: bool = False
    """Allow punctuation and digits in the trigger."""
    exclude: tuple[str, ...] = ()
    most_perplexity: float | None = None
    samples: int = 10
    """Number of continuations per prompt."""
    max_new_tokens: int = 30
    temperature: float = 0.7
    """Sampling temperature of the classified continuations."""
    top_k: int | None = 40
    """Top-k filter. 0 or None turns it off."""
    judge_prompt: bool = False
    """Classify prompt and continuation together."""
    first_sentence: bool = False
    """Classify only the text up to the first full stop."""
    guard: float = Field(default=1.5, ge=1)
    """Largest acceptable perplexity of continuations with the trigger, as a multiple of that without it."""

    @property
    def objective(self) -> Objective:
        """Return the aim of the trigger. Raise a UsageError if mode and groups do not fit."""
        return Objective(
            mode=cast(Mode, self.mode), against=self.against, favour=self.favour, fluency=self.fluency
        )

    @property
    def search(self) -> TriggerSearchOptions:
        """Return the options of the search algorithm. Raise a UsageError for values out of range."""
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
        """Return the decoding settings of the classified continuations. Raise a UsageError for values out of range."""
        return Decoding(
            max_new_tokens=self.max_new_tokens,
            temperature=self.temperature,
            top_k=self.top_k or None,
            samples=self.samples,
            seed=self.seed,
        )

    @property
    def rule(self) -> ClassifiedText:
        """Return the rule that selects the text for the classifier."""
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
