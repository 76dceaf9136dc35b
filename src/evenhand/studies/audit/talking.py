"""Who replies in an audit's conversations: the model told of them in its format, with its mitigations."""

from evenhand.mitigations import Mitigated
from evenhand.models import LanguageModel, TextGenerator
from evenhand.models.dialogue import Dialogue, DialogueOptions, dialogue_model
from evenhand.schema import Unsupported
from evenhand.studies.chain import chain_of


def speaker_of(model: LanguageModel, options: DialogueOptions) -> TextGenerator:
    """A model that is asked for replies, given lines that `History.prompt` wrote.

    model: behind its mitigations. What works on texts (an instruction, a trigger, steering) works on what the model is
    told of the conversation; weights in its place (an adapter, a trained folder) are told as their own folder says.
    options: how the model is told.
    Raises Unsupported for a mitigation in front of a model that reads histories itself, as a World does, for one that
    does not say what it does to continuations, and as `dialogue_model` does.
    """
    chain, inner = chain_of(model), model
    while isinstance(inner, Mitigated):
        inner = inner.model
    if chain and getattr(inner, "answers_histories", False):
        name = inner.fingerprint.get("name", "This model")
        raise Unsupported(
            f"{name} reads the histories of conversations itself, and {chain[-1].name} changes texts.",
            "Leave out --mitigate, or name a model that is told of conversations in a text.",
        )
    if isinstance(model, Mitigated):
        model.check_answers("generate")
        if (trained := getattr(model, "trained", None)) is not None:  # weights in the place of the model's
            told = dialogue_model(trained, options)
            return Dialogue(model, told.telling, told.facts)
    return dialogue_model(model, options)
