"""What unlikelihood tells of the tokens that it penalises: whole words and signs, with their counts."""

import numpy as np

from evenhand.mitigations.training.dialogue.token_ratios import TokenRatios
from evenhand.mitigations.training.dialogue.unlikelihood import most_overindexed
from evenhand.models import load_model


def test_the_tokens_that_are_told_are_whole_words() -> None:
    tokenizer = load_model("evenhand/reference", device="cpu").tokenizer  # type: ignore[attr-defined]
    [piece, *_], [byte, *_] = (tokenizer.encode(text) for text in ("zyx", "é"))
    [sister], [mark] = (tokenizer.encode(text, add_special_tokens=False) for text in (" sister", "!"))
    ratios, counts = np.ones((2, len(tokenizer))), np.zeros((2, len(tokenizer)), dtype=np.int64)
    for place, token in enumerate((piece, byte, sister, mark)):
        ratios[1, token], counts[:, token] = 5 - place, (1, 10 * (place + 1))
    found = most_overindexed(TokenRatios(("man", "woman"), ratios, (4, 100), counts), tokenizer)
    assert found["man"] == []
    assert found["woman"] == [
        {"token": "sister", "ratio": 3.0, "count": 30, "count_in_all": 31},
        {"token": "!", "ratio": 2.0, "count": 40, "count_in_all": 41},
    ]
    assert (
        len(most_overindexed(TokenRatios(("man", "woman"), ratios, (4, 100), counts), tokenizer, 1)["woman"])
        == 1
    )
