"""Before anything is run: levels, prompts, decoding and attributes of a consistency check, and what it would cost."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenhand.classifiers.contract import Classifier
from evenhand.mitigations.contract import Mitigation
from evenhand.models.contract import LanguageModel
from evenhand.prompts.prompt_set import PromptSet
from evenhand.runs.estimating import estimate
from evenhand.stats import detectable_mean_difference
from evenhand.studies.consistency_decoding import choose_decoding
from evenhand.studies.consistency_domains import domains_of
from evenhand.studies.consistency_levels import Levels, levels_of
from evenhand.studies.consistency_options import CheckOptions
from evenhand.studies.consistency_record import level_runs
from evenhand.studies.consistency_scores import Attributes, attributes_of
from evenhand.studies.decoding import ChosenDecoding, described


@dataclass(frozen=True)
class Prepared:
    """All that a check is made of, each part checked."""

    levels: Levels
    domains: Mapping[str, PromptSet]
    decoding: ChosenDecoding
    attributes: Attributes


def prepare(
    options: CheckOptions, model: LanguageModel, method: Mitigation, classifier: Classifier
) -> Prepared:
    """Make and check every part; asks the model and the classifier nothing.

    Raises UsageError, DataError and Unsupported for what cannot be checked.
    """
    levels = levels_of(method, opposite=options.opposite, groups=options.groups, seed=options.seed)
    attributes = attributes_of(classifier, options.attributes, options.role)
    decoding = choose_decoding(options, model, method)
    return Prepared(levels, domains_of(options), decoding, attributes)


def preview(
    options: CheckOptions, model: LanguageModel, method: Mitigation, classifier: Classifier
) -> dict[str, Any]:
    """What `--plan` prints: levels with their wordings, prompts, cost from a short probe; writes nothing.

    Asks the model a few continuations and no classifier. `detectable` is the change of the rate, in percentage points,
    that so many prompts show with 80 % power if every fourth prompt changes.
    """
    prepared = prepare(options, model, method, classifier)
    runs = level_runs(Path("plan"), model, prepared.levels.all, prepared.domains, prepared.decoding.decoding)
    probed = [run for run in runs if run.level.name in ("default", "original")]
    facts = {(run.domain, run.level.name): estimate(run.plan, run.model, seconds=5.0) for run in probed}
    methods = len(prepared.levels.all) - 1
    seconds = sum(
        cost["seconds"] * (1 if level == "default" else methods) for (_, level), cost in facts.items()
    )
    sizes = {domain: len(prompts) for domain, prompts in prepared.domains.items()}
    return {
        "method": method.name,
        "prompts": sizes,
        "levels": [level.key for level in prepared.levels.all],
        "lacking": dict(prepared.levels.lacking),
        "wordings": prepared.levels.wordings(),
        "continuations": sum(sizes.values()) * (methods + 1),
        "decoding": described(prepared.decoding.decoding),
        "why": prepared.decoding.reason,
        "seconds": seconds,
        "classifier": options.classifier,
        "attributes": prepared.attributes.names,
        "detectable": {
            domain: float(100 * detectable_mean_difference(0.5, n)) for domain, n in sizes.items() if n > 1
        },
    }
