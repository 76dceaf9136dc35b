"""Files and folders that are wrong in one way each, laid out once for all command lines and calls."""

import atexit
import gzip
import json
import os
import shutil
import struct
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

from tests.helpers.terms import TEAMS

DEEP = 30_000
TEXTS = ["I met a tall cook.", "I met a short cook."]

CSV: dict[str, bytes] = {
    "empty": b"",
    "blank": b"\n\n  \n",
    "heading": b"text,axis,descriptor,noun,template\n",
    "utf16": "text,axis\nI met a tall cook.,height\n".encode("utf-16"),
    "latin1": "text,axis\nI met a café owner.,height\n".encode("latin-1"),
    "picture": b"\x89PNG\r\n\x1a\n" + bytes(range(256)),
    "semicolons": b"text;axis;descriptor\nI met a tall cook.;height;tall\n",
    "tabs": b"text\taxis\tdescriptor\nI met a tall cook.\theight\ttall\n",
    "twice": b"text,axis,axis\nI met a tall cook.,height,weight\n",
    "ragged": b"text,axis\nI met a tall cook.,height,tall,extra\n",
    "quote": b'text,axis\n"I met a tall cook.,height\nno end,x\n',
    "textless": b"sentence,axis,descriptor\nI met a tall cook.,height,tall\n",
    "hollow": b"text,axis,descriptor,noun,template\n,height,tall,cook,t\n  ,height,short,cook,t\n",
    "same-ids": b"prompt_id,text\na,I met a tall cook.\na,I met a short cook.\n",
    "span": b"text,span_start,span_end\nI met a tall cook.,8,999\n",
    "span-back": b"text,span_start,span_end\nI met a tall cook.,-3,2\n",
    "span-words": b"text,span_start,span_end\nI met a tall cook.,one,two\n",
}
"""Wrong as prompts, as responses and as anything else that is a table."""

JSON_LINES: dict[str, bytes] = {
    "deep": b'{"text": ' + b"[" * DEEP + b"]" * DEEP + b"}\n",
    "surrogate": b'{"text": "I met a \\ud800 cook."}\n',
    "rows-are-lists": b'["I met a tall cook."]\n',
    "rows-are-words": b'"I met a tall cook."\n',
    "cut": b'{"text": "I met a tall cook."}\n{"text": "I met',
    "list": b'{"text": ["I met a tall cook."]}\n',
    "object": b'{"text": {"of": "I met a tall cook."}}\n',
    "nothing": b"\n\n",
    "null": b'{"text": null}\n{"text": null}\n',
    "utf16-lines": '{"text": "I met a tall cook."}\n'.encode("utf-16"),
    "latin1-lines": '{"text": "I met a café owner."}\n'.encode("latin-1"),
    "no-json": b"text: I met a tall cook.\n",
    "keys-twice": b'{"text": "I met a tall cook.", "text": "I met a short cook."}\n',
}

JSON: dict[str, bytes] = {
    "deep": b"[" * DEEP + b"]" * DEEP,
    "deep-object": b'{"a":' * DEEP + b"1" + b"}" * DEEP,
    "cut": b'{"version": 1,',
    "empty": b"",
    "list": b"[1, 2]",
    "word": b'"instruction"',
    "utf16": '{"version": 1}'.encode("utf-16"),
    "surrogate": b'{"kind": "\\ud800", "text": "\\ud800", "version": 1}',
    "huge-number": b'{"version": ' + b"9" * 6000 + b"}",
    "null": b"null",
}

YAML: dict[str, bytes] = {
    "tabs": b"suite:\n\t- quick\n",
    "deep": b"[" * DEEP,
    "laughs": b"a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: [*b,*b,*b,*b,*b,*b,*b,*b]\n",
    "python": b"model: !!python/object/apply:os.system ['true']\n",
    "utf16": "suite: quick\n".encode("utf-16-le"),
    "latin1": "system: caf\u00e9\n".encode("latin-1"),
    "list": b"- suite\n- quick\n",
    "number": b"42\n",
    "twice": b"suite: quick\nsuite: robbie\n",
    "binary": bytes(range(256)),
    "date": b"limit: 2020-01-01\n",
    "nan": b"margin: .nan\n",
    "infinite": b"alpha: .inf\n",
    "huge": b"seed: 99999999999999999999999999\n",
    "below": b"seed: -1\n",
    "nested": b"margin: {of: {everything: 1}}\n",
    "null-key": b"null: 1\n",
    "list-key": b"? [a, b]\n: 1\n",
    "alias": b"model: *nobody\n",
    "surrogate": b'system: "\\ud800"\nchat: true\n',
}

TERMS = TEAMS.encode()
"""A specification that is right."""

TOML: dict[str, bytes] = {
    "empty": b"",
    "cut": TERMS[:60],
    "binary": bytes(range(256)),
    "utf16": TERMS.decode().encode("utf-16"),
    "latin1": TERMS.replace(b"teams", b"caf\xe9"),
    "deep": b"x = " + b"[" * DEEP + b"]" * DEEP,
    "huge-number": b"x = " + b"9" * 6000,
    "bias-is-number": TERMS.replace(b'"teams"', b"5"),
    "bias-is-path": TERMS.replace(b"teams", b"../../teams"),
    "bias-is-root": TERMS.replace(b"teams", b"/etc/teams"),
    "bias-is-blank": TERMS.replace(b"teams", b"  "),
    "bias-is-long": TERMS.replace(b"teams", b"x" * 300),
    "bias-obeyed": TERMS.replace(b"teams", b"\\u001b[31mred\\u202e"),
    "group-is-path": TERMS.replace(b'"reds"\ndominant', b'"../reds"\ndominant'),
    "biasless": TERMS.replace(b'bias = "teams"\n', b""),
    "tableless": TERMS.partition(b"[filtering]")[0],
    "unknown-key": TERMS + b'moon = "full"\n',
    "table-is-text": b'retrieval = "all"\n' + TERMS.partition(b"[retrieval]")[0],
    "no-targets": TERMS.replace(b"""[['"reds are"', '"blues are"']]""", b"[]"),
    "flat-targets": TERMS.replace(b"""[['"reds are"', '"blues are"']]""", b'["reds are", "blues are"]'),
    "blank-pairs": TERMS.replace(b'[["reds", "blues"]]', b'[["", ""]]'),
    "triples": TERMS.replace(b'[["reds", "blues"]]', b'[["reds", "blues", "greens"]]'),
    "number-pairs": TERMS.replace(b'[["reds", "blues"]]', b"[[1, 2]]"),
    "share-nan": TERMS + b"[splits]\ntrain_share = nan\n",
    "share-one": TERMS + b"[splits]\ntrain_share = 1\n",
    "foreign-exception": TERMS + b'one_way = [{ pair = ["a", "b"], where = ["c"] }]\n',
    "unknown-axis": TERMS + b'axis = "moon"\n',
    "pieces-are-words": TERMS + b'[pieces]\nlmd_targets = "all"\n',
    "dates": TERMS.replace(b'"teams"', b"2020-01-01"),
}
"""Wrong as a specification of who is compared."""

TEXTS_ONLY: dict[str, bytes] = {
    "empty": b"",
    "blank": b" \n\t\n",
    "binary": bytes(range(256)),
    "latin1": b"the reds like caf\xe9s\n" * 40,
    "utf16": ("the reds are loud\n" * 40).encode("utf-16"),
    "one-line": b"the reds are loud\n",
    "no-term": b"nobody is named here\n" * 40,
    "nan": b"nan\n" * 40,
    "zeros": b"\0" * 4000,
}
"""Wrong as texts to train on."""

DUMPS: dict[str, bytes] = {
    "empty.jsonl": b"",
    "empty.zst": b"",
    "empty.gz": b"",
    "no-zst.zst": b'{"id": "a", "body": "the reds are loud"}\n',
    "no-gzip.gz": b'{"id": "a", "body": "the reds are loud"}\n',
    "cut.gz": gzip.compress(b'{"id": "a", "body": "somebody sang"}\n' * 500, mtime=0)[:40],
    "cut.zst": b"\x28\xb5\x2f\xfd\x04\x58",
    "magic.zst": b"\x28\xb5\x2f\xfd" + b"\xff" * 64,
    "picture.jsonl": b"\x89PNG\r\n\x1a\n" + bytes(range(256)),
    "other-fields.jsonl": b'{"name": "a", "text": "the reds are loud"}\n' * 9,
    "numbers.jsonl": b'{"id": 5, "body": 7}\n{"id": null, "body": null}\n{"id": [], "body": {}}\n',
    "lists.jsonl": b'["the reds are loud"]\n' * 5,
    "deep.jsonl": b'{"id": "a", "body": ' + b"[" * DEEP + b"]" * DEEP + b"}\n",
    "no-line-feed.jsonl": b"x" * (1 << 18),
    "none-suits.jsonl": b'{"id": "a", "body": "somebody sang"}\n' * 9,
    "strange.txt": b'{"id": "a", "body": "the reds are loud"}\n',
}
"""Wrong as dumps of comments."""

LABELS: dict[str, bytes] = {
    "nobody.csv": b"comment,phrase,bias_sent,bias_phrase\nreds are loud,reds are loud,0,0\n",
    "words.csv": b"comment,phrase,bias_sent,bias_phrase\nreds are loud,reds are loud,yes,no\n",
    "numbers.csv": b"comment,phrase,bias_sent,bias_phrase\nreds are loud,reds are loud,nan,9e999\n",
    "one.csv": b"comment,phrase,bias_sent,bias_phrase\nreds are loud,reds are loud,1,1\n",
    "hollow.csv": b"comment,phrase,bias_sent,bias_phrase\n" + b",,1,1\n" * 9,
    "zeros.csv": b"comment,phrase,bias_sent,bias_phrase\n\0\0\0,a,1,1\n",
    "wide.csv": b"comment,phrase,bias_sent,bias_phrase\n" + b"x" * 200_000 + b",a,1,1\n",
    "ragged.csv": b"comment,phrase,bias_sent,bias_phrase\na,b,1,1,2,3\n",
    "twice.csv": b"comment,phrase,bias_sent,bias_phrase,phrase\n" + b"a,reds,1,1,b\n" * 9,
    "quote.csv": b'comment,phrase,bias_sent,bias_phrase\n"reds are loud,a,1,1\n',
}
"""Wrong as labelled tables: none of them gives pairs."""

NEST = b"x = " + b"[" * DEEP + b"]" * DEEP


def lay_out(place: Path) -> None:
    """Write all of them below `bad/`, and tables that are right below `good/`."""
    bad, good = place / "bad", place / "good"
    for folder in (bad, good, place / "a-folder", bad / "folder.csv", bad / "folder.jsonl"):
        folder.mkdir(parents=True, exist_ok=True)
    for kinds, ending in ((CSV, "csv"), (JSON_LINES, "jsonl"), (JSON, "json"), (YAML, "yaml")):
        for name, content in kinds.items():
            (bad / f"{name}.{ending}").write_bytes(content)
    (bad / "nest.toml").write_bytes(NEST)
    (bad / "dumps").mkdir()
    (bad / "labels").mkdir()
    for name, content in {
        **{f"{name}.toml": content for name, content in TOML.items()},
        **{f"texts-{name}.txt": content for name, content in TEXTS_ONLY.items()},
        **{f"dumps/{name}": content for name, content in DUMPS.items()},
        **{f"labels/{name}": content for name, content in LABELS.items()},
    }.items():
        (bad / name).write_bytes(content)
    (bad / "dumps" / "pipe.jsonl").symlink_to(bad / "pipe.csv")
    (bad / "loop.csv").symlink_to(bad / "loop.csv")
    (bad / "dangling.csv").symlink_to(bad / "nobody.csv")
    os.mkfifo(bad / "pipe.csv")
    for ending in ("xlsx", "txt", "csv.gz", "CSV.bak", ""):
        (bad / f"ending.{ending}".rstrip(".")).write_bytes(b"text\nI met a tall cook.\n")
    _parquet(bad)
    _tables(good)
    _runs(bad)
    _studies(bad)
    _models(bad)
    _adapters(bad)


def _parquet(bad: Path) -> None:
    right = pl.DataFrame({"text": TEXTS, "axis": ["height"] * 2})
    right.write_parquet(bad / "whole.parquet")
    whole = (bad / "whole.parquet").read_bytes()
    (bad / "cut.parquet").write_bytes(whole[: len(whole) // 2])
    (bad / "magic.parquet").write_bytes(b"PAR1" + b"\xff" * 64 + b"PAR1")
    (bad / "a-csv.parquet").write_bytes(b"text\nI met a tall cook.\n")
    (bad / "zero.parquet").write_bytes(b"")
    right.clear().write_parquet(bad / "rowless.parquet")
    pl.DataFrame({"text": [TEXTS]}).write_parquet(bad / "list.parquet")
    pl.DataFrame({"text": [b"\xff\xfe", b"\x00"]}).write_parquet(bad / "bytes.parquet")
    pl.DataFrame({"text": [{"a": 1}, {"a": 2}]}).write_parquet(bad / "structs.parquet")
    (bad / "whole.parquet").unlink()


def _tables(good: Path) -> None:
    names = [("height", "tall"), ("height", "short"), ("sleep", "rested"), ("sleep", "sleepy")]
    nouns = ["cook", "singer", "painter", "baker", "farmer", "nurse"]
    rows = [
        {
            "axis": axis,
            "descriptor": word,
            "noun": noun,
            "template": "I met X.",
            "text": f"I met a {word} {noun}.",
        }
        for axis, word in names
        for noun in nouns
    ]
    prompts = pl.DataFrame(rows)
    prompts.write_csv(good / "prompts.csv")
    pl.DataFrame({"text": [f"Case {i} of a red-haired man" for i in range(24)]}).write_csv(good / "cases.csv")
    (good / "terms.toml").write_bytes(TERMS)
    said = [f"In town {i} the reds are loud." for i in range(40)]
    (good / "texts.txt").write_text("".join(f"{text}\n" for text in said))
    labels = pl.DataFrame({"comment": said, "phrase": said, "bias_sent": 1, "bias_phrase": 1})
    labels.write_csv(good / "labelled.csv")
    prompts.with_columns(log_likelihood=-10.0 - pl.int_range(pl.len()) % 5, token_count=5).write_csv(
        good / "responses.csv"
    )
    replies = [
        {
            "prompt_id": f"p{i}",
            "text": f"The {g} cook",
            "axis": "age",
            "group": g,
            "continuation": " smiles.",
            "negative": i % 3 == 0,
        }
        for i, g in enumerate(["old", "young", "aged"] * 8)
    ]
    pl.DataFrame(replies).write_csv(good / "continuations.csv")
    pl.DataFrame(replies).drop("negative").write_csv(good / "unjudged.csv")


def _runs(bad: Path) -> None:
    for name, content in JSON.items():
        folder = bad / "runs" / name
        folder.mkdir(parents=True)
        (folder / "manifest.json").write_bytes(content)
    for name, manifest in {
        "newer": {"version": 99},
        "nameless": {"version": 1},
        "odd": {"version": "one"},
    }.items():
        folder = bad / "runs" / name
        folder.mkdir()
        (folder / "manifest.json").write_text(json.dumps(manifest))
    for name, content in JSON.items():
        folder = bad / "built" / name
        folder.mkdir(parents=True)
        (folder / "built.json").write_bytes(content)
    (bad / "runs" / "folder").mkdir()
    (bad / "runs" / "folder" / "manifest.json").mkdir()


STUDIES = {
    "study.json": "options",
    "before-after-options.json": "config",
    "debias.json": "training",
    "redditbias.json": "options",
    "revision.json": "search",
}


def _studies(bad: Path) -> None:
    kinds: dict[str, Any] = {
        "words": {"version": 1, "PART": "all of it"},
        "newer": {"version": 99, "PART": {}},
        "hollow": {"version": 1, "PART": {}},
        "strange": {
            "version": 1,
            "PART": {"model": 5, "method": ["x"], "moon": True, "audit": {}, "config": 3},
        },
        "partless": {"version": 1},
        "true": {"version": True, "PART": {}},
    }
    for file, part in STUDIES.items():
        for name, content in kinds.items():
            folder = bad / "studies" / file.partition(".")[0] / name
            folder.mkdir(parents=True)
            (folder / file).write_text(
                json.dumps({part if k == "PART" else k: v for k, v in content.items()})
            )
        for name, raw in JSON.items():
            folder = bad / "studies" / file.partition(".")[0] / f"json-{name}"
            folder.mkdir(parents=True)
            (folder / file).write_bytes(raw)


GPT2 = {
    "model_type": "gpt2",
    "architectures": ["GPT2LMHeadModel"],
    "vocab_size": 60,
    "n_positions": 64,
    "n_embd": 8,
    "n_layer": 1,
    "n_head": 2,
    "bos_token_id": 0,
    "eos_token_id": 0,
}


def _models(bad: Path) -> None:
    """Folders in Hugging Face format; `make_model` writes one that loads."""
    configs: dict[str, bytes] = {
        **{f"config-{name}": content for name, content in JSON.items()},
        "unknown-type": b'{"model_type": "moonwalker"}',
        "no-type": b"{}",
        "type-is-list": b'{"model_type": ["gpt2"]}',
        "no-weights": json.dumps(GPT2).encode(),
        "below-zero": json.dumps({**GPT2, "n_layer": -1}).encode(),
        "no-heads": json.dumps({**GPT2, "n_head": 0}).encode(),
        "odd-heads": json.dumps({**GPT2, "n_head": 3}).encode(),
        "words-for-numbers": json.dumps({**GPT2, "n_embd": "wide"}).encode(),
        "brings-code": json.dumps({"model_type": "strange", "auto_map": {"AutoConfig": "code.C"}}).encode(),
    }
    for name, content in configs.items():
        folder = bad / "models" / name
        folder.mkdir(parents=True)
        (folder / "config.json").write_bytes(content)
    headers: dict[str, bytes] = {
        "header-huge": struct.pack("<Q", 1 << 62) + b"{}",
        "header-cut": struct.pack("<Q", 100) + b'{"a"',
        "header-words": struct.pack("<Q", 9) + b"not json!",
        "header-list": struct.pack("<Q", 2) + b"[]",
        "header-deep": struct.pack("<Q", 2 * DEEP) + b"[" * DEEP + b"]" * DEEP,
        "header-beyond": _safetensors(
            {"wte": {"dtype": "F32", "shape": [2], "data_offsets": [0, 999]}}, b"\0" * 8
        ),
        "header-dtype": _safetensors(
            {"wte": {"dtype": "X99", "shape": [2], "data_offsets": [0, 8]}}, b"\0" * 8
        ),
        "header-empty": b"",
        "header-short": b"\x01\x02",
        "header-foreign": _safetensors(
            {"moon": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}, b"\0" * 8
        ),
    }
    for name, content in headers.items():
        folder = bad / "models" / name
        make_model(folder, weights=False)
        (folder / "model.safetensors").write_bytes(content)
    tokenizers: dict[str, bytes] = {**{f"tokenizer-{name}": content for name, content in JSON.items()}}
    for name, content in tokenizers.items():
        folder = bad / "models" / name
        make_model(folder)
        (folder / "tokenizer.json").write_bytes(content)
    index = bad / "models" / "index-deep"
    make_model(index, weights=False)
    (index / "model.safetensors.index.json").write_bytes(JSON["deep"])
    index = bad / "models" / "index-lost"
    make_model(index, weights=False)
    (index / "model.safetensors.index.json").write_text('{"weight_map": {"wte": "gone-00001.safetensors"}}')


LORA = {"peft_type": "LORA", "task_type": "CAUSAL_LM", "r": 1, "lora_alpha": 1, "fan_in_fan_out": True}
ADAPTERS: dict[str, dict[str, Any]] = {
    "zero": {**LORA, "target_modules": ["c_attn"]},
    "other-layers": {**LORA, "target_modules": ["moon"]},
    "other-shape": {**LORA, "target_modules": ["c_attn"], "r": 7},
    "huge": {**LORA, "target_modules": ["c_attn"], "r": 10**12},
    "no-rank": {**LORA, "target_modules": ["c_attn"], "r": "one"},
    "other-task": {**LORA, "task_type": "SEQ_CLS"},
    "other-kind": {**LORA, "peft_type": "PROMPT_TUNING"},
    "imports": {
        **LORA,
        "target_modules": ["c_attn"],
        "megatron_config": {"a": 1},
        "megatron_core": "antigravity",
    },
    "nothing": {},
    "nan": {**LORA, "target_modules": ["c_attn"]},
    "foreign": {**LORA, "target_modules": ["c_attn"]},
}


def _adapters(bad: Path) -> None:
    """Folders of adapters, each wrong for the small model."""
    import torch
    from safetensors.torch import save

    layer = "base_model.model.transformer.h.0.attn.c_attn"
    zero = {f"{layer}.lora_A.weight": torch.ones(1, 8), f"{layer}.lora_B.weight": torch.zeros(24, 1)}
    whole = {**zero, f"{layer}.lora_B.weight": torch.ones(24, 1)}
    kinds: dict[str, tuple[bytes, bytes | None]] = {
        **{name: (json.dumps(config).encode(), save(whole)) for name, config in ADAPTERS.items()},
        **{f"config-{name}": (content, save(whole)) for name, content in JSON.items()},
    }
    right = json.dumps(ADAPTERS["zero"]).encode()
    kinds |= {
        "zero": (right, save(zero)),
        "nan": (right, save({name: tensor * float("nan") for name, tensor in whole.items()})),
        "foreign": (right, save({"moon.lora_B.weight": torch.ones(2, 2)})),
        "no-weights": (right, None),
        "cut": (right, save(whole)[:40]),
        "empty": (right, b""),
    }
    for name, (config, weights) in kinds.items():
        folder = bad / "adapters" / name
        folder.mkdir(parents=True)
        (folder / "adapter_config.json").write_bytes(config)
        if weights is not None:
            (folder / "adapter_model.safetensors").write_bytes(weights)
    pickled = bad / "adapters" / "pickled"
    pickled.mkdir()
    (pickled / "adapter_config.json").write_bytes(right)
    (pickled / "adapter_model.bin").write_bytes(b"\x80\x04.")
    other = bad / "adapters" / "other-base"
    shutil.copytree(bad / "adapters" / "other-shape", other)
    (other / "lineage.json").write_text(json.dumps({"base": {"name": "another", "weights": "0" * 64}}))


def adapter_names() -> list[str]:
    """Of the folders that `lay_out` makes."""
    return [
        *ADAPTERS,
        *(f"config-{name}" for name in JSON),
        *("no-weights", "cut", "empty", "pickled", "other-base"),
    ]


def _safetensors(header: dict[str, Any], data: bytes) -> bytes:
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def make_model(folder: Path, *, weights: bool = True, longest: int = 64) -> Path:
    """A GPT-2 of a few hundred weights with a tokenizer of single letters, made once and copied."""
    ignored = None if weights else shutil.ignore_patterns("*.safetensors")
    shutil.copytree(_made(longest), folder, ignore=ignored, dirs_exist_ok=True)
    return folder


@cache
def _made(longest: int) -> Path:
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    letters = ["<|end|>", *"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.,!? "]
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(letters)}, unk_token="<|end|>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    tokenizer.decoder = decoders.Fuse()
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<|end|>", eos_token="<|end|>", unk_token="<|end|>"
    ).save_pretrained(folder)
    torch.manual_seed(0)
    GPT2LMHeadModel(
        GPT2Config(**{**GPT2, "vocab_size": len(letters), "n_positions": longest})
    ).save_pretrained(folder)
    return folder
