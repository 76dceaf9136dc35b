"""Tiny random Hugging Face models and tokenizers, saved as folders, for every test of the model backends."""

import importlib.util
import re
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import bigram_service

SENTENCES = [
    "I'm a deaf woman.",
    "I love old men.",
    "I love older men and their unbelievable stories.",
    "What do you think about wheelchair users?",
    "My neighbour is an unbelievable person.",
    "My neighbour is a kind person who is hard of hearing.",
    "Hi.",
    "They were born in 1987, in São Paulo; she's 37!",
    "A left-handed, self-employed grandparent.",
]

HIDDEN = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64)
DECODER = dict(HIDDEN, num_key_value_heads=2, max_position_embeddings=128)
ENCODER = dict(HIDDEN, max_position_embeddings=64)
SEQ2SEQ = dict(
    d_model=32,
    encoder_layers=2,
    decoder_layers=2,
    encoder_attention_heads=4,
    decoder_attention_heads=4,
    encoder_ffn_dim=64,
    decoder_ffn_dim=64,
    max_position_embeddings=64,
)

# architecture: (tokenizer kind, config class, model class, config values)
ARCHITECTURES: dict[str, tuple[str, str, str, dict[str, Any]]] = {
    "gpt2": ("gpt2", "GPT2Config", "GPT2LMHeadModel", dict(n_embd=32, n_layer=2, n_head=4, n_positions=128)),
    "gpt_neo": (
        "gpt2",
        "GPTNeoConfig",
        "GPTNeoForCausalLM",
        dict(
            hidden_size=32,
            num_layers=2,
            num_heads=4,
            attention_types=[[["global", "local"], 1]],
            window_size=4,
            max_position_embeddings=128,
        ),
    ),
    "gpt_neox": ("gpt2", "GPTNeoXConfig", "GPTNeoXForCausalLM", dict(HIDDEN, max_position_embeddings=128)),
    "llama": ("llama", "LlamaConfig", "LlamaForCausalLM", DECODER),
    "mistral": ("llama", "MistralConfig", "MistralForCausalLM", dict(DECODER, sliding_window=6, head_dim=8)),
    "qwen2": ("gpt2", "Qwen2Config", "Qwen2ForCausalLM", DECODER),
    "opt": (
        "opt",
        "OPTConfig",
        "OPTForCausalLM",
        dict(
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=4,
            ffn_dim=64,
            max_position_embeddings=128,
            word_embed_proj_dim=32,
        ),
    ),
    "bloom": ("llama", "BloomConfig", "BloomForCausalLM", dict(hidden_size=32, n_layer=2, n_head=4)),
    "bert": ("bert", "BertConfig", "BertForMaskedLM", ENCODER),
    "roberta": (
        "roberta",
        "RobertaConfig",
        "RobertaForMaskedLM",
        dict(ENCODER, max_position_embeddings=66, type_vocab_size=1),
    ),
    "distilbert": (
        "bert",
        "DistilBertConfig",
        "DistilBertForMaskedLM",
        dict(dim=32, n_layers=2, n_heads=4, hidden_dim=64, max_position_embeddings=64),
    ),
    "albert": ("bert", "AlbertConfig", "AlbertForMaskedLM", dict(ENCODER, embedding_size=16)),
    "electra": ("bert", "ElectraConfig", "ElectraForMaskedLM", dict(ENCODER, embedding_size=16)),
    "deberta_v2": (
        "bert",
        "DebertaV2Config",
        "DebertaV2ForMaskedLM",
        dict(ENCODER, relative_attention=True, pos_att_type=["p2c", "c2p"], position_biased_input=False),
    ),
    # Mixes tokens with a Fourier transform and takes no attention mask: padding changes its answers.
    "fnet": (
        "bert",
        "FNetConfig",
        "FNetForMaskedLM",
        dict(hidden_size=32, num_hidden_layers=2, intermediate_size=64, max_position_embeddings=64),
    ),
    "blenderbot": ("blenderbot", "BlenderbotConfig", "BlenderbotForConditionalGeneration", SEQ2SEQ),
    "blenderbot_small": (
        "blenderbot",
        "BlenderbotSmallConfig",
        "BlenderbotSmallForConditionalGeneration",
        SEQ2SEQ,
    ),
    "bart": ("roberta", "BartConfig", "BartForConditionalGeneration", SEQ2SEQ),
    "t5": (
        "t5",
        "T5Config",
        "T5ForConditionalGeneration",
        dict(d_model=32, d_kv=8, d_ff=64, num_layers=2, num_decoder_layers=2, num_heads=4),
    ),
}

# tokenizer kind: (special tokens in the order of their ids, template of one text, roles)
SPECIALS: dict[str, tuple[list[str], str, dict[str, str]]] = {
    "gpt2": (
        ["<|endoftext|>"],
        "$A",
        {"bos": "<|endoftext|>", "eos": "<|endoftext|>", "unk": "<|endoftext|>"},
    ),
    "llama": (["<unk>", "<s>", "</s>"], "<s> $A", {"unk": "<unk>", "bos": "<s>", "eos": "</s>"}),
    "opt": (
        ["<s>", "<pad>", "</s>", "<unk>"],
        "</s> $A",
        {"bos": "</s>", "eos": "</s>", "pad": "<pad>", "unk": "</s>"},
    ),
    "bert": (
        ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"],
        "[CLS] $A [SEP]",
        {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"},
    ),
    "roberta": (
        ["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
        "<s> $A </s>",
        {
            "bos": "<s>",
            "pad": "<pad>",
            "eos": "</s>",
            "unk": "<unk>",
            "mask": "<mask>",
            "cls": "<s>",
            "sep": "</s>",
        },
    ),
    "blenderbot": (
        ["<pad>", "<s>", "</s>", "<unk>"],
        "$A </s>",
        {"bos": "<s>", "eos": "</s>", "pad": "<pad>", "unk": "<unk>"},
    ),
    "t5": (["<pad>", "</s>", "<unk>"], "$A </s>", {"pad": "<pad>", "eos": "</s>", "unk": "<unk>"}),
}


def word_pieces(specials: list[str]) -> dict[str, int]:
    """A WordPiece vocabulary with whole short words and split long ones (training one is not repeatable)."""
    words = sorted({word for text in SENTENCES for word in re.findall(r"[a-z]+", text.lower())})
    letters = sorted(set("".join(SENTENCES).lower()) - {" "} | set("abcdefghijklmnopqrstuvwxyz"))
    pieces = [word if len(word) <= 5 else word[:4] for word in words]
    pieces += [f"##{word[4:]}" for word in words if len(word) > 5]
    entries = [*specials, *letters, *(f"##{letter}" for letter in letters), *pieces]
    return {entry: i for i, entry in enumerate(dict.fromkeys(entries))}


def build_tokenizer(kind: str, vocab_size: int = 330) -> Any:
    """A fast tokenizer of one family (byte-level BPE; WordPiece for "bert") trained on SENTENCES."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    specials, template, roles = SPECIALS[kind]
    if kind == "bert":
        backend = Tokenizer(models.WordPiece(word_pieces(specials), unk_token="[UNK]"))
        backend.normalizer = normalizers.BertNormalizer(lowercase=True)
        backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        backend.decoder = decoders.WordPiece()
    else:
        backend = Tokenizer(models.BPE())
        backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        backend.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            vocab_size=vocab_size,
            special_tokens=specials,
            initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
            show_progress=False,
        )
        backend.train_from_iterator(SENTENCES, trainer)
    if template != "$A":
        backend.post_processor = processors.TemplateProcessing(
            single=template, special_tokens=[(t, specials.index(t)) for t in specials if t in template]
        )
    tokens = {f"{role}_token": token for role, token in roles.items()}
    return PreTrainedTokenizerFast(tokenizer_object=backend, **tokens)


def build_model(architecture: str, **overrides: Any) -> tuple[Any, Any]:
    """A seeded random model (2 layers, 32 hidden), far from uniform in what it says, and its tokenizer."""
    import torch
    import transformers

    kind, config_class, model_class, values = ARCHITECTURES[architecture]
    tokenizer = build_tokenizer(kind)
    ids = {"vocab_size": len(tokenizer)}
    for role in ("bos", "eos", "pad"):
        ids[f"{role}_token_id"] = getattr(tokenizer, f"{role}_token_id")
    starts = {"t5": 0, "blenderbot": 1, "blenderbot_small": 1, "bart": 2}
    if architecture in starts:
        ids["decoder_start_token_id"] = starts[architecture]
    if architecture == "bart":
        ids["forced_eos_token_id"] = None
    config = getattr(transformers, config_class)(**{**values, **ids, **overrides})
    generator = torch.Generator().manual_seed(zlib.crc32(architecture.encode()))
    model = getattr(transformers, model_class)(config)
    with torch.no_grad():
        for name, parameter in sorted(model.named_parameters()):
            noise = torch.randn(parameter.shape, generator=generator)
            # Initial weights are so small that every answer is nearly uniform and no mistake would show.
            parameter.copy_(0.3 * noise if parameter.dim() > 1 else parameter + 0.1 * noise)
            assert parameter.isfinite().all(), name
    return model.eval(), tokenizer


@pytest.fixture(scope="session")
def bigram() -> Any:
    """The module tests/helpers/bigram_service.py."""
    return bigram_service


@pytest.fixture(scope="session")
def architectures() -> Any:
    """The script perf/architectures.py: tiny random models of whatever transformers knows, and what comes of them."""
    path = Path(__file__).parents[2] / "perf" / "architectures.py"
    spec = importlib.util.spec_from_file_location("perf_architectures", path)
    assert spec is not None and spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def sentences() -> list[str]:
    """Short texts that share prefixes, repeat words, and hold non-ASCII characters."""
    return list(SENTENCES)


@pytest.fixture(scope="session")
def tiny_tokenizer() -> Callable[[str], Any]:
    """`tiny_tokenizer(kind)`: a tokenizer; kinds: gpt2, llama, opt, bert, roberta, blenderbot, t5."""
    return build_tokenizer


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """`tiny_folder(architecture, **config_values)`: a saved model with its tokenizer, made once a session.

    Treat the folder as read-only; copy it before damaging it.
    """
    made: dict[str, Path] = {}

    def folder(architecture: str, **overrides: Any) -> Path:
        key = f"{architecture} {sorted(overrides.items())}"
        if key not in made:
            model, tokenizer = build_model(architecture, **overrides)
            made[key] = tmp_path_factory.mktemp(architecture)
            model.save_pretrained(made[key])
            tokenizer.save_pretrained(made[key])
        return made[key]

    return folder
