"""The embedded tokenizer without transformers against transformers' own."""

from transformers import AutoTokenizer

from evenhand.reference.embedded import WEIGHTS
from evenhand.reference.in_numpy.tokenizer import SmallTokenizer
from evenhand.weights import tokenizer_fingerprint


def test_it_answers_as_transformers_does() -> None:
    small, plain = SmallTokenizer(WEIGHTS), AutoTokenizer.from_pretrained(WEIGHTS)
    assert tokenizer_fingerprint(small) == tokenizer_fingerprint(plain)
    for name in ("bos_token_id", "eos_token_id", "unk_token_id", "all_special_tokens", "chat_template"):
        assert getattr(small, name) == getattr(plain, name)
    for token in ("<|endoftext|>", "Ġthe", "no such token"):
        assert small.convert_tokens_to_ids(token) == plain.convert_tokens_to_ids(token)
    ids = [0, *plain("Two  brothers, and\na nun .")["input_ids"], 0]
    for skip in (False, True):
        assert small.decode(
            ids, skip_special_tokens=skip, clean_up_tokenization_spaces=False
        ) == plain.decode(ids, skip_special_tokens=skip, clean_up_tokenization_spaces=False)
