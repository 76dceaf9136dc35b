"""Who replies in an audit's conversations: the model told of them in its format, with its mitigations."""

from evenhand.mitigations import Mitigated
from evenhand.models import LanguageModel, TextGenerator, text_generator
from evenhand.models.dialogue import Dialogue, DialogueOptions, dialogue_model
from evenhand.schema import Unsupported, UsageError
from evenhand.studies.chain import chain_of


def speaker_of(model: LanguageModel, options: DialogueOptions) -> TextGenerator:
    """A model that is asked for replies, given lines that `History.prompt` wrote.

    model: behind its mitigations. What works on texts (an instruction, a trigger, steering) works on what the model is
    told of the conversation; weights in its place (an adapter, a trained folder) are told as their own folder says. One
    that reads histories itself and says so (`answers_histories`, as a World does) is taken as it is. options: how other
    models are told.
    Raises Unsupported for models that write nothing, for a mitigation in front of one that reads histories, and as
    `dialogue_model` does; UsageError for options where a model reads histories itself.
    """
    inner, chain = model, chain_of(model)
    while isinstance(inner, Mitigated):
        inner = inner.model
    if getattr(inner, "answers_histories", False):
        name = inner.fingerprint.get("name", "This model")
        if chain:
            raise Unsupported(
                f"{name} reads the histories of conversations itself, and {chain[-1].name} changes texts.",
                "Leave out --mitigate, or name a model that is told of conversations in a text.",
            )
        if options != DialogueOptions():
            raise UsageError(
                f"{name} reads the histories of conversations itself: the options of dialogue would change nothing.",
                "Leave them out.",
            )
        return text_generator(model)
    if isinstance(model, Mitigated):
        model.check_answers("generate")
        if (trained := getattr(model, "trained", None)) is not None:  # weights in the place of the model's
            told = dialogue_model(trained, options)
            return Dialogue(model, told.telling, told.facts)
    return dialogue_model(model, options)
