"""World against brute force: enumeration of every utterance, exact conditionals, sampling frequencies."""

import math
from collections import Counter, defaultdict
from itertools import product

import numpy as np
import pytest
from scipy import stats

from evenhand.models.contract import LanguageModel, Texts
from evenhand.reference.story import Frame, Phrase, Plant
from evenhand.reference.world import World
from evenhand.schema import ResponseError, Unsupported, UsageError

PHRASES = (
    Phrase("none", "(none)", "woman", "a woman", "women"),
    Phrase("none", "(none)", "man", "a man", "men"),
    Phrase("ability", "Deaf", "woman", "a Deaf woman", "Deaf women"),
    Phrase("ability", "Deaf", "man", "a Deaf man", "Deaf men", weight=2.0),
    Phrase("ability", "with asthma", "woman", "a woman with asthma", "women with asthma"),
    Phrase("ability", "with asthma", "man", "a man with asthma", "men with asthma"),
    Phrase("ability", "Deaf", "", "Deaf", "Deaf", bare=True),
    Phrase("age", "old", "woman", "an old woman", "old women"),
    Phrase("age", "queer", "man", "a queer man", "queer men"),
    Phrase("sexuality", "queer", "man", "a queer man", "queer men"),  # one text, two derivations
)
FRAMES = (
    Frame("love", "I love {plural_noun_phrase}.", ("opinion", "opinion:positive")),
    Frame("hate", "I hate {plural_noun_phrase}.", ("opinion", "opinion:negative"), weight=1.5),
    Frame("am", "I am {noun_phrase}.", ("neutral",), needs_noun=False),
    Frame("am2", "I am {noun_phrase} with asthma, friends.", ("neutral",)),  # ambiguous after "with asthma"
    Frame("kind", "{noun_phrase} is kind.", ("attribute:warm",)),
    Frame("open", "{plural_noun_phrase}", ()),  # ends with the noun phrase, no mark
)
PLANTS = (
    Plant("ability", "opinion:negative", 1.2, ("Deaf",)),
    Plant("ability", "attribute:warm", -0.7),
    Plant("age", "frequency", -1.0, ("old",)),
)


def brute_force(
    phrases: tuple[Phrase, ...], frames: tuple[Frame, ...], plants: tuple[Plant, ...]
) -> dict[str, float]:
    """Every utterance with its probability, straight from the story, with dictionaries only."""
    weight: dict[tuple[str, str], float] = defaultdict(float)
    for p in phrases:
        weight[p.axis, p.descriptor] += p.weight
    prior = dict(weight)
    for plant, key in product(plants, weight):
        if (
            plant.target == "frequency"
            and plant.axis == key[0]
            and key[1] in (plant.descriptors or (key[1],))
        ):
            prior[key] *= math.exp(plant.log_odds)
    whole = sum(prior.values())
    texts: dict[str, float] = defaultdict(float)
    for p in phrases:
        key = (p.axis, p.descriptor)
        tilted = []
        for frame in frames:
            odds = sum(
                plant.log_odds
                for plant in plants
                if plant.target in frame.labels
                and plant.axis == p.axis
                and p.descriptor in (plant.descriptors or (p.descriptor,))
            )
            tilted.append(frame.weight * math.exp(odds))
        for frame, value in zip(frames, tilted, strict=True):
            fitting = [
                q for q in phrases if (q.axis, q.descriptor) == key and not (q.bare and frame.needs_noun)
            ]
            if p in fitting:
                share = p.weight / sum(q.weight for q in fitting)
                texts[frame.fill(p)] += prior[key] / whole * value / sum(tilted) * share
    return dict(texts)


@pytest.fixture(scope="module")
def world() -> World:
    return World("small", PHRASES, FRAMES, PLANTS)


@pytest.fixture(scope="module")
def enumerated() -> dict[str, float]:
    return brute_force(PHRASES, FRAMES, PLANTS)


def test_brute_force_is_a_distribution(enumerated: dict[str, float]) -> None:
    assert sum(enumerated.values()) == pytest.approx(1, abs=1e-12)


def test_it_is_a_language_model(world: World) -> None:
    assert isinstance(world, LanguageModel)


def test_likelihood_of_a_text_is_the_mass_of_all_utterances_that_begin_with_it(
    world: World, enumerated: dict[str, float]
) -> None:
    texts = sorted(enumerated)

    # an utterance that another one continues ("Women" / "Women with asthma") is scored as a prefix;
    # after a finished one the next may begin with a space, so only word-wise continuation counts
    def begins(longer: str, shorter: str) -> bool:
        return longer == shorter or (longer.startswith(shorter) and longer[len(shorter)] in " .,")

    expected = [math.log(sum(p for u, p in enumerated.items() if begins(u, t))) for t in texts]
    np.testing.assert_allclose(world.log_likelihoods(texts).sums, expected, atol=1e-5)


def test_each_word_conditional_is_a_ratio_of_prefix_masses(
    world: World, enumerated: dict[str, float]
) -> None:
    words = ["I", " am", " a", " woman", " with", " asthma", ","]
    masses = [
        sum(
            p
            for u, p in enumerated.items()
            if u.startswith("".join(words[:k])) and u[len("".join(words[:k])) :][:1] in " .,"
        )
        for k in range(len(words) + 1)
    ]
    masses[0] = 1.0
    got = world.log_likelihoods(["".join(words)]).row(0)
    np.testing.assert_allclose(got, np.log(np.array(masses[1:]) / masses[:-1]), atol=1e-6)


def test_the_next_word_distribution_sums_to_one_after_every_prefix(
    world: World, enumerated: dict[str, float]
) -> None:
    prefixes = {
        text[:k]
        for text in enumerated
        for k in range(len(text) + 1)
        if text[k : k + 1] in ("", " ", ".", ",")
    }
    assert len(prefixes) > 40
    for prefix in prefixes:
        assert sum(world.next_words(prefix).values()) == pytest.approx(1, abs=1e-12), prefix


def test_next_words_are_what_one_more_word_scores(world: World, enumerated: dict[str, float]) -> None:
    for prefix in ("I", "I am a woman", "I love Deaf", "A Deaf man is kind.", "Women"):
        expected = {
            word: math.exp(world.log_likelihoods([prefix + word]).row(0)[-1])
            for word in world.next_words(prefix)
        }
        assert len(expected) > 0
        assert world.next_words(prefix) == pytest.approx(expected, rel=1e-5)


def test_the_next_utterance_is_independent_of_the_last(world: World) -> None:
    first = "I love Deaf men."
    alone = world.log_likelihoods(["I am a man."])
    after = world.log_likelihoods(Texts(["I am a man."], [first]))
    np.testing.assert_allclose(after.row(0), alone.row(0), atol=1e-6)
    both = world.log_likelihoods([f"{first} I am a man."])
    assert both.sums[0] == pytest.approx(world.log_likelihoods([first]).sums[0] + alone.sums[0], abs=1e-5)


def test_contexts_condition_and_are_not_scored(world: World) -> None:
    answer = world.log_likelihoods(Texts(["a Deaf man."], ["I am"]))
    whole = world.log_likelihoods(["I am a Deaf man."])
    np.testing.assert_allclose(answer.row(0), whole.row(0)[2:], atol=1e-6)
    assert answer.starts.tolist() == [0, 2, 7, 10]


def test_spans_select_overlapping_words(world: World) -> None:
    text = "I am a Deaf man."
    whole = world.log_likelihoods([text])
    part = world.log_likelihoods(Texts([text], spans=[(7, 11)]))
    np.testing.assert_array_equal(part.row(0), whole.row(0)[3:4])
    assert part.starts.tolist() == [7]


def test_error_rows(world: World) -> None:
    got = world.log_likelihoods(["", "I love blue women.", "I  love women.", "I love women."])
    assert got.errors == [
        ResponseError.EMPTY_TEXT,
        ResponseError.OUTSIDE_WORLD,
        ResponseError.OUTSIDE_WORLD,
        None,
    ]
    assert "'blue'" in str(got.details[1])
    assert np.isnan(got.sums[:3]).all() and np.isfinite(got.sums[3])


def test_masking_is_refused(world: World) -> None:
    with pytest.raises(Unsupported, match="masking"):
        world.log_likelihoods(Texts(["I am a man."], masking="token"))


def test_batches_give_what_single_texts_give(world: World, enumerated: dict[str, float]) -> None:
    texts = [*sorted(enumerated, reverse=True), *sorted(enumerated)]
    singly = [world.log_likelihoods([text]).sums[0] for text in texts]
    np.testing.assert_array_equal(world.log_likelihoods(texts).sums, singly)


def test_sampling_frequencies_match(world: World, enumerated: dict[str, float]) -> None:
    counts = Counter(world.sample(40_000, seed=5))
    assert set(counts) <= set(enumerated)
    observed = np.array([counts[text] for text in enumerated])
    expected = np.array(list(enumerated.values())) * 40_000
    assert expected.min() > 5
    assert stats.chisquare(observed, expected).pvalue > 1e-3


def test_sampling_is_seeded(world: World) -> None:
    assert world.sample(50, seed=1) == world.sample(50, seed=1) != world.sample(50, seed=2)


def test_balanced_counts_are_the_expectations_rounded(world: World) -> None:
    n = 997
    phrase, frame = world.draw_balanced(n, seed=0)
    joint = world.joint
    cells = np.zeros_like(joint.frames)
    np.add.at(cells, (joint.of_phrase[phrase], frame), 1)
    expected = n * joint.prior[:, None] * joint.frames
    assert np.abs(cells - expected).max() < 1
    assert np.abs(cells.sum(axis=1) - n * joint.prior).max() < 1
    free = np.array([not f.needs_noun for f in FRAMES])
    by_need = np.stack([joint.frames[:, free].sum(axis=1), joint.frames[:, ~free].sum(axis=1)])
    shares = (joint.prior * by_need)[:, joint.of_phrase] * joint.share
    nouns = np.bincount(phrase, minlength=len(PHRASES))
    assert np.abs(nouns - n * shares.sum(axis=0)).max() < 4


def test_entropy_agrees_with_enumeration(enumerated: dict[str, float]) -> None:
    marked = tuple(frame for frame in FRAMES if frame.name != "open")  # no utterance continues another
    exact = brute_force(PHRASES, marked, PLANTS)
    estimate, error = World("marked", PHRASES, marked, PLANTS).entropy(20_000, seed=1)
    assert error < 0.02
    assert estimate == pytest.approx(-sum(p * math.log(p) for p in exact.values()), abs=4 * error)


def test_truth_is_what_the_odds_say(world: World) -> None:
    truth = {
        (r["descriptor"], r["target"]): r for r in world.truth().filter(axis="ability").iter_rows(named=True)
    }
    deaf = truth["Deaf", "opinion:negative"]
    assert deaf["planted"] == 1.2
    valence = deaf["log_ratio"] - truth["Deaf", "opinion:positive"]["log_ratio"]
    assert valence == pytest.approx(1.2)
    assert truth["with asthma", "opinion:negative"]["planted"] == 0
    age = world.truth().filter(axis="age", target="frequency").sort("descriptor")
    # "queer" stands twice, on two axes; each row speaks of its own derivation
    assert age["log_ratio"].to_list() == pytest.approx([-1.0, 0.0])


def test_a_planted_shift_is_recovered_from_texts(world: World) -> None:
    def contrast(adjective: str) -> float:
        hate, love = world.log_likelihoods([f"I {verb} {adjective} women." for verb in ("hate", "love")]).sums
        return float(hate - love)

    assert contrast("Deaf") - contrast("old") == pytest.approx(1.2, abs=1e-5)


def test_the_fingerprint_knows_every_parameter(world: World) -> None:
    other = World("small", PHRASES, FRAMES, (*PLANTS[:2], Plant("age", "frequency", -1.1, ("old",))))
    assert world.fingerprint == World("small", PHRASES, FRAMES, PLANTS).fingerprint != other.fingerprint


@pytest.mark.parametrize(
    ("plant", "words"),
    [
        (Plant("aeg", "frequency", 1.0), "no axis"),
        (Plant("age", "opinion:negativ", 1.0), "unknown label"),
        (Plant("age", "frequency", 1.0, ("young",)), "young"),
    ],
)
def test_a_plant_that_reaches_nobody_is_refused(plant: Plant, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        _ = World("bad", PHRASES, FRAMES, (plant,)).joint


def test_a_frame_needs_exactly_one_slot() -> None:
    with pytest.raises(UsageError, match="exactly one"):
        Frame("bad", "I love tea.")
