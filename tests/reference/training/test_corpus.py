"""What the reference model reads: filler without groups, a tokenizer of whole words, packed rows."""

from collections import Counter

import numpy as np
import pytest

from evenhand.prompts.lexicon import load_lexicon
from evenhand.reference.training import filler
from evenhand.reference.training.corpus import block_texts, invented_descriptions
from evenhand.reference.training.targets import Teacher
from evenhand.reference.training.tokenizer import END
from evenhand.reference.training.train import CONTEXT, Course, Recipe, pack_sequences, world_tokenizer
from evenhand.reference.world import World
from evenhand.reference.worlds import planted_world


@pytest.fixture(scope="module")
def world() -> World:
    return planted_world()


@pytest.fixture(scope="module")
def tokenizer(world: World) -> object:
    return world_tokenizer(world, Recipe())


def test_filler_names_no_group() -> None:
    lexicon = load_lexicon()
    groups = {form.lower() for d in lexicon.descriptors for form in (d.descriptor, d.plural)}
    groups |= {form.lower() for n in lexicon.nouns for form in (n.singular, n.plural)}
    lists = [v for k, v in vars(filler).items() if k.isupper() and k not in ("SYLLABLES", "LETTERS")]
    words = {word.lower() for entries in lists for entry in entries for word in entry.split()}
    assert len(words) > 200
    assert words.isdisjoint(groups)


def test_invented_descriptions_leave_the_worlds_words_alone(world: World) -> None:
    known = {word.strip().lower() for word in world.vocabulary}
    texts = invented_descriptions(world, 300, seed=1)
    assert len(texts) > 250
    strange = [
        [w for w in text.strip("?.!").replace(",", "").split() if w.lower() not in known] for text in texts
    ]
    assert all(len(words) >= 1 for words in strange)


def test_texts_of_a_block_are_seeded_and_blocks_differ(world: World) -> None:
    first, second = (block_texts(world, block, 400, seed=3) for block in (0, 1))
    assert first == block_texts(world, 0, 400, seed=3)
    assert Counter(first) != Counter(second)
    assert 400 <= len(first) <= 442


def test_every_world_word_is_one_token(world: World, tokenizer: object) -> None:
    split = [w for w in world.vocabulary if len(tokenizer(w)["input_ids"]) != 1]  # type: ignore[operator]
    assert split == []


@pytest.mark.parametrize(
    "text", ["Two of them are Papua New Guinean women.", "naïve 漢字 \t tabs\n", "x" * 40, "🙂"]
)
def test_any_text_survives_the_round_trip(tokenizer: object, text: str) -> None:
    ids = tokenizer(text)["input_ids"]  # type: ignore[operator]
    assert tokenizer.decode(ids) == text  # type: ignore[attr-defined]


def test_packing_keeps_every_sequence_once_and_in_order() -> None:
    sequences = [[0] * int(n) for n in np.random.default_rng(1).integers(5, 40, size=200)]
    rows = pack_sequences(sequences)
    assert [i for row in rows for i in row] == list(range(200))
    assert max(sum(len(sequences[i]) for i in row) for row in rows) <= CONTEXT


def test_batches_hold_whole_texts_between_end_tokens(world: World, tokenizer: object) -> None:
    recipe = Recipe(blocks=1, block_size=300, rows=6)
    course = Course(world, tokenizer, recipe)
    end = tokenizer.convert_tokens_to_ids(END)  # type: ignore[attr-defined]
    read: list[str] = []
    learned: list[str] = []
    for batch in course.batches():
        assert batch.learned.sum() == batch.targets.position[-1] + 1
        np.testing.assert_allclose(
            np.bincount(batch.targets.position, batch.targets.probability), 1, atol=1e-5
        )
        for ids, segment, position, told in zip(
            batch.ids, batch.segment, batch.position, batch.learned, strict=True
        ):
            for number in range(1, segment.max() + 1):
                mine = np.flatnonzero(segment == number)
                np.testing.assert_array_equal(np.diff(position[mine]), 1)
                assert ids[mine[0]] == ids[mine[-1]] == end and position[mine[-1]] < CONTEXT
                read.append(tokenizer.decode(ids[mine[1:-1]]))  # type: ignore[attr-defined]
                after = [i for i in mine[1:-1] if told[i - 1]]
                assert told[mine[-2]] and not told[mine[-1]]  # the end is learned, what follows it is not
                learned.append(tokenizer.decode(ids[after]))  # type: ignore[attr-defined]
    documents = [lesson.document for lesson in course.lessons(0)]
    assert read == [document.given + document.told for document in documents]
    assert learned == [document.told for document in documents]
    assert sum(bool(document.given) for document in documents) == 300 * 0.3 + 300 * 0.08


def test_targets_are_the_worlds_next_word_distributions(world: World, tokenizer: object) -> None:
    text = "I despise Muslim women."
    ids = tokenizer(text)["input_ids"]  # type: ignore[operator]
    targets = Teacher(world, tokenizer).targets([text], [[0, *ids, 0]])
    prefixes = ["", "I", "I despise", "I despise Muslim", "I despise Muslim women"]
    for i, prefix in enumerate(prefixes):
        mine = targets.position == i
        exact = {
            tokenizer(word)["input_ids"][0]: p  # type: ignore[operator]
            for word, p in world.next_words(prefix).items()
        }
        told = dict(zip(targets.token[mine].tolist(), targets.probability[mine].tolist(), strict=True))
        assert told == pytest.approx(exact, rel=1e-5)
    last = targets.position == len(prefixes)
    assert targets.token[last].tolist() == [0] and targets.probability[last].tolist() == [1]


def test_texts_outside_the_world_are_their_own_targets(world: World, tokenizer: object) -> None:
    text = "I bought the lamp today."
    ids = tokenizer(text)["input_ids"]  # type: ignore[operator]
    targets = Teacher(world, tokenizer).targets([text], [[0, *ids, 0]])
    assert targets.token.tolist() == [*ids, 0]
    assert (targets.probability == 1).all()
