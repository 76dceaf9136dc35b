"""The model that replies in conversations of an audit, with its dialogue format and mitigations."""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial

from evenhand.benchmarks import Benchmark, Generation
from evenhand.mitigations import Mitigated
from evenhand.models import LanguageModel, TextGenerator, text_generator
from evenhand.models.dialogue import Dialogue, DialogueOptions, dialogue_model, own_format, trained_format
from evenhand.runs.cluster import RemoteModel, load_remote_model, run_where_loaded
from evenhand.schema import Unsupported
from evenhand.studies.chain import list_mitigations


def make_speaker(model: LanguageModel, options: DialogueOptions) -> TextGenerator:
    """Return a model that replies to conversations, given the lines that `History.prompt` writes.

    Parameters
    ----------
    model : LanguageModel
        The model with its mitigations. A text mitigation (instruction, trigger, steering) applies to the formatted
        conversation. Mitigated weights (an adapter, a trained folder) use the dialogue format of their own folder.
    options : DialogueOptions
        Dialogue format and its settings.

    Raises
    ------
    Unsupported
        A text mitigation is used with a model that reads histories directly (such as a World), or a mitigation does not
        support generation. Other errors are those of `dialogue_model`.
    """
    if isinstance(model, RemoteModel):
        speaker = load_remote_model(model.pool, model.derive_recipe(partial(make_speaker, options=options)))
        return text_generator(speaker)
    chain, inner = list_mitigations(model), weights_behind(model)
    if chain and _reads_histories(inner):
        name = inner.fingerprint.get("name", "This model")
        raise Unsupported(
            f"{name} reads conversation histories directly, so {chain[-1].name}, which changes the text of a "
            "prompt, cannot be applied.",
            "Remove --mitigate, or use a model that receives conversations as text.",
        )
    if isinstance(model, Mitigated):
        model.check_answers("generate")
        if (
            trained := getattr(model, "trained", None)
        ) is not None:  # the mitigation has trained weights that replace those of the model
            told = dialogue_model(trained, options)
            return Dialogue(model, told.telling, told.facts)
        weights = text_generator(inner)  # the mitigation changes the text or the decoding of the model
        label = trained_format(weights).get("label") if options.label is None else options.label
        options = replace(options, format=options.format or own_format(weights), label=label)
    return dialogue_model(model, options)


def asked_for_replies(benchmark: Benchmark, model: LanguageModel, options: DialogueOptions) -> bool:
    """Return whether the model replies to a benchmark's texts in a conversation instead of continuing them.

    The benchmark must accept replies. One of three conditions must also be met: the model or its family (`own_format`)
    was trained on conversations, the model reads only histories of conversations, or an option sets a dialogue format.
    """
    if not (isinstance(benchmark.request, Generation) and benchmark.request.replies):
        return False
    return options != DialogueOptions() or _converses(model)


@run_where_loaded
def _converses(model: LanguageModel) -> bool:
    weights = weights_behind(model)
    return _reads_histories(weights) or own_format(text_generator(weights)) is not None


def told_alike(
    options: DialogueOptions, models: tuple[LanguageModel, LanguageModel], benchmarks: Iterable[Benchmark]
) -> DialogueOptions:
    """Return dialogue options with which two compared models get the same prompts.

    If only one of them would reply in a conversation (for example a model trained on conversations, compared with its
    base model), both reply in a conversation, in the format of that model. The label that this model puts behind each
    text is not used for the other.
    """
    first, second = models
    for benchmark in benchmarks:
        asked = [asked_for_replies(benchmark, model, options) for model in models]
        if asked[0] != asked[1]:
            return replace(
                options, format=own_format(text_generator(weights_behind(second if asked[1] else first)))
            )
    return options


def weights_behind(model: LanguageModel) -> LanguageModel:
    """Return the model without its mitigations, or the trained weights that replace it."""
    while isinstance(model, Mitigated):
        model = model.model if (trained := getattr(model, "trained", None)) is None else trained
    return model


def _reads_histories(model: LanguageModel) -> bool:
    return bool(getattr(model, "answers_histories", False))
