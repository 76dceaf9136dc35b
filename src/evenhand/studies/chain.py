"""Describe the mitigations of a model as text, for options, names of folders, titles and the manifest."""

import re
from collections.abc import Sequence
from pathlib import Path

from evenhand.mitigations import Answer, Mitigated, Mitigation, as_chain, load_mitigation
from evenhand.models import LanguageModel
from evenhand.runs import MitigationRecord
from evenhand.runs.cluster import run_where_loaded
from evenhand.schema import EvenhandError, as_json

LONGEST_SLUG, LONGEST_NAME = 32, 120


def list_mitigations(model: LanguageModel) -> list[Mitigation]:
    """Return the mitigations of a model, in the order of application.

    >>> from evenhand.mitigations import Prefix
    >>> from evenhand.models.puppets import load_puppet
    >>> [link.text for link in list_mitigations(Prefix("Second.")(Prefix("First.")(load_puppet("random"))))]
    ['First.', 'Second.']
    """
    chain: list[Mitigation] = []
    while isinstance(model, Mitigated):
        chain.insert(0, model.mitigation)
        model = model.model
    return chain


@run_where_loaded
def check_answers(model: LanguageModel, answer: Answer) -> None:
    """Raise Unsupported if a mitigation of a model does not support a type of response.

    answer: the type, which is generated text or likelihoods.
    """
    if isinstance(model, Mitigated):
        model.check_answers(answer)


def describe_mitigation(mitigation: Mitigation) -> str:
    """Return the value of `--mitigate` that creates this mitigation, or its name if there is none.

    >>> from evenhand.mitigations import Prefix
    >>> describe_mitigation(Prefix("Be kind.")), describe_mitigation(Prefix("Be kind.", delimiter=" "))
    ('prefix=Be kind.', 'prefix')
    """
    texts = [value for value in mitigation.parameters().values() if isinstance(value, str)]
    for words in (mitigation.name, *(f"{mitigation.name}={text}" for text in texts)):
        try:
            made = load_mitigation(words)
        except EvenhandError:
            continue
        if (made.name, made.parameters()) == (mitigation.name, mitigation.parameters()):
            return words
    return mitigation.name


def named_chain(
    chain: str | Mitigation | Sequence[str | Mitigation],
) -> tuple[tuple[str, ...], tuple[Mitigation, ...]]:
    """Return the mitigations of a chain as values of `--mitigate`, and as objects.

    chain: one or several mitigations, as values of `--mitigate` or as objects. Raises UsageError for unknown names, and
    the errors of creating a mitigation.
    """
    chain = as_chain(chain)
    words = tuple(link if isinstance(link, str) else describe_mitigation(link) for link in chain)
    return words, tuple(load_mitigation(link) if isinstance(link, str) else link for link in chain)


@run_where_loaded
def records(model: LanguageModel, words: Sequence[str]) -> list[MitigationRecord]:
    """Return the manifest's description of each mitigation of a model.

    `words` are the user's values of `--mitigate`. If their number differs from that of the mitigations, values from
    `describe_mitigation` are used.
    """
    chain = list_mitigations(model)
    named = words if len(words) == len(chain) else [describe_mitigation(link) for link in chain]
    return [
        MitigationRecord(
            name=link.name, words=given, parameters=as_json(link.parameters()), card=link.card.to_dict()
        )
        for link, given in zip(chain, named, strict=True)
    ]


def folder_name(model: str, words: Sequence[str]) -> str:
    """Return the name of a model followed by those of its mitigations, in a form that is valid for a folder.

    >>> folder_name("org/some-model", ["prefix=Be kind/polite.", "self-debiasing"])
    'some-model+prefix-Be-kind-polite+self-debiasing'
    """
    if not words:
        return model
    slugs = [re.sub(r"[^\w-]+", "-", link)[:LONGEST_SLUG].strip("-") for link in words]
    return "+".join([Path(model).name, *slugs])[:LONGEST_NAME]
