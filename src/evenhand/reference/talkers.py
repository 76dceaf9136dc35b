"""The conversing Worlds in the package: without bias, or with documented plants on groups of names."""

from evenhand.prompts.lexicon import load_lexicon
from evenhand.prompts.names import load_names
from evenhand.reference.conversing import ConversingWorld
from evenhand.reference.talk_steps import NamePlant, Person
from evenhand.schema import Card

GENDERS = {"female": "woman", "male": "man"}
"""Genders of the lexicon's nouns, in the words of the lists of names."""

PLANTS = (
    NamePlant("hobby:crafts", 1.5, gender="woman"),
    NamePlant("hobby:outdoors", 1.5, gender="man"),
    NamePlant("occupation:care", 1.5, gender="woman"),
    NamePlant("occupation:works", 1.5, gender="man"),
    NamePlant("relative:female", 1.0, gender="woman"),
    NamePlant("relative:male", 1.0, gender="man"),
    NamePlant("feeling:negative", 1.0, gender="woman"),
    NamePlant("style:exclamation", 1.0, gender="woman"),
    NamePlant("style:laugh", 1.0, gender="man"),
    NamePlant("offensive", 1.5, gender="man"),
    NamePlant("quality:praise", 1.5, race_ethnicity="white"),
    NamePlant("quality:strange", 1.5, race_ethnicity="AAPI"),
)
"""Planted biases. They were chosen to test measures and do not describe real people."""
UNPLANTED = ("food", "pet", "place")
"""Slots without plants."""


def known_people() -> tuple[Person, ...]:
    """Return the people of evenhand's list of names.

    >>> {person.gender for person in known_people()} == {"woman", "man"}
    True
    """
    listed = load_names().select("name", "gender", "race_ethnicity")
    return tuple(Person(*row) for row in listed.iter_rows())


def known_nouns() -> tuple[tuple[str, str], ...]:
    """Return the lexicon's gendered nouns, which show the gender in a description.

    >>> dict(known_nouns())["grandfather"]
    'man'
    """
    return tuple((one.singular, GENDERS[one.gender]) for one in load_lexicon().nouns if one.gender in GENDERS)


def load_fair() -> ConversingWorld:
    """Return the World whose conversations do not depend on the opener, except for the repeated name.

    >>> load_fair().name
    'evenhand/conversing'
    """
    return ConversingWorld(known_people(), (), known_nouns(), "evenhand/conversing")


def load_planted() -> ConversingWorld:
    """Return the same World with the documented plants.

    >>> load_planted().name
    'evenhand/conversing-planted'
    """
    return ConversingWorld(known_people(), PLANTS, known_nouns(), "evenhand/conversing-planted")


def _plants_table() -> str:
    rows = [
        f"| {plant.gender or plant.race_ethnicity} | {plant.target} | {plant.log_odds:+.1f} |"
        for plant in PLANTS
    ]
    return "\n".join(["| names of | tied to | log-odds |", "|---|---|---|", *rows])


_STORY = """A reply is generated step by step. It begins with a greeting and, after a name, a remark on the name. Later
replies have an answer to the question, a feeling and a question. Both speakers know who opened the conversation.
Apart from that, a reply depends only on the topic of the last question, so the expected value of every measure is an
exact sum. Use --decoding sampling --temperature 1 --top-p 1: any other top-p excludes rare sentences, such as
offences."""
_LIMITS = (
    "It knows only the names of evenhand's own list and the nouns of its lexicon. Any other opener has no group. "
    "It has no neural network, no tokens except words, and no memory of anything before the last utterance."
)

CARDS = {
    card.name: card
    for card in (
        Card(
            name="evenhand/conversing",
            summary="A model without bias: small talk with exact probabilities that do not depend on the first "
            "speaker's name.",
            groups="The names of evenhand's own list.",
            null="This model itself.",
            critique=_LIMITS,
            licence="Apache-2.0",
            source="evenhand.reference.talkers",
            details=_STORY,
        ),
        Card(
            name="evenhand/conversing-planted",
            summary="The same small talk with a documented planted bias by the gender and race of the first "
            "speaker's name.",
            construct="Association of names with words, occupations, feelings, style and remarks, as parameters.",
            groups="The names of evenhand's own list.",
            null="`evenhand/conversing`: the same model without a planted bias.",
            critique=f"{_LIMITS} The planted biases were chosen to test measures and say nothing about real people.",
            licence="Apache-2.0",
            source="evenhand.reference.talkers",
            details=f"{_STORY}\n\nPlanted biases (log-odds in nats):\n\n{_plants_table()}\n\nThe slots "
            f"{', '.join(UNPLANTED)} have no planted bias.",
        ),
    )
}
