"""Load mitigations from the values of `--mitigate`, and apply a chain of them to a model."""

from collections.abc import Callable, Sequence
from typing import Any, cast

from evenhand.mitigations.contract import Mitigation
from evenhand.models import LanguageModel
from evenhand.schema import (
    Card,
    EvenhandError,
    ExtensionError,
    Registry,
    UsageError,
    checked,
    convert_option,
    convert_options,
    list_options,
    make_unusable_card,
    missing_members,
    split_value,
)

MITIGATIONS = {
    "prefix": "evenhand.mitigations.prompting.prefix:Prefix",
    "instruction": "evenhand.mitigations.prompting.instructions:library_instruction",
    "instructive-debiasing": "evenhand.mitigations.prompting.instructions:instructive_debiasing",
    "self-debiasing": "evenhand.mitigations.steering.self_debiasing:SelfDebiasing",
    "contrastive": "evenhand.mitigations.steering.contrastive:ContrastiveDebiasing",
    "instruction-file": "evenhand.mitigations.prompting.instructions:instruction_file",
    "trigger": "evenhand.mitigations.triggers.trigger:Trigger",
    "finetuned": "evenhand.mitigations.training.finetuned_model:FinetunedFolder",
    "adapter": "evenhand.mitigations.training.adapter:Adapter",
}
"""Makers by name. Their first argument is the value after "=", and the others are the options after "?"."""

MAKERS: Registry[Callable[..., Any]] = Registry(
    "mitigation",
    "evenhand.mitigations",
    MITIGATIONS,
    "a function or class that makes a Mitigation",
    needs_card=False,  # the object that is created has a card, or is rejected as not being a Mitigation
)

NOT_OPTIONS = ("name", "card", "levels")
"""Attributes of a mitigation that a user cannot set."""

MEMBERS = ("name", "card", "specification", "specified", "parameters", "__call__")


@checked
def load_mitigation(words: str) -> Mitigation:
    """Load a mitigation by name.

    A mitigation is a method that is meant to reduce the bias of a model. Apply it to a model with
    `mitigated`, or pass it to `evenhand.audit`.

    Parameters
    ----------
    words : str
        `NAME`, `NAME=VALUE` or `NAME?option=value&option=value`, as in `--mitigate`. The command `evenhand
        list mitigations` shows the names.

    Returns
    -------
    Mitigation
        The mitigation.

    Raises
    ------
    UsageError
        A name or an option is unknown, or a required value is missing.
    EvenhandError
        The mitigation raises another error, for example because its file does not exist.

    Notes
    -----
    Other packages can add names under the entry-point group "evenhand.mitigations".

    Examples
    --------
    >>> load_mitigation("prefix=Be respectful.").parameters()
    {'text': 'Be respectful.', 'delimiter': '\\n', 'draws': 'by the prompt without what stands in front'}
    >>> load_mitigation("instructive-debiasing?wording=code").name
    'instructive-debiasing'
    """
    name, value, options = split_value(words)
    make = MAKERS.load(name)
    try:
        takes = list_options(make, hidden=NOT_OPTIONS)
    except Exception as error:  # an object of another package may raise any exception, for any attribute
        if (broken := MAKERS.explain_failure(name, error)) is not None:
            raise broken from error
        raise
    arguments = convert_options(name, options, takes)
    needed = [option for option, parameter in takes.items() if parameter.default is parameter.empty]
    if needed and value is None and needed[0] not in options:
        raise UsageError(
            f"The mitigation {name} requires the option {needed[0]}.", f'For example: --mitigate {name}="..."'
        )
    if value is not None:
        if not takes:
            raise UsageError(
                f"The mitigation {name} does not accept a value.", f"Use --mitigate {name} without a value."
            )
        first = next(iter(takes))
        arguments = {first: convert_option(name, first, value, takes[first])}
    try:
        made: Any = make(**arguments)
    except ValueError as error:
        raise UsageError(f"--mitigate {words}: {error}.") from error
    except Exception as error:
        if (broken := MAKERS.explain_failure(name, error)) is not None:
            raise broken from error
        raise
    kind = type(made).__name__
    if lacking := missing_members(made, Mitigation):
        wrong = f"which is not a mitigation: {kind} lacks {', '.join(f'`{member}`' for member in lacking)}"
    elif not isinstance(made.card, Card):
        wrong = f"whose `card` is {type(made.card).__name__}; expected a Card"
    else:
        return cast(Mitigation, made)
    raise ExtensionError(
        f"{name!r}, a mitigation of the package {MAKERS.package(name)}, is not valid: it makes {kind}, {wrong}.",
        f"evenhand.mitigations.Mitigation describes each member: {', '.join(MEMBERS)}.",
    )


@checked
def mitigated(model: LanguageModel, chain: str | Mitigation | Sequence[str | Mitigation]) -> LanguageModel:
    """Apply one or several mitigations to a model and return the changed model.

    Use it to call a mitigated model yourself. To audit one, pass the mitigations to `evenhand.audit` instead.

    Parameters
    ----------
    model : LanguageModel
        The model.
    chain : str, Mitigation or sequence of them
        Mitigations, or their names as in `load_mitigation`. The first one is applied first. If the sequence
        is empty, the model itself is returned.

    Returns
    -------
    LanguageModel
        The model with the mitigations.

    Raises
    ------
    UsageError
        A name is unknown, or an element is not a mitigation.
    Unsupported
        The backend of the model cannot apply a mitigation.

    Examples
    --------
    >>> from evenhand.models.puppets import writes
    >>> from evenhand.models.decoding import Decoding
    >>> echo = writes(lambda prompt, sample: prompt.upper())
    >>> mitigated(echo, "prefix=Be kind.").generate(["The man"], Decoding(max_new_tokens=5)).texts
    ['BE KIND.\\nTHE MAN']
    """
    for link in as_chain(chain):
        model = (load_mitigation(link) if isinstance(link, str) else link)(model)
    return model


@checked
def as_chain(chain: str | Mitigation | Sequence[str | Mitigation]) -> list[str | Mitigation]:
    """Return one mitigation or several as a list.

    Use it if your own function accepts a name, a mitigation or a list of them. A single element becomes a
    list of one.

    Parameters
    ----------
    chain : str, Mitigation or sequence of them
        Mitigations or their names.

    Returns
    -------
    list of str or Mitigation
        The mitigations, in the order in which they are applied. Names are returned as they are: nothing is
        loaded.

    Raises
    ------
    UsageError
        An element is neither a name nor a mitigation.

    Examples
    --------
    >>> as_chain("prefix=Be kind.")
    ['prefix=Be kind.']
    """
    links = [chain] if isinstance(chain, str | Mitigation) else list(chain)
    for link in links:
        if not isinstance(link, str | Mitigation):
            raise UsageError(
                f"{link!r} is not a mitigation.",
                "Give names, as for --mitigate, or objects such as evenhand.mitigations.Prefix(...).",
            )
    return links


def mitigation_cards() -> dict[str, Card]:
    """Return the cards of all mitigations by name.

    A card describes the expected effect of a mitigation, its known problems and its source. The command
    `evenhand list mitigations` shows the same cards.

    Returns
    -------
    dict of str to Card
        One card per mitigation, including those that other packages add.

    Examples
    --------
    >>> "self-debiasing" in mitigation_cards()
    True
    """
    from evenhand.mitigations.prompting import INSTRUCTIONS

    words = ["instructive-debiasing", *(f"instruction={name}" for name in INSTRUCTIONS)]
    others = [name for name in MAKERS.names() if name not in ("prefix", "instruction", *words)]
    cards: dict[str, Card] = {}
    for name in ["prefix=TEXT", *words, *others]:
        try:
            stated = MAKERS.card(name.split("=")[0])
            cards[name] = stated if stated is not None else load_mitigation(name).card
        except EvenhandError as error:
            if name.split("=")[0] not in MAKERS.find_extensions():  # an error in evenhand
                raise
            cards[name] = make_unusable_card(name, error)
    return cards
