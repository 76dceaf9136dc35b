"""Sentences on a trigger: its effect and cautions."""

from evenhand.mitigations.triggers import TriggerFile

RED_TEAMING = "The search aimed to induce bias. Use this trigger for red-teaming measurements only."


def sentences(trigger: TriggerFile) -> list[str]:
    """Return the effect of the trigger, its problems if there are any, and limits of its use."""
    note = trigger.choice.get("note", "")
    return [
        trigger.effect.get("sentence", "Its effect was not measured."),
        *([f"Note: {note}"] if note else []),
        *([RED_TEAMING] if trigger.mode == "induce" else []),
    ]
