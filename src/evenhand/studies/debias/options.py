"""The options of a debiasing training."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from pydantic import Field, field_validator

from evenhand.mitigations.training import (
    DialogueMethod,
    TrainingMethod,
    TrainingOptions,
    check_installed,
    holds_preferences,
    load_method,
    method_options,
    own_axes,
)
from evenhand.schema import UsageError, split_options, unknown_name
from evenhand.studies.audit import assign
from evenhand.studies.debias.choosing import Criterion, no_p
from evenhand.studies.debias.space import Setting, Space, plain, search_space
from evenhand.studies.options import Count, Options, Seed, validated

OWN = {"epochs": 1.0, "batch_size": 16, "learning_rate": 1e-4}
"""Default training settings for evenhand's sentences: enough to reduce the bias with little other change."""
DIALOGUES = {"epochs": 2.0, "batch_size": 16, "learning_rate": 5e-5}
"""Default training settings for dialogues."""
TRIALS = 12
"""Default number of trials of a random search."""
SEARCHING = ("search", "over", "trials", "choose", "guard", "keep_trials")
"""Options of a search: no trial has them."""


class DebiasConfig(Options):
    """Options of a training, in one place. Unknown names are refused.

    >>> DebiasConfig(model="gpt2", method="lmd", bias="race").training.learning_rate
    5e-05
    >>> DebiasConfig(model="gpt2", method="lmd", bias="evenhand/age").training.learning_rate
    0.0001
    """

    model: str
    """A causal Hugging Face model, for methods of dialogues also an encoder-decoder: a hub name, a folder, or
    evenhand/reference."""
    method: str
    """A name from `evenhand list methods`, with its options: lmd?weight=10."""
    bias: str | None = None
    """A published bias type, or evenhand/AXIS for our own sentences."""
    specification: str | None = None
    """A TOML file of the user's own, in place of a published type."""
    data: str | None = None
    """A file of the user's own: texts, with a bias type or a specification for the terms, or pairs of texts of which
    one is preferred, which need neither. For methods of dialogue a run, or a table, of self-chats or replies."""
    source: str | None = None
    """A copy of RedditBias's repository; None: what `evenhand data fetch redditbias` got."""
    device: str = "auto"
    revision: str | None = None
    trust_remote_code: bool = False
    longest: Count = 36
    """Maximum tokens of a text; the rest is cut off. A history with its reply uses all the model reads by default."""
    start: Literal["auto", "none"] = "auto"
    """Start of each text: the token that evenhand puts first when it scores texts, or nothing (as published)."""
    epochs: float | None = Field(default=None, gt=0)
    """None: 2, as published; for our own sentences 1."""
    batch_size: Count | None = None
    """None: 8; for our own sentences and for dialogues 16."""
    accumulation: Count = 1
    learning_rate: float | None = None
    """None: 5e-5, as published; for our own sentences 1e-4."""
    schedule: str = "linear"
    warm_up: float = 0.0
    weight_decay: float = 0.0
    clip: float | None = 1.0
    precision: str = "float32"
    gradient_checkpointing: bool = False
    dropout: bool = True
    lora_rank: Count | None = None
    lora_alpha: float | None = None
    lora_dropout: float = 0.0
    lora_layers: tuple[str, ...] = ()
    """Names of the layers that get adapters, a list or with commas between; none: all linear ones but the head."""
    save_dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    """In which the trained weights are stored; auto: in which the base's are. Training is in 32 bits."""
    evaluate_every: Count | None = None
    patience: Count | None = None
    """Evaluations without a smaller bias after which training stops and the best model is restored."""
    checkpoint_seconds: float = Field(default=60.0, ge=0)
    seed: Seed = 42
    search: Literal["grid", "random"] | None = None
    """Train with several settings and choose one: all combinations of values, or settings drawn at random."""
    over: tuple[str, ...] = ()
    """With search: options to vary, NAME=VALUE,VALUE or NAME=log(LOW,HIGH); see `search_space`."""
    trials: Count | None = None
    """Number of trials of a random search; None: 12."""
    choose: Criterion = "bias"
    """Which trial becomes the model: see `CRITERIA`."""
    guard: float = Field(default=1.05, ge=1)
    """Maximum perplexity of neutral texts for the chosen trial, as a multiple of the original model's."""
    keep_trials: bool = False
    """Keep the weights of all trials, not of the chosen one alone."""

    @field_validator("lora_layers", mode="before")
    @classmethod
    def _listed(cls, value: Any) -> Any:
        return (
            tuple(name.strip() for name in value.split(",") if name.strip())
            if isinstance(value, str)
            else value
        )

    @property
    def own_axis(self) -> str | None:
        """The axis of our own sentences, if these are what is learned from."""
        name = self.bias or ""
        return name.removeprefix("evenhand/") if name.startswith("evenhand/") else None

    @cached_property
    def own_pairs(self) -> bool:
        """Whether the user's file holds pairs of texts of which one is preferred; raises DataError for no table."""
        return self.data is not None and holds_preferences(Path(self.data))

    @cached_property
    def dialogue(self) -> DialogueMethod | None:
        """The method, if it learns replies of dialogues; raises UsageError for one that there is not."""
        method = load_method(self.method)
        return method if isinstance(method, DialogueMethod) else None

    @property
    def training(self) -> TrainingOptions:
        """The part that the loop reads; raises UsageError for values out of range."""
        fields: dict[str, Any] = {
            name: getattr(self, name) for name in TrainingOptions.__dataclass_fields__ if hasattr(self, name)
        }
        open_fields = [name for name in OWN if fields[name] is None]
        for name in open_fields:
            if self.dialogue:
                fields[name] = DIALOGUES[name]
            else:
                fields[name] = OWN[name] if self.own_axis else getattr(TrainingOptions, name)
        return TrainingOptions(**fields)

    def same_result(self) -> dict[str, Any]:
        """Return the options that affect the weights, JSON-serialisable: all but paths and devices."""
        left_out = {
            "model",
            "specification",
            "data",
            "source",
            "device",
            "checkpoint_seconds",
            "trust_remote_code",
            *SEARCHING,
        }
        return self.model_dump(mode="json", exclude=left_out)

    def check_method(self) -> None:
        """Raise UsageError for an unknown method, and where one that trains nothing was given options of training.

        Raises ModelError where a package that it trains with is missing.
        """
        method = load_method(self.method)
        if isinstance(method, TrainingMethod):
            check_installed(self.training)
            return
        given = sorted(self.model_fields_set & set(TrainingOptions.__dataclass_fields__) - {"seed"})
        if given:
            raise UsageError(
                f"{method.name} does not train, so it cannot be combined with {' and '.join(given)}.",
                "Remove the training options.",
            )

    @property
    def space(self) -> Space:
        """What is varied; raises UsageError as `search_space`."""
        return search_space(self.method, self.over, sorted(self.model_fields_set))

    def settings(self) -> list[Setting]:
        """Return the settings of all trials, in order; raises UsageError."""
        return self.space.settings(self.search or "grid", self.trials or TRIALS, self.seed)

    def of_trial(self, setting: Mapping[str, Any]) -> "DebiasConfig":
        """The training of a trial; raises UsageError for values out of range."""
        name, given = split_options(self.method)
        own = {option: value for option, value in setting.items() if option in method_options(name)}
        written = {**given, **{option: plain(value) for option, value in own.items()}}
        words = [f"{option}={quote(value, safe=',')}" for option, value in written.items()]
        loop = {option: value for option, value in setting.items() if option not in own}
        plainly = self.model_dump(exclude=set(SEARCHING), exclude_unset=True)
        method = "?".join(filter(None, [name, "&".join(words)]))
        one = validated(DebiasConfig, {**plainly, **loop, "method": method})
        one.check()
        one.check_method()
        return one

    def check(self) -> None:
        """Raise UsageError if options contradict each other or do not define the bias."""
        self.training  # noqa: B018  # says which value is out of range
        self._check_search()
        if self.dialogue:
            self._check_dialogue()
            return
        if self.own_pairs:
            if self.bias or self.specification:
                raise UsageError(
                    f"{self.data} contains pairs of chosen and rejected texts, so `--bias` and `--specification` "
                    "cannot be used.",
                    "Remove --bias and --specification, or give a table with a column text.",
                )
            return
        if self.bias is None and self.specification is None:
            raise UsageError(
                "The bias to reduce is missing.",
                "For example: --bias evenhand/religion (sentences of evenhand), --bias race (RedditBias), "
                "--specification FILE with --data FILE, or --data PAIRS.csv with --method dpo.",
            )
        if self.own_axis and self.own_axis not in own_axes():
            raise unknown_name("axis", self.own_axis, own_axes())
        if self.own_axis and (self.specification or self.data or self.source):
            raise UsageError(
                f"{self.bias} comes with its own sentences and terms and cannot be combined with others.",
                "Remove --specification, --data and --from, or choose a bias type of RedditBias.",
            )
        if self.specification and self.bias is not None:
            raise UsageError("`--bias` and `--specification` cannot be combined.", "Use one of them.")
        if self.specification and not self.data:
            raise UsageError("`--specification` requires `--data`.", "Give your texts: --data FILE")
        if self.data and self.source:
            raise UsageError("`--data` and `--from` cannot be combined.", "Use one of them.")

    def _check_dialogue(self) -> None:
        if self.bias or self.specification or self.source:
            raise UsageError(
                f"{load_method(self.method).name} learns from dialogues and cannot be combined with a bias type, "
                "`--specification` or `--from`.",
                "Remove them, and give the dialogues: --data RUN",
            )
        if not self.data:
            raise UsageError(
                f"{load_method(self.method).name} learns from dialogues, but `--data` is missing.",
                "Give a run or a table: --data RUN (docs/how-to/debias_a_dialogue_model.md)",
            )

    def _check_search(self) -> None:
        if self.search is None:
            if given := [name for name in SEARCHING if name in self.model_fields_set]:
                raise UsageError(
                    f"`{given[0]}` requires `--search`.",
                    "Add --search grid or --search random, or remove it.",
                )
            return
        if self.search == "grid" and self.trials is not None:
            raise UsageError(
                "`--trials` cannot be used with `--search grid`: a grid tries all combinations.",
                "Remove --trials, or use --search random.",
            )
        if self.choose == "published" and self.own_axis:
            raise no_p()


def debias_config(given: Mapping[str, Any], settings: Sequence[str] = ()) -> DebiasConfig:
    """Options from flags and `--set name=value`; raises UsageError naming what is wrong.

    >>> debias_config({"model": "gpt2", "method": "cda", "bias": "race"}, ["clip=0.5"]).clip
    0.5
    """
    options: dict[str, Any] = {}
    for setting in settings:
        assign(options, setting)
    return validated(DebiasConfig, {**options, **given})
