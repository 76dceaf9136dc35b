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
from evenhand.studies.debias.choosing import Criterion, no_p
from evenhand.studies.debias.space import Setting, Space, plain, search_space
from evenhand.study import Count, Options, Seed, assign, validated

OWN = {"epochs": 1.0, "batch_size": 16, "learning_rate": 1e-4}
"""Default training settings for evenhand's sentences: enough to reduce the bias with little other change."""
DIALOGUES = {"epochs": 2.0, "batch_size": 16, "learning_rate": 5e-5}
"""Default training settings for dialogues."""
TRIALS = 12
"""Default number of trials of a random search."""
SEARCHING = ("search", "over", "trials", "choose", "guard", "keep_trials")
"""Options of a search: no trial has them."""


class DebiasConfig(Options):
    """All options of a debiasing training. Unknown names are refused.

    >>> DebiasConfig(model="gpt2", method="lmd", bias="race").training.learning_rate
    5e-05
    >>> DebiasConfig(model="gpt2", method="lmd", bias="evenhand/age").training.learning_rate
    0.0001
    """

    model: str
    """The model to train: a hub name, a folder, or evenhand/reference.

    It must be a causal Hugging Face model. For methods that learn from dialogues, it may also be an encoder-decoder.
    """
    method: str
    """Name from `evenhand list methods`, optionally with options, such as lmd?weight=10."""
    bias: str | None = None
    """A bias type of RedditBias, such as religion1, or evenhand/AXIS for evenhand's own sentences, such as
    evenhand/age.
    """
    specification: str | None = None
    """Your own TOML file with term pairs, instead of a published bias type."""
    data: str | None = None
    """Your own file of training data: texts, pairs of texts, or dialogues.

    Texts also need a bias type or a specification, for the terms. Pairs of a preferred and another text need neither.
    For methods that learn from dialogues, it is a run, or a table of self-chats or replies.
    """
    source: str | None = None
    """Folder with a copy of RedditBias's repository. None: the copy from `evenhand data fetch redditbias`."""
    device: str = "auto"
    revision: str | None = None
    trust_remote_code: bool = False
    longest: Count = 36
    """Maximum number of tokens of a text; the rest is cut off. Default for a history with its reply: the model's
    context.
    """
    start: Literal["auto", "none"] = "auto"
    """Start of each text: the token that evenhand puts first when it scores texts, or nothing (as published)."""
    epochs: float | None = Field(default=None, gt=0)
    """Number of epochs. None: 2, as published; 1 for evenhand's own sentences."""
    batch_size: Count | None = None
    """Batch size. None: 8; 16 for evenhand's own sentences and for dialogues."""
    accumulation: Count = 1
    learning_rate: float | None = None
    """Learning rate. None: 5e-5, as published; 1e-4 for evenhand's own sentences."""
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
    """Names of the layers that get LoRA adapters, as a list or separated by commas. Empty: all linear layers except the
    head.
    """
    save_dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    """Data type of the stored weights; "auto" is that of the base model. Training uses 32 bits."""
    evaluate_every: Count | None = None
    patience: Count | None = None
    """Number of evaluations without a smaller bias after which training stops. The best model is restored."""
    checkpoint_seconds: float = Field(default=60.0, ge=0)
    seed: Seed = 42
    search: Literal["grid", "random"] | None = None
    """Train with several settings and choose one: all combinations of values, or settings drawn at random."""
    over: tuple[str, ...] = ()
    """Options to vary in a search: NAME=VALUE,VALUE or NAME=log(LOW,HIGH). See `search_space`."""
    trials: Count | None = None
    """Number of trials of a random search. None: 12."""
    choose: Criterion = "bias"
    """Criterion by which the best trial is chosen, a key of `CRITERIA`."""
    guard: float = Field(default=1.05, ge=1)
    """Largest acceptable perplexity of neutral texts for the chosen trial, as a multiple of the original model's."""
    keep_trials: bool = False
    """Keep the weights of all trials, instead of only those of the chosen one."""

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
        """Return the axis of evenhand's own sentences, if the model is trained on them; otherwise None."""
        name = self.bias or ""
        return name.removeprefix("evenhand/") if name.startswith("evenhand/") else None

    @cached_property
    def own_pairs(self) -> bool:
        """Return True if your data file has pairs of a preferred and another text. Raise a DataError if it is not a
        table.
        """
        return self.data is not None and holds_preferences(Path(self.data))

    @cached_property
    def dialogue(self) -> DialogueMethod | None:
        """Return the method if it learns from dialogues, otherwise None. Raise a UsageError for an unknown method."""
        method = load_method(self.method)
        return method if isinstance(method, DialogueMethod) else None

    @property
    def training(self) -> TrainingOptions:
        """Return the options of the training loop. Raise a UsageError for values out of range."""
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
        """Return the options that a search varies. Raise a UsageError if they are invalid (see `search_space`)."""
        return search_space(self.method, self.over, sorted(self.model_fields_set))

    def settings(self) -> list[Setting]:
        """Return the settings of all trials, in order; raises UsageError."""
        return self.space.settings(self.search or "grid", self.trials or TRIALS, self.seed)

    def of_trial(self, setting: Mapping[str, Any]) -> "DebiasConfig":
        """Return the training options of one trial. Raise a UsageError for values out of range."""
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
            raise UsageError(
                "`--bias` and `--specification` cannot be combined.",
                "Use --bias for a published bias type or an axis of evenhand, or --specification with --data for "
                "your own terms.",
            )
        if self.specification and not self.data:
            raise UsageError("`--specification` requires `--data`.", "Give your texts: --data FILE")
        if self.data and self.source:
            raise UsageError(
                "`--data` and `--from` cannot be combined.",
                "Use --data for your own texts, or --from for a copy of the RedditBias files.",
            )

    def _check_dialogue(self) -> None:
        if self.bias or self.specification or self.source:
            raise UsageError(
                f"{load_method(self.method).name} learns from dialogues and cannot be combined with a bias type, "
                "`--specification` or `--from`.",
                "Remove these options, and give the dialogues: --data RUN",
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
                "`--trials` cannot be used with `--search grid`, because a grid search tries every combination of "
                "the values.",
                "Remove --trials, or use --search random.",
            )
        if self.choose == "published" and self.own_axis:
            raise no_p()


def debias_config(given: Mapping[str, Any], settings: Sequence[str] = ()) -> DebiasConfig:
    """Return the options from command-line flags and `--set name=value`. Raise a UsageError that names an invalid one.

    >>> debias_config({"model": "gpt2", "method": "cda", "bias": "race"}, ["clip=0.5"]).clip
    0.5
    """
    options: dict[str, Any] = {}
    for setting in settings:
        assign(options, setting)
    return validated(DebiasConfig, {**options, **given})
