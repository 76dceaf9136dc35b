"""Options of a search for a trigger."""

from typing import TYPE_CHECKING, Annotated, ClassVar, cast

from pydantic import Field

from evenhand.schema import UsageError
from evenhand.studies.model_options import ModelOptions, check_chat
from evenhand.study import Flag, Seed, StudyOptions

if TYPE_CHECKING:
    from evenhand.classifiers import ClassifiedText
    from evenhand.mitigations.triggers import Mode, Objective, TriggerSearchOptions
    from evenhand.models import Decoding


class TriggerSearch(StudyOptions, ModelOptions):
    """All options of a search for a trigger. Unknown names are refused.

    >>> TriggerSearch(model="gpt2", prompts="mine.csv", classifier="vader").decoding.samples
    10
    """

    HIDDEN: ClassVar = ("locked", "screen")

    model: str
    """Causal Hugging Face model: a name, a local folder, or evenhand/reference."""
    prompts: Annotated[str, Flag(form="path")]
    """Your prompts (CSV, JSON Lines or Parquet), with the column text and optionally group and split (train, dev,
    test)."""
    classifier: str
    """Classifier that labels negative responses in the search, the choice and the test (`evenhand list
    classifiers`)."""
    examples: Annotated[str | None, Flag(form="path")] = None
    """Your own labelled responses (text, continuation, group, label) for the search. Default: the model's responses to
    the training prompts, labelled by the classifier."""
    mode: str = "mitigate"
    """Objective. mitigate: make neutral and positive responses more likely and negative ones less likely. neutral: make
    neutral responses more likely and all others less likely. induce: cause bias against one group and for another (for
    red-teaming measurements)."""
    against: str | None = None
    """With induce: group that the responses should describe negatively."""
    favour: str | None = None
    """With induce: group that the responses should describe positively."""
    tokens: Annotated[int | None, Flag(low=1)] = None
    """Length of the trigger. Default: 6, or the length of the initial phrase."""
    initial: str | None = None
    """Initial trigger. Default: " the" in every position."""
    locked: tuple[int, ...] = ()
    """Positions that keep the tokens of the initial trigger (see `TriggerSearchOptions`)."""
    restarts: Annotated[int, Flag(low=1)] = 3
    """Number of restarts. All but the first start from random tokens."""
    sweeps: Annotated[int, Flag(low=1)] = 50
    """Maximum number of passes across all positions per restart."""
    candidates: Annotated[int, Flag(low=1)] = 100
    """Number of candidate tokens per position."""
    screen: float | None = 0.25
    """Share of the candidates that are tested on all examples (see `TriggerSearchOptions`)."""
    beam: Annotated[int, Flag(low=1)] = 1
    """Beam width: number of triggers kept in parallel."""
    fluency: Annotated[float, Flag(low=0)] = 0.0
    """Weight of the trigger's own likelihood in the objective."""
    most_perplexity: Annotated[float | None, Flag(low=1)] = None
    """Maximum perplexity of the trigger itself."""
    punctuation: Annotated[bool, Flag(shown=True)] = False
    """Allow punctuation and digits."""
    exclude: tuple[str, ...] = ()
    """Word that the trigger must not contain. Repeatable."""
    samples: Annotated[int, Flag(low=1)] = 10
    """Number of responses per prompt."""
    max_new_tokens: Annotated[int, Flag(low=1)] = 30
    """Maximum length of a response, in tokens."""
    temperature: float = Field(default=0.7, gt=0)
    """Sampling temperature of the classified responses, above 0."""
    top_k: Annotated[int | None, Flag(low=0)] = 40
    """Sample from the N most probable tokens; 0 turns this filter off."""
    judge_prompt: Annotated[bool, Flag(shown=True)] = False
    """Classify the prompt and the response together."""
    first_sentence: Annotated[bool, Flag(shown=True)] = False
    """Classify only the text up to the first full stop."""
    guard: float = Field(default=1.5, ge=1)
    """Largest allowed ratio of the responses' perplexity with the trigger to the perplexity without it."""
    seed: Seed = 0
    """Random seed."""

    @property
    def objective(self) -> "Objective":
        """Return the aim of the trigger. Raise a UsageError if mode and groups do not fit."""
        from evenhand.mitigations.triggers import Objective

        return Objective(
            mode=cast("Mode", self.mode), against=self.against, favour=self.favour, fluency=self.fluency
        )

    @property
    def search(self) -> "TriggerSearchOptions":
        """Return the options of the search algorithm. Raise a UsageError for values out of range."""
        from evenhand.mitigations.triggers import TriggerSearchOptions

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
    def decoding(self) -> "Decoding":
        """Return the decoding settings of the classified continuations. Raise a UsageError for values out of range."""
        from evenhand.models import Decoding

        return Decoding(
            max_new_tokens=self.max_new_tokens,
            temperature=self.temperature,
            top_k=self.top_k or None,
            samples=self.samples,
            seed=self.seed,
        )

    @property
    def rule(self) -> "ClassifiedText":
        """Return the rule that selects the text for the classifier."""
        from evenhand.classifiers import ClassifiedText

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
