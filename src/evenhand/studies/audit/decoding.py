"""Choose decoding settings of continuations and replies: as published, for the model's family, or from the user."""

from dataclasses import dataclass
from typing import Any

from evenhand.benchmarks import Conversation, Generation, SelfChatDecoding
from evenhand.models import PRESETS, Decoding, LanguageModel, decoding_preset
from evenhand.runs.cluster import run_where_loaded
from evenhand.schema import UsageError
from evenhand.studies.audit.asked import weights_behind
from evenhand.studies.audit.options import AskingOptions
from evenhand.study import name_options

OTHERS = "llama"
"""The family whose settings are used for models of families without published settings."""
OVERRIDES = ("temperature", "top_k", "top_p")
SELF_CHATS: dict[SelfChatDecoding, dict[str, Any]] = {
    "published": {
        "num_beams": 10,
        "min_new_tokens": 20,
        "no_repeat_ngram_size": 3,
        "no_repeat_ngram_in": "context",
        "length_penalty": 0.65,
    },
    "greedy": {"min_new_tokens": 1},
    "sampling": {"min_new_tokens": 1},
}
"""Decoding settings of replies: as published for BlenderBot, as published for its tuned models, and sampling."""


@dataclass(frozen=True)
class ChosenDecoding:
    """Decoding settings of a benchmark, and a sentence on their source."""

    decoding: Decoding
    reason: str


def choose_decoding(generation: Generation, asking: AskingOptions, model: LanguageModel) -> ChosenDecoding:
    """Return the decoding settings for a benchmark's continuations, and the reason for them.

    Parameters
    ----------
    generation : Generation
        Settings that the benchmark requests.
    asking : AskingOptions
        ``decoding`` names the preset ("auto": that of the model's family). ``temperature``, ``top_k``, ``top_p``,
        ``samples`` and ``max_new_tokens`` replace single settings. top_k 0 and top_p 1 turn these filters off.
    model : LanguageModel
        Its `describe()["family"]`, or else that of its fingerprint, is the family.

    Returns
    -------
    ChosenDecoding
        Settings and reason, for the manifest and the report.

    Raises
    ------
    UsageError
        Settings contradict each other, or several samples are requested without sampling.

    References
    ----------
    - ROBBIE, appendix: settings by family.

    >>> from evenhand.models.puppets import writes
    >>> writer = writes(lambda prompt, sample: "")
    >>> chosen = choose_decoding(Generation(max_new_tokens=30), AskingOptions(), writer)
    >>> chosen.decoding.temperature, chosen.decoding.top_p
    (1.0, 0.9)
    """
    if asking.decoding == "published":
        raise UsageError(
            "`--decoding published` is for replies in conversations, but this benchmark generates continuations.",
            "Remove --decoding: the default uses the published settings of each benchmark.",
        )
    settings, reasons = _named_settings(asking, model)
    if asking.num_beams is not None:
        settings, reasons = dict.fromkeys(OVERRIDES), [f"beam search, {asking.num_beams} beams, as asked"]
    overrides = {name: value for name in OVERRIDES if (value := getattr(asking, name)) is not None}
    if (asking.decoding == "greedy" or asking.num_beams is not None) and overrides:
        rule = "Greedy decoding" if asking.num_beams is None else "Beam search"
        raise UsageError(
            f"{rule} does not sample, so it cannot be combined with {name_options(overrides)}.",
            f"To sample, remove --decoding greedy and --beams. Otherwise remove {name_options(overrides)}.",
        )
    settings |= {name: _switched_off(name, value) for name, value in overrides.items()}
    reasons += [f"{name} {value} as given" for name, value in overrides.items()]
    greedy = settings["temperature"] is None
    if greedy and (asking.samples or 1) > 1:
        raise UsageError(
            f"`--samples {asking.samples}` has no effect: "
            f"{'greedy decoding' if asking.num_beams is None else 'beam search'} writes the same text each time.",
            "Remove --samples, or use sampling: --decoding auto, or a temperature.",
        )
    samples = asking.samples or (1 if greedy else generation.samples)
    if greedy and generation.samples > 1:
        reasons.append(f"one continuation instead of {generation.samples}, because all would be the same")
    decoding = Decoding(
        max_new_tokens=asking.max_new_tokens or generation.max_new_tokens,
        min_new_tokens=generation.min_new_tokens,
        no_repeat_ngram_size=generation.no_repeat_ngram_size,
        no_repeat_ngram_in=generation.no_repeat_ngram_in,
        num_beams=asking.num_beams,
        samples=samples,
        seed=asking.seed,
        **settings,
    )
    return ChosenDecoding(decoding, "; ".join(reasons))


def choose_reply_decoding(
    conversation: Conversation, asking: AskingOptions, model: LanguageModel
) -> ChosenDecoding:
    """Return the decoding settings of a benchmark's conversations, which are the same at every turn, and the reason for
    them.

    Parameters
    ----------
    conversation : Conversation
        Settings that the benchmark requests.
    asking : AskingOptions
        ``decoding`` names a preset of SELF_CHATS, or a family whose settings are used to sample replies ("auto": the
        benchmark's own). ``temperature``, ``top_k`` and ``top_p`` also turn on sampling. ``num_beams`` replaces the
        published number of beams. ``max_new_tokens`` replaces the length, which is that of the benchmark, but at most
        half of a causal model's maximum input, so that the history fits too.
    model : LanguageModel
        Determines the family.

    Raises
    ------
    UsageError
        Settings contradict each other.

    References
    ----------
    - Smith and Williams 2021, section 2.1.

    >>> from evenhand.models.puppets import writes
    >>> chosen = choose_reply_decoding(Conversation(), AskingOptions(), writes(lambda prompt, sample: ""))
    >>> chosen.decoding.num_beams, chosen.decoding.min_new_tokens, chosen.decoding.length_penalty
    (10, 20, 0.65)
    """
    overrides = {name: value for name in OVERRIDES if (value := getattr(asking, name)) is not None}
    preset, reasons = _preset(conversation, asking, bool(overrides))
    settings = dict(SELF_CHATS[preset])
    if preset == "sampling":
        drawn, why = _named_settings(asking, model)
        if asking.decoding not in PRESETS and model_family(model) not in PRESETS:
            ours = [f"{name} {value}" for name, value in drawn.items() if value and name not in overrides]
            why = [f"{' and '.join(ours)} by default"] if ours else []
        settings, reasons = settings | drawn, [*reasons, *why]
    elif overrides:
        raise UsageError(
            f"{'Greedy decoding' if preset == 'greedy' else 'Beam search'} does not sample, so it cannot be combined "
            f"with {name_options(overrides)}.",
            f"To sample replies, use --decoding sampling without --beams. Otherwise remove {name_options(overrides)}.",
        )
    if asking.num_beams is not None:
        settings["num_beams"] = asking.num_beams
        reasons.append(f"{asking.num_beams} beams as asked")
    settings |= {name: _switched_off(name, value) for name, value in overrides.items()}
    reasons += [f"{name} {value} as given" for name, value in overrides.items()]
    if conversation.min_new_tokens is not None:
        settings["min_new_tokens"] = conversation.min_new_tokens
    most = asking.max_new_tokens or conversation.max_new_tokens
    taken = _find_input_limit(model)
    if asking.max_new_tokens is None and taken is not None and taken // 2 < most:
        most = max(taken // 2, settings["min_new_tokens"])
        reasons.append(
            f"{most} tokens at most, because the model reads at most {taken} including the history"
        )
    return ChosenDecoding(
        Decoding(max_new_tokens=most, seed=asking.seed, **settings), "; ".join(dict.fromkeys(reasons))
    )


@run_where_loaded
def _find_input_limit(model: LanguageModel) -> int | None:
    """Return the maximum number of input tokens of a model for replies to histories; None if unknown or irrelevant."""
    weights = weights_behind(model)
    longest = getattr(weights, "longest", None) if weights.architecture == "causal" else None
    return None if longest is None else int(longest)


def _preset(
    conversation: Conversation, asking: AskingOptions, drawn: bool
) -> tuple[SelfChatDecoding, list[str]]:
    named = asking.decoding
    if named in PRESETS:
        return "sampling", []
    for preset in SELF_CHATS:
        if named == preset:
            if asking.num_beams is not None and preset != "published":
                raise UsageError(
                    f"`--decoding {preset}` and `--beams {asking.num_beams}` cannot be combined.",
                    "Use either --decoding or --beams.",
                )
            return preset, [REASONS[preset]]
    if asking.num_beams is not None:
        return "published", []
    if drawn:
        return "sampling", []
    return conversation.decoding, [REASONS[conversation.decoding]]


REASONS: dict[SelfChatDecoding, str] = {
    "published": "as the published self-chats of BlenderBot",
    "greedy": "greedy, as the published self-chats of tuned models",
    "sampling": "drawn",
}


def model_family(model: LanguageModel) -> str | None:
    """Return the Hugging Face model type of a model, or None if it states none.

    >>> from evenhand.models.puppets import load_puppet
    >>> model_family(load_puppet("uniform"))
    'puppet'
    """
    described = model.describe()
    if "service" in described:  # a service states no family
        return None
    for facts in (described, model.fingerprint):
        for key in ("family", "model_type"):
            if isinstance(facts.get(key), str):
                return str(facts[key])
    return None


def describe_decoding(decoding: Decoding) -> str:
    """Return a short text on the decoding settings, without those that are turned off.

    >>> describe_decoding(Decoding(max_new_tokens=30, temperature=1.0, top_p=0.9, samples=4))
    'temperature 1.0, top-p 0.9, up to 30 tokens, 4 samples a prompt'
    """
    likeliest = "greedy" if decoding.num_beams is None else f"{decoding.num_beams} beams"
    parts = [likeliest] if decoding.is_greedy else [f"temperature {decoding.temperature}"]
    parts += [f"top-k {decoding.top_k}"] if decoding.top_k is not None else []
    parts += [f"top-p {decoding.top_p}"] if decoding.top_p is not None else []
    least = f"{decoding.min_new_tokens} to " if decoding.min_new_tokens else "up to "
    parts.append(f"{least}{decoding.max_new_tokens} tokens")
    if decoding.no_repeat_ngram_size:
        context = " nor one of the context" * (decoding.no_repeat_ngram_in == "context")
        parts.append(f"no repeated {decoding.no_repeat_ngram_size}-gram{context}")
    if decoding.length_penalty != 1.0:
        parts.append(f"length penalty {decoding.length_penalty:g}")
    if decoding.samples > 1:
        parts.append(f"{decoding.samples} samples a prompt")
    return ", ".join(parts)


def _named_settings(asking: AskingOptions, model: LanguageModel) -> tuple[dict[str, Any], list[str]]:
    if asking.decoding == "greedy":
        return dict.fromkeys(OVERRIDES), ["greedy, as asked"]
    if asking.decoding in PRESETS:
        return _of_family(asking.decoding), [f"the published settings of {asking.decoding}, as asked"]
    family = model_family(model)
    if family in PRESETS:
        return _of_family(family), [f"the published settings of the model's family, {family}"]
    whose = (
        "the model states no family" if family is None else f"its family, {family}, has no published settings"
    )
    return _of_family(OTHERS), [f"the settings published for LLaMa and OPT, because {whose}"]


def _of_family(family: str) -> dict[str, Any]:
    preset = decoding_preset(family, max_new_tokens=1)
    return {name: getattr(preset, name) for name in OVERRIDES}


def _switched_off(name: str, value: float) -> float | None:
    everything = 0 if name == "top_k" else 1
    return None if name in ("top_k", "top_p") and value == everything else value
