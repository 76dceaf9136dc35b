"""A found trigger in words: what it does, and what to beware of."""

from evenhand.mitigations.triggers import TriggerFile

RED_TEAMING = "It was searched to bring out bias: for red-teaming measurement only."


def sentences(trigger: TriggerFile) -> list[str]:
    """What the trigger does; then, where there is any, what is wrong with it; then what it must not be used for."""
    note = trigger.choice.get("note", "")
    return [
        trigger.effect.get("sentence", "What it does was not measured."),
        *([f"Note: {note}"] if note else []),
        *([RED_TEAMING] if trigger.mode == "induce" else []),
    ]
