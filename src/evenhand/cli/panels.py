"""The panels in which the help shows each command (verb) and each option (flag).

A new flag needs an entry in `FLAGS`, and a new verb one in `VERBS`.
"""

from typing import Any

VERBS = {
    "Measure": ("audit", "measure", "study", "rescore", "agreement", "calibrate"),
    "Compare and gate": ("compare", "before-after"),
    "Mitigate": ("debias", "search-instruction", "search-trigger", "check-consistency"),
    "Human evaluation": ("annotate",),
    "Data and corpora": ("data", "frequencies"),
    "Show and share": ("report", "list", "show", "push"),
}
"""The verbs in each panel of `evenhand --help`, the most frequently used first."""

FLAGS = {
    "Basics": (
        *("--model", "--method", "--methods", "--bias", "--suite", "--benchmark", "--axis", "--limit"),
        *("--prompts", "--neutral", "--data", "--from", "--column", "--negative", "--question", "--terms"),
        *("--kind", "--sample", "--split", "--size", "--version", "--format", "--to", "--both", "--names"),
        *("--quotes", "--classifier", "--mitigate", "--row", "--multiwoz", "--dstc7", "--task-limit"),
        *("--reviser", "--instruction", "--iterations", "--mode", "--against", "--favour", "--tokens"),
        *("--epochs", "--learning-rate", "--search", "--quick", "--full", "--measurement"),
        *("--template", "--name", "--address", "--port", "--no-serve", "--number", "--uses", "--note"),
        *("--days", "--join", "--png", "--svg", "--model-card", "--public", "--answers", "--output"),
        *("--plan", "--help"),
    ),
    "Generation": (
        *("--counterfactual", "--opposite", "--personas", "--samples", "--decoding", "--temperature"),
        *("--top-k", "--top-p", "--beams", "--max-new-tokens", "--chat", "--system", "--allow-longer"),
    ),
    "Statistics": (
        *("--seed", "--alpha", "--margin", "--reference", "--outcome", "--classifier-error", "--threshold"),
        *("--no-worse", "--by", "--baseline", "--rules", "--replications", "--groups", "--nonsense-prompts"),
        *("--attributes", "--rule", "--importance", "--documents", "--duplicates", "--pairs", "--window"),
        *("--subset", "--final", "--group-weight", "--choose", "--guard", "--control"),
    ),
    "Resources": (
        *("--device", "--dtype", "--precision", "--batch-tokens", "--batch-size", "--accumulation"),
        *("--lora-rank", "--gradient-checkpointing", "--on", "--workers", "--jobs", "--ranks-at"),
    ),
    "Gate": ("--fail-if", "--require-power", "--junit", "--summary"),
    "Advanced": (
        *("--config", "--set", "--revision", "--trust-remote-code", "--trust-addresses", "--report"),
        *("--error-threshold", "--retry-errors", "--as-published", "--delimiter", "--encoding", "--decimal"),
        *("--sheet", "--missing", "--specification", "--schedule", "--warm-up", "--longest", "--start"),
        *("--evaluate-every", "--patience", "--over", "--trials", "--keep-trials", "--keep", "--variants"),
        *("--most-words", "--role", "--examples", "--initial", "--restarts", "--sweeps", "--candidates"),
        *("--beam", "--fluency", "--most-perplexity", "--punctuation", "--exclude", "--judge-prompt"),
        *("--first-sentence", "--annotations", "--perplexities", "--embedding-model", "--seeds"),
        *("--neighbours", "--least-similarity", "--least-count", "--only-terms", "--pairing", "--speaker"),
        *("--keep-unsafe", "--leave-out", "--show", "--survey", "--study", "--database", "--host"),
        *("--proxied",),
    ),
}
"""The flags in each panel of the help, in the order of the panels. Within a panel, each verb has its own order."""

# here --summary is a JSON file and not related to the gate
EXCEPTIONS = {("calibrate", "--summary"): "Advanced"}
"""The panels of flags that mean something else in one verb, by the names of verb and flag."""

_PANEL_OF = {flag: panel for panel, flags in FLAGS.items() for flag in flags}
_PANEL_ORDER = list(FLAGS)


def group_by_panel(verb: str, parameters: list[Any]) -> list[Any]:
    """Return a verb's parameters in the order of the panels, arguments first, and set the panel of each flag.

    Raises KeyError for a flag that has no panel.
    """
    arguments = [one for one in parameters if one.param_type_name == "argument"]
    flags = [one for one in parameters if one.param_type_name != "argument"]
    for one in flags:
        name = max(one.opts, key=len)
        one.rich_help_panel = EXCEPTIONS.get((verb, name)) or one.rich_help_panel or _PANEL_OF[name]
    return arguments + sorted(flags, key=lambda one: _PANEL_ORDER.index(one.rich_help_panel))
