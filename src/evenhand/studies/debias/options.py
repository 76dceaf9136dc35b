"""The options of a debiasing training."""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal
from urllib.parse import quote

from pydantic import Field, field_validator

# a lazy package: what computes is imported when it is used, not when the help is shown
from evenhand.mitigations import training as debiasing
from evenhand.schema import UsageError, split_options, unknown_name
from evenhand.study import Count, Flag, Seed, StudyOptions, validate_options

if TYPE_CHECKING:
    from evenhand.mitigations.training import DialogueMethod, TrainingOptions
    from evenhand.studies.debias.space import Setting, Space

OWN = {"epochs": 1.0, "batch_size": 16, "learning_rate": 1e-4}
"""Default training settings for evenhand's sentences: enough to reduce the bias with little other change."""
DIALOGUES = {"epochs": 2.0, "batch_size": 16, "learning_rate": 5e-5}
"""Default training settings for dialogues."""
TRIALS = 12
"""Default number of trials of a random search."""
Criterion = Literal["bias", "pareto", "published"]
"""Rules for choosing a trial of a search."""
SEARCHING = ("search", "over", "trials", "choose", "guard", "keep_trials")
"""Options of a search: no trial has them."""


class DebiasConfig(StudyOptions):
    """All options of a debiasing training. Unknown names are refused.

    >>> DebiasConfig(model="gpt2", method="lmd", bias="race").training.learning_rate
    5e-05
    >>> DebiasConfig(model="gpt2", method="lmd", bias="evenhand/age").training.learning_rate
    0.0001
    """

    HIDDEN: ClassVar = (
        "weight_decay",
        "clip",
        "dropout",
        "lora_alpha",
        "lora_dropout",
        "lora_layers",
        "save_dtype",
        "checkpoint_seconds",
    )

    model: str
    """Causal Hugging Face model, or an encoder-decoder for dialogue methods: a name, a local folder, or
    evenhand/reference."""
    method: Annotated[str, Flag(names=("--method", "-m"))]
    """Debiasing method: lmd, add, hd, cda, dpo; for dialogues self-chat, name-scrambling, unlikelihood-token,
    unlikelihood-sequence, control-gender, control-tokens, style-equality; without training inlp, sentence-debias
    (`evenhand list methods`). With options: lmd?weight=10."""
    bias: Annotated[str | None, Flag(names=("--bias", "-b"))] = None
    """Bias to remove: religion1, religion2, race, gender, orientation (RedditBias), or evenhand/AXIS for the sentences
    of evenhand itself, which need no network, such as evenhand/religion."""
    specification: Annotated[str | None, Flag(form="path")] = None
    """TOML file of your own terms, for use with --data instead of --bias."""
    data: Annotated[str | None, Flag(form="path")] = None
    """Your own texts: .txt with one text per line, or a table with a column text. For dpo also pairs: a table with the
    columns prompt, chosen, rejected. For dialogue methods: a run of self-chats (style-equality: of
    holisticbias-styles), or a table: see docs/how-to/debias_a_dialogue_model.md."""
    source: Annotated[str | None, Flag(names=("--from",), form="path")] = None
    """Copy of github.com/umanlp/RedditBias. Default: the cache of `evenhand data fetch redditbias`."""
    epochs: float | None = Field(default=None, gt=0)
    """Number of passes over the texts. Default: 2; 1 for the sentences of evenhand."""
    batch_size: Count | None = None
    """Number of texts per batch and device. Default: 8; 16 for the sentences of evenhand and for dialogues."""
    accumulation: Count = 1
    """Number of batches per optimiser step. Default: 1."""
    learning_rate: Annotated[float | None, Flag(above=0)] = None
    """Learning rate. Default: 5e-5; 1e-4 for the sentences of evenhand."""
    schedule: str = "linear"
    """Learning-rate schedule: linear (falls to 0), cosine or constant. Default: linear."""
    warm_up: Annotated[float, Flag(low=0, below=1)] = 0.0
    """Share of steps over which the learning rate rises, from 0 to below 1. Default: 0."""
    longest: Annotated[Count, Flag(low=2)] = 36
    """Maximum number of tokens per text; longer texts are cut. Default: 36; for dialogues the model's maximum."""
    start: Literal["auto", "none"] = "auto"
    """Token before each text: auto (the token that evenhand uses when it scores texts) or none (published). Default:
    auto."""
    lora_rank: Count | None = None
    """Train adapters of this rank instead of all weights."""
    precision: str = "float32"
    """Precision of the activations: float32 or bfloat16. Default: float32."""
    gradient_checkpointing: bool = False
    """Use less memory; training is about a third slower."""
    evaluate_every: Count | None = None
    """Number of steps between evaluations. Default: one epoch."""
    patience: Count | None = None
    """Stop after this number of evaluations in a row without improvement. Improvement is a smaller bias, or for
    dialogue methods a smaller perplexity on held-out names. Default: never."""
    search: Literal["grid", "random"] | None = None
    """Train with several settings (grid or random) and choose one by its bias and perplexity on validation texts."""
    over: tuple[str, ...] = ()
    """With --search: setting of the method or the training to vary, as weight=0.1,1,10, or for random search as a
    range, 'weight=log(0.1,100)'. Repeatable."""
    trials: Count | None = None
    """Number of trials of --search random. Default: 12."""
    choose: Criterion = "bias"
    """With --search: rule for choosing the trial. bias (smallest bias within --guard), pareto (best combination of bias
    and perplexity within --guard) or published (largest p; ignores perplexity). Default: bias."""
    guard: float = Field(default=1.05, ge=1)
    """Largest allowed ratio of the chosen model's perplexity to the original's, on neutral texts. Default: 1.05."""
    keep_trials: bool = False
    """Keep the weights of all trials, not only of the chosen one."""
    seed: Seed = 42
    """Random seed. Default: 42."""
    device: str = "auto"
    """Device: auto, cpu, cuda, cuda:1 or mps. Default: auto."""
    revision: str | None = None
    """Branch, tag or commit of a Hugging Face model."""
    trust_remote_code: Annotated[bool, Flag(resume="again")] = False
    """Run Python code from the model's repository. Use only with models that you trust."""
    weight_decay: float = 0.0
    """Weight decay. Default: 0."""
    clip: float | None = 1.0
    """Maximum norm of the gradient; null turns clipping off. Default: 1.0."""
    dropout: bool = True
    """Use dropout during training. Default: yes."""
    lora_alpha: float | None = None
    """Scale of the adapters. Default: twice their rank."""
    lora_dropout: float = 0.0
    """Dropout of the adapters. Default: 0."""
    lora_layers: tuple[str, ...] = ()
    """Names of the layers that get LoRA adapters, as a list or separated by commas. Empty: all linear layers except the
    head."""
    save_dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    """Data type of the stored weights; "auto" is that of the base model. Training uses 32 bits."""
    checkpoint_seconds: float = Field(default=60.0, ge=0)
    """Seconds between checkpoints. Default: 60."""

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
        return self.data is not None and debiasing.holds_preferences(Path(self.data))

    @cached_property
    def dialogue(self) -> "DialogueMethod | None":
        """Return the method if it learns from dialogues, otherwise None. Raise a UsageError for an unknown method."""
        method = debiasing.load_method(self.method)
        return method if isinstance(method, debiasing.DialogueMethod) else None

    @property
    def training(self) -> "TrainingOptions":
        """Return the options of the training loop. Raise a UsageError for values out of range."""
        fields: dict[str, Any] = {
            name: getattr(self, name)
            for name in debiasing.TrainingOptions.__dataclass_fields__
            if hasattr(self, name)
        }
        open_fields = [name for name in OWN if fields[name] is None]
        for name in open_fields:
            if self.dialogue:
                fields[name] = DIALOGUES[name]
            else:
                fields[name] = OWN[name] if self.own_axis else getattr(debiasing.TrainingOptions, name)
        return debiasing.TrainingOptions(**fields)

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
        method = debiasing.load_method(self.method)
        if isinstance(method, debiasing.TrainingMethod):
            debiasing.check_installed(self.training)
            return
        given = sorted(self.model_fields_set & set(debiasing.TrainingOptions.__dataclass_fields__) - {"seed"})
        if given:
            raise UsageError(
                f"{method.name} does not train, so it cannot be combined with {' and '.join(given)}.",
                "Remove the training options.",
            )

    @property
    def space(self) -> "Space":
        """Return the options that a search varies. Raise a UsageError if they are invalid (see `search_space`)."""
        from evenhand.studies.debias.space import search_space

        return search_space(self.method, self.over, sorted(self.model_fields_set))

    def settings(self) -> "list[Setting]":
        """Return the settings of all trials, in order; raises UsageError."""
        return self.space.settings(self.search or "grid", self.trials or TRIALS, self.seed)

    def of_trial(self, setting: Mapping[str, Any]) -> "DebiasConfig":
        """Return the training options of one trial. Raise a UsageError for values out of range."""
        from evenhand.studies.debias.space import plain

        name, given = split_options(self.method)
        own = {option: value for option, value in setting.items() if option in debiasing.method_options(name)}
        written = {**given, **{option: plain(value) for option, value in own.items()}}
        words = [f"{option}={quote(value, safe=',')}" for option, value in written.items()]
        loop = {option: value for option, value in setting.items() if option not in own}
        plainly = self.model_dump(exclude=set(SEARCHING), exclude_unset=True)
        method = "?".join(filter(None, [name, "&".join(words)]))
        one = validate_options(DebiasConfig, {**plainly, **loop, "method": method})
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
        if self.own_axis and self.own_axis not in debiasing.own_axes():
            raise unknown_name("axis", self.own_axis, debiasing.own_axes())
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
                f"{debiasing.load_method(self.method).name} learns from dialogues and cannot be combined with a bias "
                "type, `--specification` or `--from`.",
                "Remove these options, and give the dialogues: --data RUN",
            )
        if not self.data:
            raise UsageError(
                f"{debiasing.load_method(self.method).name} learns from dialogues, but `--data` is missing.",
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


def no_p() -> UsageError:
    """Return the error for a bias without a test to choose by."""
    return UsageError(
        "`--choose published` requires pairs of texts about two groups: its criterion is the p-value of a test "
        "between them. The sentences of evenhand are not such pairs.",
        "Use --choose bias or pareto, or a bias type of RedditBias, or --specification with --data.",
    )
