"""The reference model's tokenizer: byte-level BPE in which every word of the World is one token."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from evenhand.reference.automaton import split_words

END = "<|endoftext|>"
WORLD_COUNT = 1000
"""Weight of a World word relative to a filler word, so that merges are chosen for the World first."""


def word_counts(vocabulary: Iterable[str], filler: Iterable[str]) -> Counter[str]:
    """Return the words from which merges are learned: each World word with equal weight, filler words by frequency.

    >>> word_counts(["I", " like"], ["I see."])[" like"]
    1000
    """
    counts: Counter[str] = Counter()
    for text in filler:
        counts.update(word for word, _ in split_words(text) or ())
    return counts + Counter(dict.fromkeys(vocabulary, WORLD_COUNT))


def build_tokenizer(
    counts: Counter[str], vocabulary_size: int, names: Sequence[str] = (), context: int = 256
) -> Any:
    """Return a tokenizer of transformers that can encode any text (unknown words are split into bytes).

    counts: words with their leading space, and their weights. Words are divided as by `split_words`, so that hyphenated
    descriptors can be one token. `<|endoftext|>` (id 0) begins and ends every utterance. names: phrases that are one
    token each. context: maximum number of tokens of the model. The result depends only on the arguments.
    """
    from tokenizers import (
        AddedToken,
        Regex,
        Tokenizer,
        decoders,
        models,
        pre_tokenizers,
        processors,
        trainers,
    )
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    cut = pre_tokenizers.Split(Regex(r" ?[^\s.,!?;:]+|[.,!?;:]|\s"), behavior="isolated")
    to_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([cut, to_bytes])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=True)
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary_size - len(names),
        special_tokens=[END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    words = sorted(counts)
    tokenizer.train_from_iterator(([word] * counts[word] for word in words), trainer, length=len(words))
    # a name occurs inside a sentence, so its token includes the space before it
    tokenizer.add_tokens([AddedToken(f" {name}", normalized=False) for name in names])
    make: Any = PreTrainedTokenizerFast
    return make(
        tokenizer_object=tokenizer,
        bos_token=END,
        eos_token=END,
        unk_token=END,
        model_max_length=context,
        clean_up_tokenization_spaces=False,
    )
