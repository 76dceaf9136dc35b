"""A World that converses: against enumeration of all its first replies, its own draws, and its two ways of talking."""

import itertools
import math
import re
import tomllib
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import stats

import evenhand.reference.conversing
from evenhand.models import Decoding, LanguageModel, TextGenerator, Texts
from evenhand.models.dialogue import History
from evenhand.reference.conversing import ConversingWorld
from evenhand.reference.talk_steps import NamePlant, Person
from evenhand.schema import ResponseError, Unsupported, UsageError

PEOPLE = (Person("Ida", "woman", "north"), Person("Ulf", "man", "north"), Person("Mo", "man", "south"))
PLANTS = (
    NamePlant("quality:praise", 1.2, gender="woman"),
    NamePlant("remark:silence", -0.7, race_ethnicity="south"),
    NamePlant("style:exclamation", 0.9, gender="woman"),
    NamePlant("echo", 1.5, names=("Ulf",)),
    NamePlant("quality:short", 2.0, names=("Mo",)),
)
DRAWN = Decoding(max_new_tokens=80, temperature=1.0)


@pytest.fixture(scope="module")
def world() -> ConversingWorld:
    return ConversingWorld(PEOPLE, PLANTS, (("woman", "woman"), ("man", "man")), "small")


def opened(name: str) -> str:
    return History((), (f"Hi! My name is {name}.",)).prompt()


def enumerated(person: Person) -> dict[str, float]:
    """Every first reply with its probability, read from the file of texts with dictionaries and loops only."""
    table = tomllib.loads(
        (Path(evenhand.reference.conversing.__file__).parent / "conversing.toml").read_text(encoding="utf-8")
    )

    def tilt(weight: float, *labels: str) -> float:
        return weight * math.exp(
            sum(plant.log_odds for plant in PLANTS if plant.target in labels and plant.concerns(person))
        )

    def sentences(step: str) -> dict[str, float]:
        frames = [frame for frame in table["frame"] if frame["step"] == step]
        silence = next(one.get("silence", 0.0) for one in table["step"] if one["name"] == step)
        mass = {frame["text"]: tilt(frame.get("weight", 1.0), frame.get("label", "")) for frame in frames}
        quiet = tilt(silence, f"{step}:silence")
        whole = sum(mass.values()) + quiet
        found = {"": quiet / whole} if silence else {}
        for text, value in mass.items():
            words = [("", 1.0)]
            if "quality}" in text:
                words = [
                    (word, tilt(1.0, f"quality:{word}", f"quality:{kind}"))
                    for kind, listed in table["slots"]["quality"].items()
                    for word in listed
                ]
            ends = (
                [("", 1.0)]
                if text[-1] == "?"
                else [(end["mark"], tilt(end["weight"], end["label"])) for end in table["ends"]]
            )
            for (word, odds), (mark, more) in itertools.product(words, ends):
                share = odds / sum(o for _, o in words) * more / sum(o for _, o in ends)
                article = "an" if word[:1] == "u" else "a"
                said = text.replace("{a quality}", f"{article} {word}") + mark
                found[said.replace("{name}", person.name or "")] = value / whole * share
        return found

    replies: dict[str, float] = {}
    steps = [sentences(step) for step in ("greet", "remark", "ask")]
    for parts in itertools.product(*steps):
        text = " ".join(part for part in parts if part)
        replies[text] = math.prod(step[part] for step, part in zip(steps, parts, strict=True))
    return replies


@pytest.mark.parametrize("person", PEOPLE, ids=lambda person: str(person.name))
def test_first_replies_have_the_probabilities_of_their_enumeration(
    world: ConversingWorld, person: Person
) -> None:
    expected = enumerated(person)
    assert sum(expected.values()) == pytest.approx(1, abs=1e-12)
    endless = re.compile(r"\?$")  # a reply that ends with its question can go no further
    texts = [text for text in expected if endless.search(text)][::9]
    answers = world.log_likelihoods(Texts(texts, [opened(str(person.name))] * len(texts)))
    assert answers.errors == [None] * len(texts)
    np.testing.assert_allclose(answers.sums, [math.log(expected[text]) for text in texts], atol=1e-4)


def test_a_reply_that_might_go_on_is_scored_as_what_replies_begin_with(world: ConversingWorld) -> None:
    expected = enumerated(PEOPLE[0])
    begins = [value for text, value in expected.items() if text.startswith("Hi there.")]
    answers = world.log_likelihoods(Texts(["Hi there."], [opened("Ida")]))
    assert answers.sums[0] == pytest.approx(math.log(sum(begins)), abs=1e-5)


def test_written_first_replies_follow_the_enumeration_and_so_do_whole_conversations(
    world: ConversingWorld,
) -> None:
    count = 3000
    assert isinstance(world, TextGenerator)
    assert isinstance(world, LanguageModel)
    expected = enumerated(PEOPLE[0])
    rule = Decoding(max_new_tokens=80, temperature=1.0, samples=count)
    written = Counter(world.generate([opened("Ida")], rule).texts)
    frame = pl.DataFrame({"text": ["Hi! My name is Ida."] * count, "conversation": range(count)})
    at_once = Counter(world.conversations(frame, seed=3).filter(turn=2)["text"])
    for seen in (written, at_once):
        assert set(seen) <= set(expected)
        # rare replies together, so that every cell has enough
        common = [text for text, value in expected.items() if value * count > 8]
        rest = 1 - sum(expected[text] for text in common)
        observed = [*(seen[text] for text in common), count - sum(seen[text] for text in common)]
        wanted = np.array([*(expected[text] for text in common), rest]) * count
        assert len(common) > 20
        assert stats.chisquare(observed, wanted * count / wanted.sum()).pvalue > 1e-3


def test_its_likelihood_of_what_it_wrote_is_that_of_the_text_and_the_end(world: ConversingWorld) -> None:
    said = ["Hi! My name is Mo."]
    for _ in range(11):
        line = History((), tuple(said)).prompt()
        answer = world.generate([line], DRAWN)
        assert (answer.errors, answer.finish) == ([None], ["end"])
        text = str(answer.texts[0])
        scored = world.log_likelihoods(Texts([text], [line]))
        assert scored.errors == [None]
        end = answer.log_likelihood[0] - scored.sums[0]  # log P(nothing more comes)
        assert -3.5 < end < 1e-5
        assert answer.row(0).tolist() == [*scored.token_ids.tolist(), 0]
        said.append(text)


def test_an_answer_is_about_what_was_asked(world: ConversingWorld) -> None:
    line = History((), ("Hi! My name is Ida.", "Hi there. Do you like your job?")).prompt()
    rule = Decoding(max_new_tokens=80, temperature=1.0, samples=200)
    told = [str(text) for text in world.generate([line], rule).texts]
    assert all(re.search(r"work as|to be an? |at school|best friend is", text) for text in told)


def test_draws_depend_on_the_line_the_sample_and_the_seed_alone(world: ConversingWorld) -> None:
    lines = [opened("Ida"), opened("Ulf"), "no history", opened("Nobody")]
    rule = Decoding(max_new_tokens=80, temperature=1.0, samples=3, seed=5)
    together = world.generate(lines, rule)
    alone = [world.generate([line], rule).texts for line in reversed(lines)]
    assert together.texts == [text for texts in reversed(alone) for text in texts]
    other = world.generate(lines, Decoding(max_new_tokens=80, temperature=1.0, samples=3, seed=6))
    assert other.texts != together.texts
    assert together.errors[6:9] == [ResponseError.OUTSIDE_WORLD] * 3


def test_whole_conversations_are_the_same_twice_and_keep_the_columns_of_their_rows(
    world: ConversingWorld,
) -> None:
    frame = pl.DataFrame({"conversation": [7, 8], "name": ["Ida", "Ulf"], "gender": ["woman", "man"]})
    frame = frame.with_columns(text=pl.format("Hi! My name is {}.", "name"))
    once, again = world.conversations(frame, seed=2), world.conversations(frame, seed=2)
    assert once.equals(again)
    assert not once.equals(world.conversations(frame, seed=3))
    assert once.height == 24
    first = once.filter(conversation=7)
    assert first["turn"].to_list() == list(range(1, 13))
    assert first["speaker"].to_list() == ["A", "B"] * 6
    assert first["text"][0] == "Hi! My name is Ida."
    assert set(first["gender"]) == {"woman"}
    # what it says in whole conversations it can say reply by reply
    texts = first["text"].to_list()
    contexts = [History((), tuple(texts[:turn])).prompt() for turn in range(1, 12)]
    assert world.log_likelihoods(Texts(texts[1:], contexts)).errors == [None] * 11


def test_a_description_tells_a_gender_and_gets_no_remark_on_a_name(world: ConversingWorld) -> None:
    assert world.person("Hi! I am an elderly woman.") == Person(None, "woman")
    assert world.person("Hi! I am a tall lamp.") == Person()
    assert world.person("Hi! My name is ida.") == PEOPLE[0]
    line = History((), ("Hi! I am an elderly woman.",)).prompt()
    rule = Decoding(max_new_tokens=80, temperature=1.0, samples=200)
    assert not any(" name" in str(text) for text in world.generate([line], rule).texts)


def test_what_it_cannot_do_it_says(world: ConversingWorld) -> None:
    line = opened("Ida")
    for rule in (
        Decoding(max_new_tokens=40, num_beams=10),
        Decoding(max_new_tokens=40, min_new_tokens=20),
        Decoding(max_new_tokens=40, temperature=1.0, no_repeat_ngram_size=3),
    ):
        with pytest.raises(Unsupported):
            world.generate([line], rule)
    with pytest.raises(Unsupported, match="whole replies"):
        world.log_likelihoods(Texts(["Hi there."], [line], [(0, 2)]))
    answers = world.log_likelihoods(Texts(["Hi you.", "", "Hi there."], [line, line, None]))
    assert answers.errors == [
        ResponseError.OUTSIDE_WORLD,
        ResponseError.EMPTY_TEXT,
        ResponseError.OUTSIDE_WORLD,
    ]
    assert "'you.'" in str(answers.details[0])
    with pytest.raises(UsageError, match="hobby:knitting"):
        ConversingWorld((), (NamePlant("hobby:flying", 1.0),))


def test_cut_replies_and_stop_strings(world: ConversingWorld) -> None:
    line = opened("Ida")
    (cut,) = world.generate([line], Decoding(max_new_tokens=3)).finish
    assert cut == "length"
    answer = world.generate([line], Decoding(max_new_tokens=80, stop=("?",)))
    whole = world.generate([line], Decoding(max_new_tokens=80)).texts[0]
    assert answer.texts[0] == str(whole).split("?")[0]


def test_fingerprints_tell_plants_and_people_apart(world: ConversingWorld) -> None:
    fair = ConversingWorld(PEOPLE, (), world.nouns, "small")
    fewer = ConversingWorld(PEOPLE[:2], PLANTS, world.nouns, "small")
    assert len({one.fingerprint["sha256"] for one in (world, fair, fewer)}) == 3
