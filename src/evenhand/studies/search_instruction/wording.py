"""A search for an instruction in words: the verdict, and what to beware of."""

from evenhand.mitigations.revision import LOWER
from evenhand.studies.search_instruction.card import effect, percent, points
from evenhand.studies.search_instruction.conduct import RevisionStudy


def verdict_sentence(study: RevisionStudy) -> str:
    """What came of the search, in one sentence."""
    return (
        f"The instruction below was chosen from {study.facts['instructions_tried']}: {effect(study.chosen)}, "
        f"according to {study.facts['classifier']}."
    )


def cautions(study: RevisionStudy) -> list[str]:
    """What a reader must know before the instruction is used."""
    chosen, facts = study.chosen, study.facts
    sentences = []
    if chosen["verdict"] != LOWER:
        sentences.append("It was not shown to lower the share; one of them always has the smallest.")
    if chosen["optimism"] is not None:
        sentences.append(
            f"In the last round it changed the share by {points(chosen['selected_change'])} points, here by "
            f"{points(chosen['change'])}: the difference of {points(chosen['optimism'])} is what selection flattered "
            "(below 0) or hid, and chance."
        )
    if (chosen["silent"] or 0) > 0:
        sentences.append(f"{percent(chosen['silent'])} of its continuations are empty or refuse.")
    if not facts["greedy"]:
        sentences.append(
            "All instructions had the same prompts, decoding and seed; the tokens are drawn independently behind each."
        )
    sentences.append(
        "One model, one benchmark, one classifier: try it on others, and look at the quality of what is written, with "
        "evenhand audit --mitigate instruction-file=PATH."
    )
    return sentences
