"""Conversations of a model with itself, three ways side by side in one run.

    python perf/selfchat.py                                     # About 6 minutes on one core.
    python perf/selfchat.py --published --conversations 8       # 10 beams; longer.
    python perf/selfchat.py --model FOLDER --device cuda --conversations 512 --rows 512

Each conversation has 12 utterances: an opener, which is given, and eleven replies. Who speaks reads its own persona and
all that was said so far, each part closed by the end token, cut from the left to the window. One conversation at a time
through transformers' `generate`, as a script would do it, on some of the conversations; all conversations in one batch
a turn, each history read whole; and the same with what was read before kept from turn to turn. Same model
(GPT-2-small-shaped with random weights, unless one is given), same decoding, replies of the same length for all, so
that random weights do not end them early. The tokens that are written are compared; greedy ones may part where two
tokens are equally likely but for rounding, and a conversation that has parted stays so. Only ratios mean anything:
absolute times are of this machine, this hour. With OMP_NUM_THREADS=1 processor time is counted.
"""

import argparse
import json
import os
import platform
import time
import warnings
from pathlib import Path

import numpy as np

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # as the command line sets it; the same for every way
import torch
from common import model_with_tokenizer

SHAPE = {"layers": 12, "width": 768, "heads": 12, "vocabulary": 50257}
TURNS = 12
NAMES = [
    "Anna",
    "Bilal",
    "Chen",
    "Dolores",
    "Emeka",
    "Fatima",
    "Georg",
    "Hana",
    "Ivan",
    "Jamila",
    "Kenji",
    "Lucia",
]
LIKES = ["tea", "long walks", "old films", "my two cats", "cooking for friends", "the sea", "football"]
WORKS = ["as a nurse", "in a bakery", "on a farm", "at a school", "in a bank", "for the city", "at home"]
WISHES = ["to travel more", "to learn the piano", "a garden", "to write a book", "a dog", "to see snow"]


def introductions(tokenizer, count):
    """Return the personas of both speakers and the opener of each conversation, as token ids closed by the end
    token."""
    random = np.random.default_rng(0)

    def encoded(text):
        return [*tokenizer(text, add_special_tokens=False)["input_ids"], tokenizer.eos_token_id]

    def persona():
        like, other = random.choice(LIKES, 2, replace=False)
        work, wish = random.choice(WORKS), random.choice(WISHES)
        return encoded(f"i work {work}. i like {like}. my family likes {other}. i would love {wish}.")

    return [
        (
            (persona(), persona()),
            encoded(f"Hi! My name is {random.choice(NAMES)}. I like {random.choice(LIKES)}."),
        )
        for _ in range(count)
    ]


def conversations(started, write, window, end):
    """Replies of all conversations, a list of token lists each; write: histories and their turn to replies."""
    said = [[opener] for _, opener in started]
    for turn in range(1, TURNS):
        histories = [
            [*personas[turn % 2], *(token for one in so_far for token in one)][-window:]
            for (personas, _), so_far in zip(started, said, strict=True)
        ]
        for so_far, reply in zip(said, write(histories, turn), strict=True):
            so_far.append([*(token for token in reply if token != end), end])
    return [so_far[1:] for so_far in said]


def one_at_a_time(model, tokenizer, rule):
    """`generate` of transformers."""
    settings = {
        "min_new_tokens": rule.min_new_tokens,
        "max_new_tokens": rule.max_new_tokens,
        "num_beams": rule.num_beams or 1,
        "no_repeat_ngram_size": rule.no_repeat_ngram_size or 0,
        "pad_token_id": tokenizer.eos_token_id,
        **({"length_penalty": rule.length_penalty} if rule.searches else {}),
    }

    def write(histories, turn):
        replies = []
        for history in histories:
            ids = torch.tensor([history], device=model.device)
            with torch.inference_mode():
                row = model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, **settings)
            replies.append(row[0, len(history) :].tolist())
        return replies

    return write


def together(writer, rule, kept):
    """evenhand: all conversations side by side."""

    def write(histories, turn):
        keys = [f"{k} {turn}" for k in range(len(histories))]
        answers = writer.generate_ids(histories, keys, rule, kept=kept)
        assert not any(answers.errors)
        return [answers.row(i).tolist() for i in range(len(histories))]

    return write


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", help="a model that reads from left to right (else random weights)")
    parser.add_argument("--conversations", type=int, default=64)
    parser.add_argument("--alone", type=int, default=3, help="how many of them one at a time")
    parser.add_argument("--reply", type=int, default=20, help="tokens of each reply")
    parser.add_argument(
        "--window", type=int, default=512, help="tokens that are read at most, reply included"
    )
    parser.add_argument("--published", action="store_true", help="10 beams, no 3 tokens twice, as BlenderBot")
    parser.add_argument("--rows", type=int, help="conversations side by side at most (else by memory)")
    parser.add_argument("--budget", type=int, default=4096, help="megabytes that may be kept")
    parser.add_argument("--repeats", type=int, default=1, help="number of runs, of which the best counts")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "selfchat.json")
    given = parser.parse_args()
    warnings.filterwarnings("ignore")
    from evenhand.models.decoding import Decoding
    from evenhand.models.huggingface.causal import CausalModel
    from evenhand.models.loading import load_model
    from evenhand.models.writing.kept_states import KeptStates

    if given.model:
        writer = load_model(given.model, device=given.device)
        if not isinstance(writer, CausalModel):
            parser.error(f"{given.model} does not read from left to right, so there is nothing to keep")
        model, tokenizer = writer.model, writer.tokenizer
    else:
        pages = sorted((Path(__file__).parents[1] / "docs").rglob("*.md"))  # English, for the tokenizer
        model, tokenizer = model_with_tokenizer([page.read_text(encoding="utf-8") for page in pages], **SHAPE)
        model = model.to(given.device)
        writer = CausalModel(model, tokenizer, {"name": "perf"})
    rule = Decoding(max_new_tokens=given.reply, min_new_tokens=given.reply)
    if given.published:
        rule = Decoding(
            max_new_tokens=given.reply,
            min_new_tokens=given.reply,
            num_beams=10,
            length_penalty=0.65,
            no_repeat_ngram_size=3,
        )
    started = introductions(tokenizer, given.conversations)
    window, end = given.window - given.reply, tokenizer.eos_token_id
    if given.rows:
        writer.writer.budget.tokens = given.rows * given.window * (rule.num_beams or 1)
    kept = None

    def run(way):
        nonlocal kept
        if way == "one at a time, transformers":
            return conversations(started[: given.alone], one_at_a_time(model, tokenizer, rule), window, end)
        kept = KeptStates(given.budget << 20) if way == "batches, states kept" else None
        return conversations(started, together(writer, rule, kept), window, end)

    ways = ("one at a time, transformers", "batches, histories read whole", "batches, states kept")
    # what the first call costs: self-checks up to the longest history, packed layers
    warm = [[[end] * window], [[1] * min(window, 8)]]
    one_at_a_time(model, tokenizer, rule)(warm[1], 0)
    for histories in warm:
        together(writer, rule, KeptStates(1 << 30))(histories, 0)
    alone = given.device == "cpu" and torch.get_num_threads() == 1
    clock = time.process_time if alone else time.perf_counter
    seconds, written, told_of_kept = dict.fromkeys(ways, float("inf")), {}, {}
    for _ in range(given.repeats):  # in turn, so that a busy minute of the machine meets all of them
        for way in ways:
            start = clock()
            written[way] = run(way)
            seconds[way] = min(seconds[way], clock() - start)
            if kept is not None:
                told_of_kept = kept.describe()
    speeds = {way: len(written[way]) / seconds[way] * 60 for way in ways}
    results = []
    longest = max(
        sum(map(len, [*personas, opener, *replies]))
        for (personas, opener), replies in zip(started, written[ways[2]], strict=True)
    )
    print(
        f"{given.conversations} conversations of {TURNS} utterances, {given.reply} tokens a reply, "
        f"window {given.window}, {'10 beams' if given.published else 'greedy'}, {torch.get_num_threads()} threads"
    )
    for way in ways:
        same = sum(a == b for a, b in zip(written[way], written[ways[2]], strict=False))
        ratio = speeds[ways[2]] / speeds[way]
        results.append(
            {
                "way": way,
                "conversations": len(written[way]),
                "conversations_per_minute": round(speeds[way], 2),
                "states_kept_are_faster_by": round(ratio, 2),
                "written_as_with_states_kept": same,
            }
        )
        print(
            f"  {way:32s}{speeds[way]:8.2f} a minute   states kept: {ratio:5.2f} x as fast, "
            f"{same} of {len(written[way])} written alike",
            flush=True,
        )
    share = told_of_kept["tokens_read_before"] / told_of_kept["tokens"]
    print(
        f"  of all tokens of the histories {share:.0%} had been read before; "
        f"{told_of_kept['most_bytes'] / (1 << 20):.0f} MB kept at most"
    )
    given.output.parent.mkdir(parents=True, exist_ok=True)
    told = {
        "model": given.model or "random weights, GPT-2-small-shaped",
        "decoding": rule.parameters(),
        "window": given.window,
        "tokens_of_the_longest_conversation": longest,
        "kept": told_of_kept,
        "batch_tokens": writer.writer.budget.tokens,
        "device": given.device,
        "machine": platform.machine(),
        "threads": torch.get_num_threads(),
        "time": "of the process" if alone else "of the clock",
        "torch": torch.__version__,
    }
    given.output.write_text(json.dumps({"rows": results, **told}, indent=1) + "\n")
    print(f"\nwritten to {given.output}")


if __name__ == "__main__":
    main()
