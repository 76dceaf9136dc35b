"""Tokenised examples and the batches they are put into."""

import numpy as np
import pytest

from evenhand.mitigations.training import IGNORED, Examples, encode_texts
from evenhand.reference.embedded import WEIGHTS
from evenhand.schema import DataError
from evenhand.weights import load_tokenizer


def ints(*values: object) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def test_a_batch_is_padded_and_knows_where_its_marks_are() -> None:
    places = [np.array([[1, 9], [2, 8]]), np.zeros((0, 2), dtype=np.int64), np.array([[0, 7]])]
    examples = Examples([ints(4, 5, 6), ints(7, 8), ints(1, 2, 3, 4)], marks={"term": places},
                        values={"gold": np.array([0.0, 1.0, 2.0])})  # fmt: skip
    batch = examples.batch([2, 0, 1], pad=0)
    assert batch.input_ids.tolist() == [[1, 2, 3, 4], [4, 5, 6, 0], [7, 8, 0, 0]]
    assert batch.attention_mask.sum(1).tolist() == [4, 3, 2]
    assert batch.labels[1].tolist() == [4, 5, 6, IGNORED]
    assert batch.marks["term"].tolist() == [[0, 0, 7], [1, 1, 9], [1, 2, 8]]
    assert batch.values["gold"].tolist() == [2.0, 0.0, 1.0]
    assert batch.n_learned == 3 + 2 + 1


def test_labels_of_ones_own_are_kept() -> None:
    examples = Examples([ints(4, 5, 6)], labels=[ints(IGNORED, IGNORED, 6)])
    assert examples.batch([0], 0).n_learned == 1


def test_the_digest_is_of_everything() -> None:
    one = Examples([ints(1, 2)])
    others = [Examples([ints(2, 1)]), Examples([ints(1), ints(2)]), Examples([ints(1, 2)], [ints(1, 3)]),
              one.with_marks(term=[np.zeros((0, 2), dtype=np.int64)])]  # fmt: skip
    assert len({example.digest() for example in (one, *others)}) == 5
    assert one.digest() == Examples([ints(1, 2)]).digest()


def test_texts_are_cut_and_put_between_tokens() -> None:
    tokenizer = load_tokenizer(WEIGHTS)
    plain = tokenizer("I admire you.")["input_ids"]
    examples = encode_texts(tokenizer, ["I admire you."], longest=20, start=[3], end=[5])
    assert examples.ids[0].tolist() == [3, *plain, 5]
    assert encode_texts(tokenizer, ["I admire you."], longest=3, start=[3]).ids[0].tolist() == [3, *plain[:2]]


@pytest.mark.parametrize(
    ("texts", "said"), [([], "There are no training examples"), (["I admire you.", "I"], "1 of 2 texts")]
)
def test_nothing_to_learn_is_refused(texts: list[str], said: str) -> None:
    with pytest.raises(DataError, match=said):
        encode_texts(load_tokenizer(WEIGHTS), texts, longest=9)
