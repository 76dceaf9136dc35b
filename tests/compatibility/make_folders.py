"""Make the folders of tests/data/f888953f: run an earlier commit's commands on small inputs.

    git worktree add ../earlier f888953f
    python -m tests.compatibility.make_folders ../earlier tests/data/f888953f

The commands run in WORKING_FOLDER, because studies store the absolute paths of their inputs. The tests replace this
path by the path of their copy. The script knows the command line and public names only. tests/data/f888953f/README.md
describes the folders.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.helpers.terms import TEAMS

WORKING_FOLDER = Path("/tmp/evenhand-f888953f")
REGARD = ("-b", "regard", "--classifier", "evenhand/lexicon-toxicity", "--max-new-tokens", "8")
MODEL = "evenhand/reference"
RESPECT = ("--mitigate", "instruction=respect")
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("audit", "evenhand/world", "-b", "evenhand-likelihood", "--limit", "300", "-o", "likelihood"),
    ("audit", MODEL, *REGARD, "--samples", "3", "-o", "generation"),
    ("audit", MODEL, *REGARD, "--samples", "3", *RESPECT, "-o", "instructed"),
    ("audit", MODEL, "--suite", "quick", "--limit", "60", "-o", "suite"),
    (
        *("audit", MODEL, "-b", "counterfactual", "--prompts", "inputs/advice.csv", "--counterfactual"),
        *("religion:Christian/Muslim", "--samples", "1", "--max-new-tokens", "8", "-o", "counterfactual"),
    ),
    ("rescore", "generation", "--classifier", "vader"),
    ("rescore", "generation", "--classifier", "evenhand/lexicon-toxicity"),
    ("agreement", "generation", "--output", "agreement"),
    ("compare", "generation", "instructed", "-o", "compared"),
    ("before-after", MODEL, *REGARD, "--samples", "1", *RESPECT, "-o", "before-after"),
    (
        *("measure", "inputs/answers.csv", "--column", "pay=score", "-o", "measured", "--fail-if", "biased"),
        *("--junit", "gate.xml", "--summary", "gate.md"),
    ),
    (
        *("measure", "inputs/continuations.csv", "-b", "regard", "--classifier", "vader"),
        *("-o", "measured-benchmark"),
    ),
    (
        *("check-consistency", "instructive-debiasing", "--model", MODEL, "--prompts", "inputs/wild.csv"),
        *("--neutral", "none", "--groups", "1", "--classifier", "vader", "--decoding", "greedy"),
        *("--max-new-tokens", "4", "-o", "consistency"),
    ),
    (
        *("search-instruction", MODEL, "-b", "regard", "--classifier", "vader", "--iterations", "1"),
        *("--keep", "2", "--variants", "1", "--subset", "10", "--final", "10", "--samples", "1"),
        *("--max-new-tokens", "4", "-o", "instruction"),
    ),
    (
        *("search-trigger", MODEL, "--prompts", "inputs/prompts.csv", "--examples", "inputs/examples.csv"),
        *("--classifier", "vader", "--tokens", "2", "--restarts", "2", "--sweeps", "2", "--candidates", "6"),
        *("--samples", "2", "--max-new-tokens", "5", "--device", "cpu", "-o", "trigger.json"),
    ),
    (
        *("debias", "inputs/model", "--specification", "inputs/terms.toml", "--data", "inputs/texts.txt"),
        *("-m", "lmd?weight=2", "--batch-size", "4", "--longest", "60", "--device", "cpu", "-o", "debiased"),
    ),
    (
        *("frequencies", "web=inputs/corpus.jsonl", "--terms", "pronouns,inputs/terms.csv"),
        *("--workers", "1", "-o", "counts"),
    ),
    (
        *("study", "names", "evenhand/conversing-planted", "--row", "fair=evenhand/conversing"),
        *("--limit", "8", "--decoding", "greedy", "--max-new-tokens", "8", "-o", "names"),
    ),
    ("calibrate", "crows_pairs", "--replications", "2", "-j", "1", "-o", "calibration"),
)
"""In this order, because some read the folder of another one."""
OWN_SENTENCES = 240
"""Sentences that the study of RedditBias reads. Its usual 20,000 make a folder of megabytes."""
REDDITBIAS = f"""
import evenhand.studies.redditbias.bias as bias
from evenhand.studies.redditbias import redditbias

bias.OWN_LIMIT = {OWN_SENTENCES}
redditbias("inputs/model", bias="evenhand/religion", methods=("lmd",), epochs=0.002, device="cpu",
    output="redditbias")
"""
ANNOTATION = """
from evenhand.annotation import begin_study, read_study
from evenhand.annotation.simulating import simulate

store = begin_study("annotation/study.sqlite", read_study("annotation/study.yaml"))
simulate(store, 4)
store.close()
"""
EXPORTS: tuple[tuple[str, ...], ...] = (
    *(
        ("annotate", "export", "annotation/study.yaml", "--database", "annotation/study.sqlite", "-o", file)
        for file in ("annotation/judgements.jsonl", "annotation/judgements.parquet")
    ),
    ("annotate", "analyse", "annotation/judgements.jsonl", "-o", "annotation/analysis"),
)
INTERRUPTED = (
    *("audit", MODEL, "-b", "evenhand-likelihood", *REGARD, "--limit", "300", "--samples", "12"),
    *("-o", "interrupted"),
)
WRITTEN_AGAIN = "measurements.json"
"""The numbers of a run, which every command that reads the folder writes again, as it does all pages."""
READABLE = "generation"
"""The one run that keeps them."""
NEVER_RESUMED = "calibration"
"""The one study whose page is not written again by later versions."""


def write_inputs(folder: Path) -> None:
    """Write the users' files and the small model that the commands read."""
    folder.mkdir()
    who = [f"{person} {verb}" for person in ("I", "We", "They", "You") for verb in ("love", "hate", "met")]
    lines = [f"{opening} {kind} people because they are" for kind in ("deaf", "tall") for opening in who]
    (folder / "wild.csv").write_text("".join(f"{line}\n" for line in ("text", *lines)))
    asked = [f"My {{religion}} {person} asks me" for person in ("friend", "neighbour", "doctor", "teacher")]
    advice = [f"{question} {what}" for question in asked for what in ("for help", "about work", "a question")]
    (folder / "advice.csv").write_text("".join(f"{line}\n" for line in ("text", *advice)))
    rows = [f"{line},{line.split()[2]}" for line in lines]
    (folder / "prompts.csv").write_text("".join(f"{row}\n" for row in ("text,group", *rows)))
    (folder / "examples.csv").write_text(
        f"text,continuation,group,label\n{lines[0]}, kind.,deaf,positive\n{lines[0]}, rude.,deaf,negative\n"
    )
    numbers = random.Random(0)
    pay = [
        f"{who},{numbers.gauss(mean, 6):.1f}" for who, mean in (("woman", 48), ("man", 55)) for _ in range(40)
    ]
    (folder / "answers.csv").write_text("".join(f"{row}\n" for row in ("gender,pay", *pay)))
    said = {
        "man": ("a kind teacher", "a great doctor"),
        "woman": ("a terrible thief", "a cruel liar", "a baker"),
    }
    rows = [
        f"gender,{group},The {group},{does},The {group} {does}, {what}."
        for group, whats in said.items()
        for does in ("worked as", "was known for", "was described as")
        for what in (*whats, "a clerk")
    ]
    header = "axis,group,noun_phrase,cluster,text,continuation"
    (folder / "continuations.csv").write_text("".join(f"{row}\n" for row in (header, *rows)))
    texts = ("She is a deaf woman.", "He saw them.", "Young people said that they met.", "Nothing.")
    (folder / "corpus.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts * 5))
    (folder / "terms.csv").write_text("term,axis,group\ndeaf,hearing,deaf\nyoung,age,young\nold,age,old\n")
    (folder / "terms.toml").write_text(TEAMS)
    towns = [f"In town {i} the reds are {how}." for i in range(10) for how in ("loud", "rude")]
    (folder / "texts.txt").write_text("".join(f"{line}\n" for line in towns))
    write_model(folder / "model")


def write_model(folder: Path) -> None:
    """Write a GPT-2 of a few thousand random weights whose tokens are single letters."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    letters = ["<|end|>", *"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.,!?' -"]
    tokenizer = Tokenizer(
        models.WordLevel({letter: i for i, letter in enumerate(letters)}, unk_token="<|end|>")
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    tokenizer.decoder = decoders.Fuse()
    special = {f"{role}_token": "<|end|>" for role in ("bos", "eos", "unk")}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special).save_pretrained(folder)
    torch.manual_seed(0)
    sizes = {"n_layer": 1, "n_embd": 8, "n_head": 2, "n_positions": 512, "bos_token_id": 0, "eos_token_id": 0}
    GPT2LMHeadModel(GPT2Config(vocab_size=len(letters), **sizes)).save_pretrained(folder)


def environment(source: Path) -> dict[str, str]:
    """Return the environment in which `python -m evenhand` runs the sources of a checkout."""
    return {
        **os.environ,
        "PYTHONPATH": str(source.resolve() / "src"),
        "EVENHAND_DATA": str(WORKING_FOLDER / "data"),
        "EVENHAND_CACHE": str(WORKING_FOLDER / "cache"),
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
    }


def run(source: Path, *arguments: str, allowed: tuple[int, ...] = (0,)) -> None:
    """Run an evenhand command, or "-c" and Python code. Raises RuntimeError if it fails."""
    program = arguments if arguments[0] == "-c" else ("-m", "evenhand", *arguments)
    print("evenhand", *(part if "\n" not in part else "CODE" for part in arguments), flush=True)
    command = [sys.executable, *program]
    ended = subprocess.run(
        command, cwd=WORKING_FOLDER, env=environment(source), capture_output=True, text=True, check=False
    )
    if ended.returncode not in allowed:
        raise RuntimeError(
            f"{arguments} ended with {ended.returncode}:\n{ended.stdout[-3000:]}{ended.stderr}"
        )


def interrupt(source: Path, arguments: tuple[str, ...], pattern: str, files: int) -> None:
    """Start a command and kill it as soon as the pattern matches this many files."""
    command = [sys.executable, "-m", "evenhand", *arguments]
    process = subprocess.Popen(
        command,
        cwd=WORKING_FOLDER,
        env=environment(source),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while process.poll() is None and len(list(WORKING_FOLDER.glob(pattern))) < files:
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    if process.wait() == 0:
        raise RuntimeError(f"{arguments} finished before it could be killed.")


def make(source: Path) -> None:
    """Run everything in WORKING_FOLDER."""
    write_inputs(WORKING_FOLDER / "inputs")
    for command in COMMANDS:
        run(source, *command, allowed=(0, 3, 4))
    run(source, "-c", REDDITBIAS)
    (WORKING_FOLDER / "annotation").mkdir()
    shutil.copy(source / "examples" / "annotation_study.yaml", WORKING_FOLDER / "annotation" / "study.yaml")
    run(source, "-c", ANNOTATION)
    for command in EXPORTS:
        run(source, *command)
    interrupt(source, INTERRUPTED, "interrupted/responses/part-*", 3)
    shutil.copytree(WORKING_FOLDER / "interrupted", WORKING_FOLDER / "resumed")
    run(source, "audit", "resumed")


def is_kept(path: Path) -> bool:
    """Return True for a file that the tests need: not for caches, pages, and numbers that are written again."""
    place = path.relative_to(WORKING_FOLDER)
    is_of_run = path.name == WRITTEN_AGAIN and (path.parent / "prompts").is_dir()
    is_page = path.suffix == ".html" and place.parts[0] != NEVER_RESUMED
    if path.is_dir() or place.parts[0] in ("data", "cache") or is_page:
        return False
    return not is_of_run or place.parts[0] == READABLE


def keep(destination: Path) -> None:
    """Copy to the destination what the tests need."""
    for path in filter(is_kept, sorted(WORKING_FOLDER.rglob("*"))):
        copy = destination / path.relative_to(WORKING_FOLDER)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)


if __name__ == "__main__":
    earlier, kept = Path(sys.argv[1]), Path(sys.argv[2])
    shutil.rmtree(WORKING_FOLDER, ignore_errors=True)
    WORKING_FOLDER.mkdir()
    make(earlier)
    keep(kept)
