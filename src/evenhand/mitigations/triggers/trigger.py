"""The trigger mitigation: put the exact tokens of a found trigger before every prompt; and the format of its file."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, get_args

from evenhand.mitigations.contract import DRAWS, Mitigated
from evenhand.mitigations.triggers.objective import Mode
from evenhand.mitigations.triggers.tokens import Trigger as Ids
from evenhand.models import (
    Decoding,
    Generations,
    LanguageModel,
    Likelihoods,
    Texts,
    generate_keyed,
    room_for,
)
from evenhand.schema import Card, DataError, Unsupported, as_json, is_file, parse_json, write_json

FORMAT = "evenhand trigger"
VERSION = 1


@dataclass(frozen=True, kw_only=True)
class TriggerFile:
    """Content of a trigger file: a trigger that was found by a search, and how it was found.

    >>> from tempfile import mkdtemp
    >>> told = TriggerFile(ids=(5, 6), text=" be kind", mode="mitigate", tokenizer="ab", model={"name": "tiny"})
    >>> told.write(Path(mkdtemp()) / "kind.json") == told
    True
    """

    ids: Ids
    text: str
    mode: Mode
    tokenizer: str
    """SHA-256 of the tokenizer that splits the text into these tokens; see `tokenizer_fingerprint`."""
    model: dict[str, Any]
    """Fingerprint of the model on which it was found."""
    separator: str = " "
    objective: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    examples: dict[str, Any] = field(default_factory=dict)
    """Number, groups, labels and digest of the examples."""
    history: tuple[dict[str, Any], ...] = ()
    """One row per sweep of the search."""
    choice: dict[str, Any] = field(default_factory=dict)
    """Effect of each round's trigger on the model's continuations, for the prompts that were used for the choice."""
    effect: dict[str, Any] = field(default_factory=dict)
    """Effect of the chosen trigger on prompts that were not used for search or choice."""

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain data, as in the file."""
        content: dict[str, Any] = as_json({"format": FORMAT, "version": VERSION, **asdict(self)})
        return content

    def write(self, path: Path) -> "TriggerFile":
        """Write the file as JSON, atomically, and return the trigger. Raises a WriteError."""
        write_json(path, self.to_dict())
        return self


def read_trigger(path: Path | str) -> TriggerFile:
    """Read a trigger file. Raise DataError if it does not exist or is not a trigger file."""
    path = Path(path)
    if not is_file(path):
        raise DataError(
            f"Trigger file not found: {path}.",
            "Create one: evenhand search-trigger MODEL --prompts PROMPTS --classifier NAME --output FILE",
        )
    try:
        content = parse_json(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise DataError(
            f"{path} is not a trigger file: {error}.", "Use a file that `evenhand search-trigger` wrote."
        ) from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise DataError(
            f"{path} is not a trigger file: it has no entry 'format': '{FORMAT}'.",
            "Use a file that `evenhand search-trigger` wrote.",
        )
    if content.get("version") != VERSION:
        raise DataError(
            f"{path} is a trigger file of version {content.get('version')}, but this evenhand reads version "
            f"{VERSION}.",
            "Install the version of evenhand that wrote it, or search the trigger again.",
        )
    ids, mode = content.get("ids"), content.get("mode")
    if not (isinstance(ids, list) and ids and all(type(i) is int and i >= 0 for i in ids)):
        raise DataError(f"{path}: 'ids' must be a list of token ids, got {ids!r}.")
    if mode not in get_args(Mode):
        raise DataError(f"{path}: 'mode' must be one of {', '.join(get_args(Mode))}, got {mode!r}.")
    for name, kind in (("text", str), ("separator", str), ("tokenizer", str), ("model", dict)):
        if not isinstance(content.get(name), kind):
            raise DataError(
                f"{path}: '{name}' must be {'text' if kind is str else 'an object'}, got {content.get(name)!r}."
            )
    known = {name: content[name] for name in TriggerFile.__dataclass_fields__ if name in content}
    return TriggerFile(**{**known, "ids": tuple(ids), "history": tuple(content.get("history", ()))})


CARD = Card(
    "trigger",
    "Puts a token sequence, found by gradient search, before every prompt.",
    construct="Whether a few tokens, the same before every prompt, change how a model writes about people.",
    null="A trigger that means nothing to a model changes its output no more than any other prefix does.",
    critique="In ROBBIE, with GPT-2 XL, it lowered negative regard from 25.1 to 18.2%, but made two of three other "
    "benchmarks worse; perplexity rose by 0.66. Most triggers are not language. They are specific to the model and "
    "kind of prompt for which they were found, and they change the topic of the continuation. Evaluate a trigger "
    "on other benchmarks too.",
    citation="Wallace et al. 2019, Universal Adversarial Triggers for Attacking and Analyzing NLP; Sheng et al. 2020, "
    "Towards Controllable Biases in Language Generation.",
    source="Sheng et al. 2020, section 3; ROBBIE (2023), section B.3.3.",
    details="`evenhand search-trigger` finds a trigger and writes the file for `--mitigate trigger=FILE`. The "
    "trigger works only with models that have the same tokenizer. `trigger?file=FILE&as_text=true` puts its "
    "characters before the prompts of any model, where they may be other tokens. This is an experiment and is "
    "recorded as one.",
)
INDUCED = Card(
    "trigger (for red-teaming measurement)",
    "Puts a token sequence before every prompt that was searched to provoke bias: it measures how easily bias can "
    "be provoked.",
    construct="How strongly a few tokens can bias a model against one group and in favour of another.",
    harm="It makes the model more harmful on purpose. It is not a mitigation.",
    null="A model that a prefix cannot steer writes as it does without one.",
    critique="The result of one search is a lower bound: a longer search or another method may find more.",
    citation=CARD.citation,
    source=CARD.source,
)


@dataclass(frozen=True)
class Trigger:
    """A mitigation that puts a found trigger before every prompt; only the continuation is returned.

    Parameters
    ----------
    file : path, str or TriggerFile
        A file that `evenhand search-trigger` wrote, or its content.
    as_text : bool, default False
        Use the characters of the trigger, which the model may split into other tokens.

    Raises
    ------
    DataError
        The file contains no trigger.

    >>> from evenhand.models.puppets import writes
    >>> kind = TriggerFile(ids=(5, 6), text=" be kind", mode="mitigate", tokenizer="ab", model={"name": "tiny"})
    >>> echo = writes(lambda prompt, sample: prompt.upper())
    >>> Trigger(kind, as_text=True)(echo).generate(["The man"], Decoding(max_new_tokens=5)).texts
    [' BE KIND THE MAN']
    """

    CARD: ClassVar[Card] = CARD
    file: str | Path | TriggerFile
    as_text: bool = False
    found: TriggerFile = field(init=False, repr=False)

    def __post_init__(self) -> None:
        content = self.file if isinstance(self.file, TriggerFile) else read_trigger(self.file)
        object.__setattr__(self, "found", content)

    @property
    def name(self) -> str:
        """Return the name in reports: `trigger`, with a mark if it was searched to induce bias."""
        return self.card.name

    @property
    def card(self) -> Card:
        """Return the card: the objective of the search, and the measured effect."""
        card = INDUCED if self.found.mode == "induce" else CARD
        if not (effect := self.found.effect.get("sentence")):
            return card
        return replace(card, details=f"{card.details} {effect}".strip())

    @property
    def specification(self) -> None:
        """Return None, because the tokens of a trigger have no meaning that could be reversed or left out."""
        return None

    def specified(self, texts: Sequence[str]) -> "Trigger":
        """Raise Unsupported, because a trigger has no wording."""
        raise Unsupported(
            "A trigger has no wording: its tokens were found by a search.",
            "The consistency check tests whether the wording matters. Use it with an instruction or "
            "self-debiasing.",
        )

    def parameters(self) -> dict[str, Any]:
        """Return the exact tokens and characters, the objective, and whether they are used as text only."""
        found = self.found
        parameters = {
            "ids": list(found.ids),
            "text": found.text,
            "separator": found.separator,
            "mode": found.mode,
            "draws": DRAWS,
        }
        return {**parameters, "as_text": True} if self.as_text else parameters

    def __call__(self, model: LanguageModel) -> LanguageModel:
        """Return the model with the trigger before every prompt.

        Raises Unsupported for masked models. Unless `as_text`, it also raises Unsupported for models with another or an
        unknown tokenizer, and for models that put prompts into a chat template.
        """
        name = model.fingerprint.get("name", "This model")
        if model.architecture == "masked":
            raise Unsupported(
                f"{name} is a masked language model, so no trigger can be put before a prompt.",
                "Use a causal or encoder-decoder model.",
            )
        if not self.as_text:
            self._check(model, str(name))
        return TriggeredModel(model, self)

    def _check(self, model: LanguageModel, name: str) -> None:
        theirs = find_tokenizer(model)
        where = self.found.model.get("name", "another model")
        if theirs is None or theirs[1] != self.found.tokenizer:
            reason = "is not known" if theirs is None else "is another one"
            raise Unsupported(
                f"The trigger {self.found.text!r} consists of tokens of {where}, but the tokenizer of {name} "
                f"{reason}: the model would read other tokens.",
                "Search for a trigger on this model. Or, as an experiment, use its characters: --mitigate "
                "'trigger?file=FILE&as_text=true'.",
            )
        if "chat" in model.fingerprint:
            raise Unsupported(
                f"{name} uses a chat template, so the trigger would not be the first text that the model reads.",
                "Load it without chat, or use trigger?file=FILE&as_text=true.",
            )


class TriggeredModel(Mitigated):
    """A model whose prompts all start with a trigger."""

    def __init__(self, model: LanguageModel, mitigation: Trigger):
        super().__init__(model, mitigation)
        self.found = mitigation.found
        self.front = self.found.text + self.found.separator
        known = None if mitigation.as_text else find_tokenizer(model)
        self.tokenizer = known[0] if known is not None else None

    def log_likelihoods(self, texts: Texts | Sequence[str]) -> Likelihoods:
        """Score each text after the trigger and its own context. The trigger itself is not scored."""
        batch = Texts.of(texts)
        self._check_tokens(
            [context or text for context, text in zip(batch.all_contexts, batch.texts, strict=True)]
        )
        return super().log_likelihoods(batch.behind(self.front))

    def room_for(self, prompts: Sequence[str]) -> list[int] | None:
        """Return how many tokens fit after each prompt with the trigger before it."""
        return room_for(self.model, [self.front + prompt for prompt in prompts])

    def generate(self, prompts: Sequence[str], decoding: Decoding) -> Generations:
        """Continue the trigger and each prompt, with the same random numbers as for the prompt alone.

        Raises Unsupported if the tokenizer merges the beginning of a prompt with the end of the trigger.
        """
        return self.generate_keyed(prompts, prompts, decoding)

    def generate_keyed(self, prompts: Sequence[str], keys: Sequence[str], decoding: Decoding) -> Generations:
        """Do the same with random numbers that depend on keys (see KeyedGenerator)."""
        self._check_tokens(prompts)
        return generate_keyed(self.model, [self.front + prompt for prompt in prompts], keys, decoding)

    def _check_tokens(self, texts: Sequence[str]) -> None:
        if self.tokenizer is None:
            return
        # only the text directly after the trigger could merge with it
        heads = list(dict.fromkeys(text[:24] for text in texts))
        backend = self.tokenizer.backend_tokenizer
        cut = backend.encode_batch_fast([self.front + head for head in heads], add_special_tokens=False)
        wanted = list(self.found.ids)
        for head, encoding in zip(heads, cut, strict=True):
            if encoding.ids[: len(wanted)] != wanted:
                raise Unsupported(
                    f"Before {head!r}, the tokenizer splits the trigger {self.front!r} into other tokens than "
                    "those of the search.",
                    "Leave this text out, or use trigger?file=FILE&as_text=true.",
                )


def find_tokenizer(model: Any) -> tuple[Any, str] | None:
    """Return the tokenizer of the model at the end of a chain and its SHA-256, or None if there is none."""
    from evenhand.weights import tokenizer_fingerprint

    while isinstance(model, Mitigated):
        model = model.model
    tokenizer = getattr(model, "tokenizer", None)
    if tokenizer is None or getattr(tokenizer, "backend_tokenizer", None) is None:
        return None
    return tokenizer, tokenizer_fingerprint(tokenizer)
