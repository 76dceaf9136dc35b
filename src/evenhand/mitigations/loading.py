"""From the words behind `--mitigate` to mitigations, and from a model to the end of their chain."""

import inspect
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from evenhand.mitigations.contract import Mitigation
from evenhand.models.contract import LanguageModel
from evenhand.schema import Card, UsageError
from evenhand.schema.errors import unknown_name

GROUP = "evenhand.mitigations"

MITIGATIONS = {
    "prefix": "evenhand.mitigations.prompting:Prefix",
    "instruction": "evenhand.mitigations.instructions:library_instruction",
    "instructive-debiasing": "evenhand.mitigations.instructions:instructive_debiasing",
    "self-debiasing": "evenhand.mitigations.self_debiasing:SelfDebiasing",
    "contrastive": "evenhand.mitigations.contrastive:ContrastiveDebiasing",
    "instruction-file": "evenhand.mitigations.found_instruction:instruction_file",
    "trigger": "evenhand.mitigations.triggers:Trigger",
}
"""By name: what makes it. Its first argument is the value behind "=", the others the options behind "?"."""


NOT_OPTIONS = ("name", "card", "levels")
"""What a mitigation says of itself; nobody may name it otherwise."""


def load_mitigation(words: str) -> Mitigation:
    """The mitigation that a user names.

    words: `NAME`, `NAME=VALUE` or `NAME?option=value&option=value`; a package adds names under the entry-point
    group "evenhand.mitigations". Raises UsageError for unknown names and options, and what the mitigation raises.

    >>> load_mitigation("prefix=Be respectful.").parameters()
    {'text': 'Be respectful.', 'delimiter': '\\n'}
    >>> load_mitigation("instructive-debiasing?wording=code").name
    'instructive-debiasing'
    """
    value: str | None = None
    options: dict[str, str] = {}
    if "=" in words and ("?" not in words or words.index("=") < words.index("?")):
        name, value = words.split("=", 1)
    else:
        name, _, tail = words.partition("?")
        for option in filter(None, tail.split("&")):
            key, equals, given = option.partition("=")
            if not equals:
                raise UsageError(
                    f"--mitigate {words}: {option!r} is no option=value.",
                    f"For example: {name}?option=value&other=value",
                )
            options[key] = given
    make = _maker(name)
    takes = {
        key: value
        for key, value in inspect.signature(make).parameters.items()
        if key not in NOT_OPTIONS or value.default is value.empty
    }
    if unknown := [key for key in options if key not in takes]:
        raise unknown_name(f"option of {name}", unknown[0], takes)
    needed = [
        key
        for key, parameter in takes.items()
        if parameter.default is parameter.empty and parameter.kind is not parameter.VAR_KEYWORD
    ]
    if needed and value is None and needed[0] not in options:
        raise UsageError(f"{name} needs its {needed[0]}.", f'For example: --mitigate {name}="..."')
    try:
        made = (
            make(**_typed(options, takes))
            if value is None
            else make(_converted(value, next(iter(takes.values()))))
        )
    except ValueError as error:
        raise UsageError(f"--mitigate {words}: {error}.") from error
    if not isinstance(made, Mitigation):
        raise TypeError(f"{name} is registered as a mitigation but is {type(made).__name__}; no card, no run")
    return made


def mitigated(model: LanguageModel, chain: Sequence[str | Mitigation]) -> LanguageModel:
    """The model behind all mitigations, the first named applied first.

    Raises UsageError for unknown names, Unsupported where the backend cannot do what a mitigation needs.
    """
    for link in as_chain(chain):
        model = (load_mitigation(link) if isinstance(link, str) else link)(model)
    return model


def as_chain(chain: str | Mitigation | Sequence[str | Mitigation]) -> list[str | Mitigation]:
    """A chain as a list, one link being a chain as well; raises UsageError for anything that is no mitigation."""
    links = [chain] if isinstance(chain, str | Mitigation) else list(chain)
    for link in links:
        if not isinstance(link, str | Mitigation):
            raise UsageError(
                f"{link!r} is no mitigation.",
                "Give names, as behind --mitigate, or objects such as evenhand.mitigations.Prefix(...).",
            )
    return links


def mitigation_cards() -> dict[str, Card]:
    """Cards of all mitigations by the words that name them."""
    from evenhand.mitigations.instructions import INSTRUCTIONS

    words = ["instructive-debiasing", *(f"instruction={name}" for name in INSTRUCTIONS)]
    others = [name for name in (*MITIGATIONS, *_points()) if name not in ("prefix", "instruction", *words)]
    cards = {"prefix=TEXT": load_mitigation("prefix=...").card}
    for name in [*words, *others]:
        make = _maker(name.split("=")[0])
        stated = getattr(make, "CARD", None)
        cards[name] = stated if isinstance(stated, Card) else load_mitigation(name).card
    return cards


def _maker(name: str) -> Callable[..., Any]:
    if name in MITIGATIONS:
        module, attribute = MITIGATIONS[name].split(":")
        made: Callable[..., Any] = getattr(import_module(module), attribute)
        return made
    points = _points()
    if name not in points:
        raise unknown_name("mitigation", name, [*MITIGATIONS, *points])
    loaded: Callable[..., Any] = points[name].load()
    return loaded


def _points() -> dict[str, Any]:
    return {point.name: point for point in entry_points(group=GROUP)}


def _typed(options: dict[str, str], takes: Any) -> dict[str, Any]:
    return {key: _converted(value, takes[key]) for key, value in options.items()}


def _converted(value: str, parameter: inspect.Parameter) -> Any:
    """As the parameter's default or annotation says: everything arrives as text."""
    kind = str(parameter.annotation)
    if isinstance(parameter.default, bool) or "bool" in kind:
        if value.lower() not in ("true", "false", "1", "0", "yes", "no"):
            raise UsageError(f"{parameter.name}={value}: true or false was expected.")
        return value.lower() in ("true", "1", "yes")
    for name, make in (("float", float), ("int", int)):
        if name in kind:
            try:
                return make(value)
            except ValueError as error:
                raise UsageError(f"{parameter.name}={value}: a number was expected.") from error
    return value
