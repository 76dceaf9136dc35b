"""Choose the conversation format of a model, and read the format that a trained folder records."""

from os.path import lexists
from pathlib import Path
from typing import Any, cast, get_args

from evenhand.models.contract import TextGenerator
from evenhand.models.dialogue.as_it_is import AsItIs
from evenhand.models.dialogue.chat import ChatTemplate, MessageModel, ServiceTelling, TemplateTelling
from evenhand.models.dialogue.contract import Converser, Telling, TokenModel
from evenhand.models.dialogue.options import DialogueOptions, FormatName, label_fault
from evenhand.models.dialogue.tokens import Cutter, Layout, TokenTelling
from evenhand.models.dialogue.transcript import TextTranscript, TokenTranscript
from evenhand.models.dialogue.turns import READ, blenderbot, blenderbot_small, dialogpt
from evenhand.schema import DataError, Unsupported, UsageError, is_a, is_file, read_json

TOLD = "evenhand_dialogue.json"
"""File next to the weights of a model that was trained on dialogues. It states the conversation format and the label
used in training.
"""
MOST_BYTES = 1 << 16
AGAIN = "Restore it from a copy, or delete it."
FAMILIES: dict[str, FormatName] = {"blenderbot": "blenderbot", "blenderbot-small": "blenderbot-small"}


def chosen_telling(model: TextGenerator, options: DialogueOptions) -> tuple[Telling, dict[str, Any]]:
    """Return the conversation format of a model, and the facts that state which format was chosen and why."""
    if is_a(model, Converser) and cast(Converser, model).answers_histories:
        return _by_itself(cast(Converser, model), options)
    trained = trained_format(model)
    name, because = _format(model, options, trained)
    label = (trained.get("label") if options.label is None else options.label) or None
    facts = {"format": name, "because": because, "label": label}
    return _telling(model, name, options, label), facts


def _by_itself(model: Converser, options: DialogueOptions) -> tuple[Telling, dict[str, Any]]:
    if options != DialogueOptions():
        raise Unsupported(
            f"{model.describe().get('name', 'This model')} reads conversation histories directly, so no format can "
            "be chosen.",
            "Remove the options that begin with dialogue. (such as --set dialogue.format=...).",
        )
    return AsItIs(model), {
        "format": "history",
        "because": "the model reads histories as they are",
        "label": None,
    }


def own_format(model: TextGenerator) -> FormatName | None:
    """Return the conversation format of a model's training, according to its folder or family (BlenderBot, DialoGPT).

    None for all other models, and for models that are used as a chat.
    """
    if trained := trained_format(model):
        return _format(model, DialogueOptions(), trained)[0]
    if _asked_as_chat(model):
        return None
    name = _format(model, DialogueOptions(), {})[0]
    return None if name == "transcript" else name


def trained_format(model: TextGenerator) -> dict[str, Any]:
    """Return the conversation format that a trained model's folder records; empty for any other model.

    Raises a DataError if the record is invalid or its file does not exist, because the model needs its label.
    """
    folder = _folder(model)
    if folder is None or not lexists(folder / TOLD):
        return {}
    if not is_file(folder / TOLD):
        raise DataError(
            f"{folder / TOLD} cannot be read as a file (for example a broken link or a folder), so the format and "
            "the label of the training are not known.",
            AGAIN,
        )
    said = read_json(folder / TOLD, AGAIN, most=MOST_BYTES)
    known = get_args(FormatName)
    fine = (
        isinstance(said, dict)
        and set(said) <= {"format", "label"}
        and said.get("format") in (*known, None)
        and isinstance(said.get("label"), str | None)
    )
    if not fine:
        raise DataError(
            f"{folder / TOLD} does not contain the conversation format of the model.",
            'Expected {"format": ..., "label": ...}, where the format is one of '
            + ", ".join(known)
            + ", and the label is a text or null.",
        )
    if fault := label_fault(said.get("label") or ""):
        raise DataError(
            f"{folder / TOLD}: the training label of the model is invalid: {said['label']!r} {fault}.", AGAIN
        )
    return cast(dict[str, Any], said)


def _folder(model: Any) -> Path | None:
    place = getattr(getattr(model, "model", None), "name_or_path", None)
    return Path(place) if isinstance(place, str) and place else None


def _asked_as_chat(model: Any) -> bool:
    """Return whether the model's own options make prompts messages of a chat."""
    return bool(getattr(getattr(model, "options", None), "chat", False))


def _format(model: Any, options: DialogueOptions, trained: dict[str, Any]) -> tuple[FormatName, str]:
    asked = _asked_as_chat(model)
    if options.format is not None:
        if asked and options.format != "chat":
            raise UsageError(
                f"The conversation format {options.format} cannot be used with a model that was loaded for chat.",
                "Remove --chat (for a served model, chat=1 in its URL), or remove dialogue.format.",
            )
        return options.format, "it was asked for"
    if trained.get("format"):
        return trained["format"], f"the model's {TOLD} says so"
    facts = model.describe()
    family = facts.get("family")
    if family in FAMILIES:
        return FAMILIES[family], f"the model's type is {family}"
    if family == "gpt2" and (name := _dialogpt(model, facts)):
        return "dialogpt", f"the model is called {name}"
    if asked or facts.get("chat"):
        return "chat", "the model was asked for as a chat"
    return "transcript", "the model is of no family with a format of its own, and was not asked for as a chat"


def _dialogpt(model: Any, facts: dict[str, Any]) -> str | None:
    folder = _folder(model)
    lineage = facts.get("lineage")
    names = (facts.get("name"), folder and folder.name, lineage and lineage.get("base"))
    return next((str(name) for name in names if "dialogpt" in str(name).lower()), None)


def _telling(model: TextGenerator, name: FormatName, options: DialogueOptions, label: str | None) -> Telling:
    called = str(model.describe().get("name") or _folder(model) or type(model).__name__)
    instruction = getattr(getattr(model, "options", None), "system", None)
    if is_a(model, TokenModel):
        return _in_tokens(cast(TokenModel, model), name, options, label, called)
    if options.truncate is not None or options.pinned:
        raise Unsupported(
            f"truncate and pinned cannot be used with {called} ({type(model).__name__}): its tokens are not known, "
            "so histories cannot be shortened.",
            "Remove dialogue.truncate and dialogue.pinned, or load the weights as a Hugging Face model.",
        )
    if name == "chat" and is_a(model, MessageModel):
        if not _asked_as_chat(model):
            raise Unsupported(
                f"{called} is used in completions mode, which accepts a single text only.",
                "Use chat mode: add chat=1 after the model name (http://host:port/v1#model?chat=1).",
            )
        return ServiceTelling(cast(MessageModel, model), instruction, label)
    if name != "transcript":
        mitigated = model.describe().get("mitigations")
        raise Unsupported(
            f"The format {name} requires tokens or messages, but {called} ({type(model).__name__}) accepts texts "
            "only." + (f", behind {', '.join(map(str, mitigated))}." if mitigated else "."),
            "Use the format transcript, which works with any model. A trained folder can also be used directly as "
            "the model.",
        )
    return TextTranscript(model, label)


def _in_tokens(
    model: TokenModel, name: FormatName, options: DialogueOptions, label: str | None, called: str
) -> Telling:
    from evenhand.models.writing import tokens_around
    from evenhand.weights import has_hugging_face

    cutter = Cutter(model.tokenizer, called)
    if label:
        cutter.check_label(label)
    causal = model.architecture == "causal"
    most = READ.get(name) if options.truncate is None else options.truncate
    kept = None
    if causal and has_hugging_face():  # kept states need torch
        from evenhand.models.writing import KeptStates

        kept = KeptStates()
    if name == "chat":
        _check_kind(model, "causal", name, called)
        template = ChatTemplate(cutter, getattr(getattr(model, "options", None), "system", None))
        return TemplateTelling(model, template, most, options.pinned, label, kept)
    layout: Layout
    if name == "transcript":
        around = tokens_around(model.tokenizer.backend_tokenizer)
        layout = TokenTranscript(cutter, around, encoder=not causal)
    elif name == "dialogpt":
        _check_kind(model, "causal", name, called)
        layout = dialogpt(cutter, options.persona_layout)
    else:
        _check_kind(model, "encoder-decoder", name, called)
        small = name == "blenderbot-small"
        layout = blenderbot_small(cutter) if small else blenderbot(cutter, options.persona_layout)
    telling = TokenTelling(model, layout, most, options.pinned, label, kept)
    telling.check_room(called)
    return telling


def _check_kind(model: TokenModel, kind: str, name: str, called: str) -> None:
    if model.architecture != kind:
        raise Unsupported(
            f"The format {name} is for {kind} models, but {called} is {model.architecture}.",
            "Remove the format: it is then chosen by the model's family.",
        )
