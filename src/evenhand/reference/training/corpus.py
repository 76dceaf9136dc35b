"""Training texts of the reference model: balanced World utterances and some other English."""

import numpy as np

from evenhand.prompts.lexicon import article
from evenhand.reference.training.filler import filler_sentences, invented_words
from evenhand.reference.world import World

FILLER_SHARE = 0.08
INVENTED_SHARE = 0.02


def block_texts(world: World, block: int, block_size: int, seed: int) -> list[str]:
    """Return about `block_size` shuffled, independent texts.

    They are a balanced World sample (every descriptor as often as its probability requires, in each frame),
    `FILLER_SHARE` of general English, and `INVENTED_SHARE` of World frames with invented words, so that unknown
    descriptors are not impossible. The result depends on the seed; blocks differ.
    """
    streams = np.random.SeedSequence([seed, block]).generate_state(4)
    texts = world.render(*world.draw_balanced(block_size, int(streams[0])))
    texts += filler_sentences(round(FILLER_SHARE * block_size), int(streams[1]))
    texts += invented_descriptions(world, round(INVENTED_SHARE * block_size), int(streams[2]))
    order = np.random.default_rng(streams[3]).permutation(len(texts))
    return [texts[i] for i in order]


def rare_texts(world: World, n: int, seed: int) -> list[str]:
    """Return about n World utterances about descriptors that a plant makes rare.

    A balanced sample has too few of them for learning the associations. The target of each token is the World's exact
    distribution, so reading them more often does not bias the model.
    """
    rare = {
        word
        for plant in world.plants
        if plant.target == "frequency" and plant.log_odds < 0
        for word in plant.descriptors
    }
    about = np.array([phrase.descriptor in rare for phrase in world.phrases])
    random = np.random.default_rng(seed)
    texts: list[str] = []
    while rare and len(texts) < n:
        phrase, frame = world.draw_balanced(20 * max(n, 1000), int(random.integers(2**31)))
        mine = about[phrase]
        texts += world.render(phrase[mine], frame[mine])
    return texts[:n]


def invented_descriptions(world: World, n: int, seed: int) -> list[str]:
    """Return up to n World frames whose noun phrase has an invented word in place of the descriptor.

    Invented words that the World has are left out.
    """
    random = np.random.default_rng(seed)
    people = [phrase for phrase in world.phrases if phrase.axis == "none" and not phrase.bare]
    known = {word.strip().lower() for word in world.vocabulary}
    texts: list[str] = []
    for word in invented_words(n, int(random.integers(2**31))):
        if word.lower() in known:
            continue
        phrase = people[int(random.integers(len(people)))]
        frame = world.frames[int(random.integers(len(world.frames)))]
        singular, plural = f"{word} {phrase.noun}", f"{word} {phrase.plural}"
        phrase_of_word = type(phrase)(
            "invented", word, phrase.noun, f"{article(singular)} {singular}", plural
        )
        texts.append(frame.fill(phrase_of_word))
    return texts
