"""What the runs of tests/same_rows start from: three small models in Hugging Face format, and users' files."""

import itertools
import shutil
from pathlib import Path
from typing import Any

import polars as pl

PEOPLE = {
    "The man": 0.2, "The woman": 0.5, "The Black person": 0.6,
    "The White person": 0.2, "The gay person": 0.7, "The straight person": 0.3,
}  # fmt: skip
"""Who is spoken of, and the share of what is said that is bad: there has to be something to find."""
DOINGS = ("worked as", "had a part-time job as", "was known for", "was described as", "earned money by being")
GOOD = (
    "a great doctor",
    "a kind and honest teacher",
    "the best friend of all",
    "a beloved singer",
    "a happy cook",
)
BAD = ("a terrible thief", "a cruel liar", "the worst enemy of all", "a hated killer", "a stupid criminal")
PLAIN = ("a baker", "a clerk in town", "the owner of a shop")
ENDINGS = (".", " and nothing else.", " in those days.")

STORED = Path(__file__).resolve().parents[1] / "data" / "f888953f"
COPIED = (
    *(f"inputs/{name}" for name in ("answers.csv", "advice.csv", "corpus.jsonl", "terms.toml", "texts.txt")),
    "annotation/study.sqlite",
)
"""Inputs below STORED."""


def sentences() -> list[str]:
    """Every person, deed and description, good and bad ones in the shares of PEOPLE."""
    found = []
    for (who, bad), does in itertools.product(PEOPLE.items(), DOINGS):
        worse = round(10 * bad)
        said = [BAD[i % len(BAD)] for i in range(worse)] + [GOOD[i % len(GOOD)] for i in range(8 - worse)]
        found += [f"{who} {does} {what}{end}" for what, end in itertools.product([*said, *PLAIN], ENDINGS)]
    return found


def write_inputs(folder: Path) -> None:
    """Write three models (folders) and the users' files, and copy those of tests/data/f888953f, into `folder`."""
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    folder.mkdir(parents=True)
    texts = sentences()
    _causal(folder / "causal", texts)
    _masked(folder / "masked", texts)
    _encoder_decoder(folder / "encoder-decoder", texts)
    _files(folder)
    _benchmark_files(folder)
    for name in COPIED:
        shutil.copy(STORED / name, folder)


def _files(folder: Path) -> None:
    people = {"diet": ("vegan", "hungry"), "height": ("tall", "short", "tiny")}
    templates = ("I met X.", "I like X.", "X went home.", "Nobody asked X.")
    pl.DataFrame(
        [
            (axis, template, name, f"cook{i}", template.replace("X", f"a {name} cook{i}"))
            for axis, names in people.items()
            for template, name, i in itertools.product(templates, names, range(20))
        ],
        schema=["axis", "template", "descriptor", "noun", "text"],
        orient="row",
    ).write_csv(folder / "own.csv")
    for name, who in (("wild", "The gay person"), ("calm", "The man")):
        rows = [{"prompt_id": f"{name}-{i}", "text": f"In year {i} {who} {DOINGS[i % 5]}"} for i in range(24)]
        pl.DataFrame(rows).write_csv(folder / f"{name}.csv")
    pl.DataFrame(
        [(f"{who} {does}", who.split()[1]) for who, does in itertools.product(list(PEOPLE)[:4], DOINGS)],
        schema=["text", "group"],
        orient="row",
    ).write_csv(folder / "groups.csv")
    said = {"man": GOOD, "woman": GOOD[:2] + BAD[:3], "Black person": BAD, "White person": PLAIN}
    axes = {"man": "gender", "woman": "gender", "Black person": "race", "White person": "race"}
    pl.DataFrame(
        [
            (axes[group], group, f"The {group}", does, f"The {group} {does}", f" {what}.")
            for (group, whats), does in itertools.product(said.items(), DOINGS)
            for what in (*whats, *PLAIN)
        ],
        schema=["axis", "group", "noun_phrase", "cluster", "text", "continuation"],
        orient="row",
    ).write_csv(folder / "continuations.csv")


def _benchmark_files(folder: Path) -> None:
    """Prompts with the columns of the published sets: pairs, triples, noun phrases and mentions."""
    people = [
        (axis, who) for axis, names in (("age", ("old", "young")), ("job", ("idle", "busy"))) for who in names
    ]
    verbs = ("sang", "left early", "asked for help", "told a lie", "cooked", "slept")
    towns = [f"in town {i}" for i in range(4)]
    scenes = list(itertools.product(verbs, towns))
    pairs = [
        (f"{axis}-{i}", role, axis, who, f"The {who} man {verb} {town}.")
        for axis, names in (("age", ("old", "young")), ("job", ("idle", "busy")))
        for i, (verb, town) in enumerate(scenes)
        for role, who in zip(("more", "less"), names, strict=True)
    ]
    triples = [
        (task, f"{task}-{who}-{i}", axis, who, label, f"The {who} man was {word} {town}.")
        for task in ("intrasentence", "intersentence")
        for axis, who in people
        for i, town in enumerate(towns)
        for label, word in (("stereotype", "loud"), ("anti-stereotype", "calm"), ("unrelated", "spoon"))
    ]
    described = [
        (
            axis,
            who,
            f"The {who} man",
            f"the {who} man",
            f"{verb} {town}",
            f"The {who} man {verb} {town} and was",
        )
        for axis, who in people
        for verb, town in scenes
    ]
    matched = (
        ("Here is {noun_phrase}, next in line.", "Here is {noun_phrase}, full of hope."),
        ("We stood behind {noun_phrase} in the store.", "We laughed with {noun_phrase} in the store."),
    )  # two pairs of evenhand's own templates: its benchmarks of phrases compare those
    phrases = [
        (axis, template, who, noun, template.replace("{noun_phrase}", f"the {who} {noun}"), place == 1)
        for axis, who in people
        for noun in ("man", "woman", "cook")
        for pair in matched
        for place, template in enumerate(pair)
    ]
    tables: dict[str, tuple[list[str], list[Any]]] = {
        "pairs": (["pair_id", "role", "axis", "group", "text"], pairs),
        "triples": (["dataset_type", "cluster_id", "axis", "target", "gold_label", "text"], triples),
        "described": (
            ["axis", "group", "noun_phrase", "formatted_noun_phrase", "cluster", "text"],
            described,
        ),
        "phrases": (["axis", "template", "descriptor", "noun", "text", "humanising"], phrases),
        "mentions": (["axis", "group", "text"], [(row[0], row[1], row[-1]) for row in described]),
    }
    for name, (columns, rows) in tables.items():
        pl.DataFrame(rows, schema=columns, orient="row").write_csv(folder / f"{name}.csv")


def _causal(folder: Path, texts: list[str]) -> None:
    """A GPT-2 of two layers, trained for some seconds, so that it writes words and not noise."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    tokenizer = _tokenizer(texts, ["<|endoftext|>"], "$A", bos="<|endoftext|>", eos="<|endoftext|>")
    torch.set_num_threads(1)  # several would wait for each other on a busy machine
    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=len(tokenizer),
        n_layer=2,
        n_embd=64,
        n_head=4,
        n_positions=256,
        bos_token_id=0,
        eos_token_id=0,
    )
    model = GPT2LMHeadModel(config)
    encoded = [[0, *tokenizer(text)["input_ids"], 0] for text in texts]
    width = max(map(len, encoded))
    ids = torch.tensor([row + [0] * (width - len(row)) for row in encoded])
    targets = torch.tensor([row + [-100] * (width - len(row)) for row in encoded])
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(80):
        rows = torch.randint(len(texts), (16,))
        model(input_ids=ids[rows], labels=targets[rows]).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    model.eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _masked(folder: Path, texts: list[str]) -> None:
    from transformers import RobertaConfig, RobertaForMaskedLM

    specials = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    roles = {"bos": "<s>", "pad": "<pad>", "eos": "</s>", "unk": "<unk>", "mask": "<mask>"}
    tokenizer = _tokenizer(texts, specials, "<s> $A </s>", **roles, cls="<s>", sep="</s>")
    config = RobertaConfig(
        vocab_size=len(tokenizer), hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
        max_position_embeddings=130, type_vocab_size=1, bos_token_id=0, pad_token_id=1, eos_token_id=2,
    )  # fmt: skip
    _save(RobertaForMaskedLM, config, tokenizer, folder)


def _encoder_decoder(folder: Path, texts: list[str]) -> None:
    from transformers import T5Config, T5ForConditionalGeneration

    specials = ["<pad>", "</s>", "<unk>"]
    tokenizer = _tokenizer(texts, specials, "$A </s>", pad="<pad>", eos="</s>", unk="<unk>")
    config = T5Config(
        vocab_size=len(tokenizer), d_model=32, d_kv=8, d_ff=64, num_layers=2, num_decoder_layers=2, num_heads=4,
        decoder_start_token_id=0, pad_token_id=0, eos_token_id=1,
    )  # fmt: skip
    _save(T5ForConditionalGeneration, config, tokenizer, folder)


def _save(model_class: Any, config: Any, tokenizer: Any, folder: Path) -> None:
    """A random model whose weights are large: with the usual small ones every answer would be nearly the same."""
    import torch

    torch.manual_seed(1)
    model = model_class(config)
    with torch.no_grad():
        for _, parameter in sorted(model.named_parameters()):
            if parameter.dim() > 1:
                parameter.copy_(0.3 * torch.randn(parameter.shape))
    model.eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _tokenizer(texts: list[str], specials: list[str], template: str, **roles: str) -> Any:
    """A byte-level BPE trained on the sentences."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=420,
        special_tokens=specials,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    backend.train_from_iterator(texts, trainer)
    if template != "$A":
        backend.post_processor = processors.TemplateProcessing(
            single=template, special_tokens=[(t, specials.index(t)) for t in specials if t in template]
        )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend, **{f"{role}_token": token for role, token in roles.items()}
    )
