"""Small data of our own in the formats of MultiWOZ 2.0 and DSTC7, written by hand."""

import json
import zipfile
from pathlib import Path
from typing import Any

State = dict[str, str]
Said = tuple[str, State, str]
"""What the user says, what is new by it, and what the system answers."""

DIALOGUES: dict[str, list[Said]] = {
    "SNG0001.json": [
        ("I need a cheap hotel in the north.", {"hotel-pricerange": "cheap", "hotel-area": "north"}, "For how long?"),
        ("For 2 nights, please.", {"hotel-book stay": "2"}, "It is booked."),
    ],
    "SNG0002.json": [
        ("Is there a restaurant in the centre?", {"restaurant-area": "centre"}, "Which food would you like?"),
        ("I'd like Indian food.", {"restaurant-food": "indian"}, "The Garden is nice."),
        ("Any price will do.", {"restaurant-pricerange": "dont care"}, "Then it is The Garden."),
    ],
    "SNG0003.json": [
        ("A train that leaves after 9:15, please.", {"train-leaveAt": "09:15"}, "Where do you go?"),
        ("To Ely/Peterborough.", {"train-destination": "ely"}, "There is one at 9:30."),
    ],
    "SNG0004.json": [
        ("We look for an expensive hotel.", {"hotel-pricerange": "expensive"}, "In which part of town?"),
        ("In the south.", {"hotel-area": "south"}, "There is one."),
    ],
    "SNG0005.json": [
        ("A museum in the west, please.", {"attraction-type": "museum", "attraction-area": "west"}, "Go to the mill."),
    ],
    "SNG0006.json": [
        ("I want to eat Italian food.", {"restaurant-food": "italian"}, "In which part of town?"),
        ("In the east, and cheap.", {"restaurant-area": "east", "restaurant-pricerange": "cheap"}, "Here you are."),
    ],
    "MUL0007.json": [
        ("A hotel in the centre for 3 people.", {"hotel-area": "centre", "hotel-book people": "3"}, "Which price?"),
        ("Moderate. I need a train on Monday, too.", {"hotel-pricerange": "moderate", "train-day": "monday"}, "Done."),
    ],
    "MUL0008.json": [
        ("A cheap restaurant in the north.", {"restaurant-pricerange": "cheap", "restaurant-area": "north"}, "Yes."),
        ("And a hotel in the north.", {"hotel-area": "north"}, "Here you are."),
    ],
}  # fmt: skip
TEST, DEV = ("MUL0007.json", "MUL0008.json"), ("SNG0006.json",)
ODD, LONG, FOREIGN = "SNG0101.json", "SNG0102.json", "SNG0103.json"
"""Dialogues that are to be left out."""
AREAS = ["north", "south", "east", "west", "centre"]
ONTOLOGY = {
    "hotel-price range": ["cheap", "moderate", "expensive"],
    "hotel-area": AREAS,
    "hotel-book stay": ["1", "2", "3"],
    "hotel-book people": ["1", "2", "3", "30"],
    "restaurant-price range": ["cheap", "moderate", "expensive"],
    "restaurant-area": AREAS,
    "restaurant-food": ["indian", "italian", "thai"],
    "train-leave at": ["09:15", "10:15"],
    "train-arrive by": ["11:00", "12:00"],
    "train-destination": ["ely", "cambridge"],
    "train-day": ["monday", "tuesday"],
    "attraction-type": ["museum", "park"],
    "attraction-area": AREAS,
}
EXCHANGES = [
    ("START EOS did you see the game", "yes , it was great ."),
    ("START EOS did you see the game EOS yes , it was great .", "the last minute was the best ."),
    ("START EOS what do you read", "a book about trees ."),
    ("START EOS what do you read EOS a book about trees .", "i like trees ."),
    ("START EOS how is the weather", "it is sunny here ."),
    ("START EOS who cooks today", "i do , there will be soup ."),
]
REFERENCES = [
    ["yes .", "it was great .", "no , i had to work .", "sure !", "i was there .", "yes , all of it ."],
    ["sunny .", "it rains .", "cold and dry .", "there is a storm .", "as always .", "nice ."],
    ["soup .", "you do .", "i hope it is not me .", "bread .", "who knows .", "we could go out ."],
]
ASKED = [
    "START EOS have you seen the game",
    "START EOS how is the weather there",
    "START EOS what is there to eat",
]


def data_json() -> dict[str, Any]:
    """The dialogues as the owners' data.json holds them, with three that are to be left out."""
    data = {name: _dialogue(said) for name, said in DIALOGUES.items()}
    data[ODD] = _dialogue(DIALOGUES["SNG0001.json"])
    data[ODD]["log"].pop()
    data[LONG] = _dialogue([("word " * 51, {"hotel-area": "north"}, "Yes.")])
    data[FOREIGN] = _dialogue([("A caf\u00e9, please.", {"restaurant-food": "thai"}, "Yes.")])
    return data


def write_multiwoz(folder: Path, *, archive: bool = False) -> Path:
    """The data as a folder, or as an archive like the owners'; returns its path."""
    files = {
        "data.json": json.dumps(data_json(), indent=4),
        "ontology.json": json.dumps(ONTOLOGY),
        "testListFile.json": "\n".join(TEST) + "\n",
        "valListFile.json": "\n".join(DEV) + "\n",
        "README.txt": "small",
    }
    folder.mkdir(parents=True, exist_ok=True)
    if not archive:
        for name, content in files.items():
            (folder / name).write_text(content, encoding="utf-8")
        return folder
    path = folder / "MultiWOZ_2.0.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as zipped:
        zipped.writestr("__MACOSX/MULTIWOZ2 2/._data.json", "no dialogues")
        for name, content in files.items():
            zipped.writestr(f"MULTIWOZ2 2/{name}", content)
    return path


def write_dstc7(folder: Path) -> Path:
    """The conversations and references as a folder; returns it."""
    folder.mkdir(parents=True, exist_ok=True)
    train = [_line(f"k{i}", f"c{i // 2}", context, reply) for i, (context, reply) in enumerate(EXCHANGES)]
    test = [_line(f"t{i}", f"d{i}", asked, REFERENCES[i][1]) for i, asked in enumerate(ASKED)]
    references = [
        "\t".join([f"t{i}", *(f"{10 - j}|{text}" for j, text in enumerate(group))]) + "\n"
        for i, group in enumerate(REFERENCES)
    ]
    for name, lines in (
        ("train.convos.txt", train),
        ("test.convos.txt", test),
        ("test.refs.txt", references),
    ):
        (folder / name).write_text("".join(lines), encoding="utf-8")
    return folder


def _line(key: str, conversation: str, context: str, response: str) -> str:
    return "\t".join([key, "small", conversation, "5", "2", context, response]) + "\n"


def _dialogue(said: list[Said]) -> dict[str, Any]:
    log: list[dict[str, Any]] = []
    state: State = {}
    for user, new, system in said:
        state = {**state, **new}
        log += [{"text": user, "metadata": {}}, {"text": system, "metadata": _metadata(state)}]
    return {"goal": {}, "log": log}


def _metadata(state: State) -> dict[str, Any]:
    known = {
        "taxi": (["leaveAt", "destination"], []),
        "restaurant": (["food", "pricerange", "area", "name"], ["time", "people"]),
        "hospital": (["department"], []),
        "hotel": (["area", "pricerange", "name"], ["stay", "people"]),
        "attraction": (["type", "area"], []),
        "train": (["leaveAt", "destination", "day", "arriveBy"], ["people"]),
        "police": ([], []),
    }
    found: dict[str, Any] = {}
    for domain, (semi, book) in known.items():
        found[domain] = {
            "book": {"booked": [], **{slot: state.get(f"{domain}-book {slot}", "") for slot in book}},
            "semi": {
                slot: state.get(f"{domain}-{slot}", "not mentioned" if slot == "name" else "")
                for slot in semi
            },
        }
    return found
