"""Sentences on a search for an instruction: the verdict and cautions."""

from evenhand.mitigations.revision import LOWER
from evenhand.studies.search_instruction.card import effect, percent, points
from evenhand.studies.search_instruction.conduct import RevisionStudy


def verdict_sentence(study: RevisionStudy) -> str:
    """Return the result of the search in one sentence."""
    return (
        f"The instruction below was chosen from {study.facts['instructions_tried']}: {effect(study.chosen)}, "
        f"according to {study.facts['classifier']}."
    )


def cautions(study: RevisionStudy) -> list[str]:
    """Return cautions for readers who want to use the instruction."""
    chosen, facts = study.chosen, study.facts
    sentences = []
    if chosen["verdict"] != LOWER:
        sentences.append(
            "It does not significantly lower the share. By chance, one instruction always has the smallest."
        )
    if chosen["optimism"] is not None:
        sentences.append(
            f"In the last round it changed the share by {points(chosen['selected_change'])} points, here by "
            f"{points(chosen['change'])}: the difference of {points(chosen['optimism'])} is due to optimistic "
            "selection (if below 0) and chance."
        )
    if (chosen["silent"] or 0) > 0:
        sentences.append(f"{percent(chosen['silent'])} of its continuations are empty or refuse.")
    if not facts["greedy"]:
        sentences.append(
            "All instructions had the same prompts, decoding and seed, but tokens are sampled independently for each."
        )
    sentences.append(
        "This result is for one model, benchmark and classifier. Test the instruction on others, and check the quality "
        "of the text: evenhand audit --mitigate instruction-file=PATH."
    )
    return sentences
