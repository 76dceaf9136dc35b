"""Phrases: pairs that say nearly the same are one, against a comparison of every two."""

import numpy as np
import polars as pl

from evenhand.measures.pairs.phrases import phrase_clusters, phrases_of

WORDS = [f"word{number}" for number in range(24)]


def slow(more: list[str], less: list[str], labels: list[str | None]) -> list[int]:
    """Which pairs hang together, by looking at every two of them until nothing changes."""
    shared = [
        [word for word in one.split() if word in set(other.split())]
        for one, other in zip(more, less, strict=True)
    ]
    group = list(range(len(more)))
    changed = True
    while changed:
        changed = False
        for i in range(len(more)):
            for j in range(len(more)):
                a, b = set(shared[i]), set(shared[j])
                near = len(a & b) >= 0.5 * len(a | b) and a and b
                if (near or (labels[i] is not None and labels[i] == labels[j])) and group[i] != group[j]:
                    group[max(i, j)] = group[min(i, j)] = min(group[i], group[j])
                    changed = True
    return group


def test_links_are_those_of_every_two_pairs():
    rng = np.random.default_rng(0)
    more, less, labels = [], [], []
    for pair in range(150):
        words = [str(word) for word in rng.choice(WORDS, rng.integers(2, 7), replace=False)]
        place = int(rng.integers(len(words) + 1))
        more.append(" ".join([*words[:place], "foxes", *words[place:]]))
        less.append(" ".join([*words[:place], "geese", *words[place:]]))
        labels.append(f"comment {pair // 2}" if pair % 50 < 4 else None)
    names = phrase_clusters(more, less, same=labels)
    expected = slow(more, less, labels)
    assert 5 < len(set(expected)) < 140
    assert [names.index(name) for name in names] == [expected.index(group) for group in expected]
    order = np.random.default_rng(1).permutation(150)
    again = phrase_clusters(
        *([side[i] for i in order] for side in (more, less)), same=[labels[i] for i in order]
    )
    assert again == [names[i] for i in order]


def test_a_slot_stands_where_the_sentences_differ_whatever_case_and_points():
    more = ["All OLD cats sing well!", "old cats sing well.", "One fox.", "same words here", None, "foxes"]
    less = [
        "All young cats sing well",
        "young cats sing, well",
        "One goose.",
        "same words here",
        "x",
        "geese",
    ]
    assert phrase_clusters(more, less) == [
        "_ cats sing well", "_ cats sing well", "one _", "same words here", None, None,
    ]  # fmt: skip
    assert phrase_clusters([], []) == []


def test_types_are_kept_apart_and_pairs_without_texts_are_alone():
    frame = pl.DataFrame(
        {
            "kind": ["a", "b", "a"],
            "sent_more": ["the old sing"] * 2 + [None],
            "sent_less": ["the new sing"] * 3,
        }
    )
    assert phrases_of(frame, "kind").to_list() == ["the _ sing", "the _ sing", "pair 2"]
    bare = pl.DataFrame({"kind": ["a"], "pair_id": ["seven"]})
    assert phrases_of(bare, "kind").to_list() == ["pair seven"]
