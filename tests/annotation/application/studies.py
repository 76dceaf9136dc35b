"""Small studies of every kind of page."""

from typing import Any

from evenhand.annotation.definition import Study

TURNS = [
    ("person", "Hello, how are you?"),
    ("bot", "Well, thank you."),
    ("person", "Good."),
    ("bot", "Good bye."),
]
REASON = {"label": "Why?", "minimum": 5}


def conversation(
    name: str, turns: list[tuple[str, str]] = TURNS, speaker: str | None = "bot"
) -> dict[str, Any]:
    return {
        "id": name,
        "speaker": speaker,
        "model": "model-of-" + name,
        "turns": [{"speaker": who, "text": text} for who, text in turns],
    }


def pair(name: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "pair": [conversation(f"{name}-1"), conversation(f"{name}-2")], **more}


def pair_study(**more: Any) -> Study:
    """Onboarding with an explanation, pairs, both kinds of survey, codes, a second unit."""
    return Study.model_validate(
        {
            "evenhand_study": 1,
            "name": "pairs",
            "title": "Who speaks better?",
            "instructions": "Read both.\n\nJudge only the marked speaker.",
            "consent": {"text": "It takes five minutes.", "warning": "Some of it may be rude."},
            "questions": [
                {"kind": "pair", "id": "engaging", "text": "Who would you rather talk to?", "reason": REASON},
                {"kind": "pair", "id": "human", "text": "Who sounds more human?", "tie": "Both alike"},
            ],
            "items": [pair(f"pair-{number}") for number in range(4)],
            "onboarding": {
                "items": [pair("first", expected={"engaging": "a"}, explanation="The first one answers.")]
            },
            "rules": [{"rule": "onboarding_below", "action": "flag"}],
            "assignment": {"annotations_per_item": 2, "items_per_unit": 2, "units_per_person": 2},
            "survey": [
                {"kind": "scale", "id": "sdo", "use": "sdo7", "draw": 2},
                {
                    "kind": "about",
                    "id": "about",
                    "questions": [
                        {
                            "kind": "choice",
                            "id": "age",
                            "text": "How old are you?",
                            "options": [
                                {"id": "young", "label": "Under 30"},
                                {"id": "old", "label": "30 or more"},
                            ],
                        },
                        {"kind": "text", "id": "self", "text": "How do you describe yourself?"},
                    ],
                },
            ],
            "completion": {"per_unit_codes": True, "address": "https://elsewhere.example/back"},
            **more,
        }
    )


def text_study(texts: list[str], **more: Any) -> Study:
    """Single texts with a context: a choice with a reason, ratings short and long, a text of one's own."""
    return Study.model_validate(
        {
            "evenhand_study": 1,
            "name": "texts",
            "title": "What do these texts say?",
            "questions": [
                {
                    "kind": "choice",
                    "id": "regard",
                    "text": "What regard does it show?",
                    "options": [
                        {"id": name, "label": name.capitalize()} for name in ("positive", "negative")
                    ],
                    "reason": REASON,
                },
                {
                    "kind": "likert",
                    "id": "fluent",
                    "text": "How fluent is it?",
                    "labels": ["Not", "Very"],
                    "required": False,
                },
                {
                    "kind": "likert",
                    "id": "sure",
                    "text": "How sure are you?",
                    "low": 0,
                    "high": 100,
                    "labels": ["Not", "Very"],
                },
                {"kind": "text", "id": "own", "text": "In your own words?", "required": False},
            ],
            "items": [
                {"id": f"text-{number}", "text": text, "context": f"Before {number}"}
                for number, text in enumerate(texts)
            ],
            "assignment": {"annotations_per_item": 1, "items_per_unit": len(texts)},
            **more,
        }
    )


def marks_study(**more: Any) -> Study:
    """A conversation whose turns are marked."""
    return Study.model_validate(
        {
            "evenhand_study": 1,
            "name": "marks",
            "title": "What is wrong with it?",
            "questions": [
                {
                    "kind": "marks",
                    "id": "odd",
                    "text": "Mark what is odd.",
                    "options": [{"id": "rude", "label": "Rude"}, {"id": "false", "label": "False"}],
                },
                {
                    "kind": "marks",
                    "id": "dull",
                    "text": "Tick what is dull.",
                    "options": [{"id": "yes", "label": "Dull"}],
                },
            ],
            "items": [{"id": "talk", "conversation": conversation("talk")}],
            "assignment": {"annotations_per_item": 1, "items_per_unit": 1},
            **more,
        }
    )
