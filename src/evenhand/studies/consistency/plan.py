"""The plan of a consistency check: levels, prompts, decoding, attributes and cost."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.classifiers import Classifier
from evenhand.measures.changes import DOMAINS
from evenhand.mitigations import Mitigation
from evenhand.models import Decoding, LanguageModel, decoding_preset, text_generator
from evenhand.prompts import PromptSet
from evenhand.prompts.datasets import dataset_folder
from evenhand.prompts.own_files import read_prompts
from evenhand.prompts.published import OWNERS_FILE, load_realtoxicityprompts
from evenhand.runs import FEW, estimate
from evenhand.schema import DatasetMissing, ServiceUnavailable, Unsupported, UsageError, unknown_name
from evenhand.stats import detectable_mean_difference
from evenhand.studies.audit import ChosenDecoding, describe_decoding
from evenhand.studies.consistency.level_runs import LevelRun, level_runs
from evenhand.studies.consistency.levels import Levels, build_levels
from evenhand.studies.consistency.options import NOBODY, CheckOptions
from evenhand.studies.consistency.scores import Attributes, choose_attributes

BEAMS = 3


def choose_decoding(options: CheckOptions, model: LanguageModel, method: Mitigation) -> ChosenDecoding:
    """Return the decoding settings of continuations at every level, and the reason for them.

    With "auto", it is the published setting for GPT-2: beam search with 3 beams and exactly 20 tokens. If the model or
    the method does not support it, it is the published setting for text-davinci-003: greedy, up to 20 tokens. The name
    of a model family selects the sampling settings of this family, with one continuation per prompt. Raises Unsupported
    if the model or the method does not support the setting.
    Source: Morabito et al. 2023, section 4.
    """
    tokens = options.max_new_tokens
    beams = Decoding(max_new_tokens=tokens, min_new_tokens=tokens, num_beams=BEAMS, seed=options.seed)
    greedy = Decoding(max_new_tokens=tokens, seed=options.seed)
    writers = [model, method(model)]
    if options.decoding == "auto":
        try:
            _try(writers, beams)
        except Unsupported as error:
            _try(writers, greedy)
            why = (
                "as published for text-davinci-003, because beam search as for GPT-2 is not available here: "
            )
            return ChosenDecoding(greedy, why + error.message.rstrip("."))
        return ChosenDecoding(beams, "as published for GPT-2")
    if options.decoding in ("beams", "greedy"):
        chosen = ChosenDecoding(beams if options.decoding == "beams" else greedy, "as asked")
    else:
        preset = decoding_preset(options.decoding, max_new_tokens=tokens, seed=options.seed)
        chosen = ChosenDecoding(preset, f"the published settings of {options.decoding}, as asked")
    _try(writers, chosen.decoding)
    return chosen


def _try(writers: Sequence[LanguageModel], decoding: Decoding) -> None:
    for writer in writers:
        # A request without prompts: backends raise Unsupported before they start.
        text_generator(writer).generate([], decoding)


DATA = "realtoxicityprompts"


def load_domains(options: CheckOptions) -> dict[str, PromptSet]:
    """Return the prompts by domain, "adversarial" first. "neutral" is absent if the user wants no neutral prompts.

    The options `prompts` and `neutral` name the user's files. By default, the challenging and neutral prompts of
    RealToxicityPrompts are used: 1,199 each in the published extract. If the whole file of its owners is used instead,
    the neutral prompts are a sample, of the same number, from those that are not challenging. `limit` and `seed` select
    a random part. Raises UsageError for the user's adversarial prompts without neutral prompts and for a data set
    that evenhand cannot read, and DataError for unreadable files.

    Source: Morabito et al. 2023, section 5.1.
    """
    for name in options.data:
        if name != DATA:
            raise unknown_name("data set of a consistency check", name, [DATA])
    if options.prompts is not None and options.neutral is None:
        raise UsageError(
            "Adversarial prompts were given (--prompts), but no neutral prompts to test the transfer of the "
            "effect.",
            f"Give them with --neutral FILE, or use --neutral {NOBODY} to test adversarial prompts only.",
        )
    files: Mapping[str, str | None] = {"adversarial": options.prompts, "neutral": options.neutral}
    found = {
        domain: _load_published_prompts(domain, options)
        if files[domain] is None
        else read_prompts(Path(str(files[domain])))
        for domain in DOMAINS
        if files[domain] != NOBODY
    }
    if options.limit is not None:
        found = {
            domain: prompts.sample(options.limit, seed=options.seed) for domain, prompts in found.items()
        }
    return found


def shared_texts(domains: Mapping[str, PromptSet]) -> int:
    """Return the number of texts that both domains have."""
    if len(domains) < 2:
        return 0
    first, second = (set(prompts.frame["text"]) for prompts in domains.values())
    return len(first & second)


def _load_published_prompts(domain: str, options: CheckOptions) -> PromptSet:
    given = Path(options.data[DATA]) if DATA in options.data else None
    if given is not None and (given / OWNERS_FILE).is_file():
        challenging = load_realtoxicityprompts(given, "challenging")
        if domain == "adversarial":
            return challenging
        others = load_realtoxicityprompts(given).filter(~pl.col("challenging"), "not challenging")
        return others.sample(len(challenging), seed=options.seed)
    try:
        folder = dataset_folder(DATA, None, given)
    except DatasetMissing as error:
        raise DatasetMissing(
            f"The {domain} prompts come from RealToxicityPrompts, which is not installed: {error.message}",
            f"{error.hint}\nOr give your own prompts: --prompts FILE --neutral FILE",
        ) from error
    return load_realtoxicityprompts(folder, "challenging" if domain == "adversarial" else "neutral")


@dataclass(frozen=True)
class CheckInputs:
    """All validated parts of a check: prompts, levels, decoding settings and attributes."""

    levels: Levels
    domains: Mapping[str, PromptSet]
    of_nonsense: Mapping[str, PromptSet]
    """Prompts of each domain that are used with nonsense wordings."""
    decoding: ChosenDecoding
    attributes: Attributes


def prepare(
    options: CheckOptions, model: LanguageModel, method: Mitigation, classifier: Classifier
) -> CheckInputs:
    """Return all parts of a check, after checking them without using the model or the classifier.

    Raises UsageError, DataError and Unsupported for invalid parts.
    """
    levels = build_levels(method, opposite=options.opposite, groups=options.groups, seed=options.seed)
    attributes = choose_attributes(classifier, options.attributes, options.role)
    decoding = choose_decoding(options, model, method)
    domains = load_domains(options)
    some = options.nonsense_prompts
    of_nonsense = {
        domain: prompts if some is None else prompts.sample(some, seed=options.seed)
        for domain, prompts in domains.items()
    }
    return CheckInputs(levels, domains, of_nonsense, decoding, attributes)


def preview(
    options: CheckOptions, model: LanguageModel, method: Mitigation, classifier: Classifier
) -> dict[str, Any]:
    """Return the plan that `--plan` prints: levels with wordings, prompts, and the cost from a short probe.

    Nothing is written. The model generates a few continuations (FEW in total if it is a service), and no classifier is
    used. The entry `detectable` is the minimum detectable change of the rate in percentage points, at 80% power and if
    the outcome of a quarter of the prompts changes.
    """
    prepared = prepare(options, model, method, classifier)
    levels, domains, of_nonsense = prepared.levels.all, prepared.domains, prepared.of_nonsense
    for level in levels:
        level.applied(model)  # a method that rejects a wording raises before the model is asked
    # The other wordings are assumed to cost as much as the original wording, so they are not probed.
    probed = [level for level in levels if level.name in ("default", "original")]
    try:
        cost, told = _costs(
            level_runs(Path("plan"), model, probed, domains, of_nonsense, prepared.decoding.decoding)
        )
    except ServiceUnavailable as error:
        cost, told = {}, {"not_estimated": error.message}
    asked = {
        (domain, level.key): len(domains[domain] if level.group is None else of_nonsense[domain])
        for domain in domains
        for level in levels
    }
    seconds = None if "not_estimated" in told else sum(
        cost[domain, "default" if level.name == "default" else "original"]
        * asked[domain, level.key] / len(domains[domain])
        for domain in domains
        for level in levels
    )  # fmt: skip
    sizes = {domain: len(prompts) for domain, prompts in domains.items()}
    return {
        "method": method.name,
        "prompts": sizes,
        "levels": [level.key for level in levels],
        "lacking": dict(prepared.levels.lacking),
        "wordings": prepared.levels.wordings(),
        "of_nonsense": {domain: len(prompts) for domain, prompts in of_nonsense.items()},
        "continuations": sum(asked.values()),
        "decoding": describe_decoding(prepared.decoding.decoding),
        "why": prepared.decoding.reason,
        **told,
        "seconds": seconds,
        "classifier": options.classifier,
        "attributes": prepared.attributes.names,
        "detectable": {
            domain: float(100 * detectable_mean_difference(0.5, n)) for domain, n in sizes.items() if n > 1
        },
    }


def _costs(runs: Sequence[LevelRun]) -> tuple[dict[tuple[str, str], float], dict[str, Any]]:
    """Return the estimated seconds by (domain, level), and the estimated cost of all runs if the model is a service."""
    seconds: dict[tuple[str, str], float] = {}
    told: dict[str, Any] = {}
    for run in runs:
        facts = estimate(run.plan, run.model, seconds=5.0, few=max(FEW // len(runs), 1))
        if "asked" in facts:
            told["asked"] = told.get("asked", 0) + facts["asked"]
            told |= {
                name: facts[name] for name in ("at_once", "concurrency", "not_estimated") if name in facts
            }
        if "not_estimated" in told:
            break
        seconds[run.domain, run.level.name] = facts["seconds"]
    return seconds, told
