"""The debiasing losses, as loops over tokens, attributes and pairs, and as one matrix product; and what a step costs.

    OMP_NUM_THREADS=1 python perf/debias_losses.py --data ../shared/data/redditbias      # Minutes on one core.

Same states, same terms, same value; forward and backward. The loop follows the formula literally: it compares each
token with each term, and each match with each pair, as the published code does. Then whole steps of
training (pass, gradient, clipping, optimiser) of a GPT-2-small-shaped model with random weights: plain fine-
tuning, and with each loss, interleaved. Only ratios mean anything. Processor time is counted, so that a busy
machine changes little.
"""

import argparse
import json
import platform
import time
from pathlib import Path

import numpy as np
import torch
from common import model_with_tokenizer
from torch.nn.functional import cosine_similarity

from evenhand.mitigations.training import (
    Encoding,
    LanguageModelling,
    Logits,
    hidden_and_logits,
    load_method,
    make_material,
)
from evenhand.prompts.redditbias import specification

SHAPE = {"layers": 12, "width": 768, "heads": 12, "vocabulary": 20000}
ROWS = 16


def vector(weight, ids):
    """The output vector of a term."""
    return weight[list(ids)].mean(0)


def lmd_loop(lesson, hidden, weight, batch):
    """Compute equation 1, token by token and pair by pair. Tokens alone determine the position of a term, which
    can be within a longer word. Values can therefore differ by some thousandths (tests allow 1e-6 at common
    positions)."""
    pairs, total = lesson.objective.term.pairs, torch.zeros(())
    terms = {
        ids: name
        for pair, names in zip(pairs.ids, pairs.names, strict=True)
        for ids, name in zip(pair, names, strict=True)
    }
    longest_first = sorted(terms, key=len, reverse=True)
    for row, ids in enumerate(batch.input_ids.tolist()):
        place = 1
        while place < len(ids):
            term = next((one for one in longest_first if tuple(ids[place : place + len(one)]) == one), None)
            if term is None:
                place += 1
                continue
            mine = [number for number, names in enumerate(pairs.names) if terms[term] in names]
            for number in mine:
                first, second = (vector(weight, one) for one in pairs.ids[number])
                h = hidden[row, place - 1]
                total = total + (h @ first - h @ second).abs() / len(mine)
            place += len(term)
    return total


def matches(lesson, batch):
    """Find attributes by a loop: compare each token with each attribute that occurs in the texts."""
    attributes = lesson.facts["attribute_tokens"]
    for row, ids in enumerate(batch.input_ids.tolist()):
        for place in range(len(ids)):
            for attribute in attributes:
                if tuple(ids[place : place + len(attribute)]) == attribute:
                    yield row, place, len(attribute)


def attribute_tokens(lesson):
    """The tokens of all attributes that are marked in the texts, each once."""
    found = {}
    for ids, marks in zip(lesson.examples.ids, lesson.examples.marks["attributes"], strict=True):
        for first, count in marks.tolist():
            found[tuple(ids[first : first + count].tolist())] = None
    return list(found)


def add_loop(lesson, hidden, weight, batch):
    """Equation 3, match by match and pair by pair."""
    pairs, total = lesson.objective.term.pairs, torch.zeros(())
    for row, place, width in matches(lesson, batch):
        state = hidden[row, place : place + width].mean(0)
        for first, second in pairs.ids:
            near = cosine_similarity(vector(weight, first), state, dim=0)
            total = total + (near - cosine_similarity(vector(weight, second), state, dim=0)).abs()
    return total


def hd_loop(lesson, hidden, weight, batch):
    """Compute equation 4, match by match and direction by direction; the directions are recomputed for each batch, as
    published."""
    pairs, total = lesson.objective.term.pairs, torch.zeros(())
    rows = torch.stack([(vector(weight, a) - vector(weight, b)) / 2 for a, b in pairs.ids]).detach()
    _, values, directions = torch.linalg.svd(rows, full_matrices=False)
    enough = int((values.square().cumsum(0) / values.square().sum() >= 0.5).int().argmax()) + 1
    for row, place, width in matches(lesson, batch):
        state = hidden[row, place : place + width].mean(0)
        for direction in directions[:enough]:
            total = total + (direction * (state @ direction)).abs().sum()
    return total


LOOPS = {"lmd": lmd_loop, "add": add_loop, "hd": hd_loop}


def timed(function, repeats):
    """Processor seconds of the fastest of several calls, and what the last gave."""
    seconds = []
    for _ in range(repeats):
        begun = time.process_time()
        result = function()
        seconds.append(time.process_time() - begun)
    return min(seconds), result


def losses(lesson, name, model, batches):
    """Loop against matrix product on the same states: seconds of each, ratio, and how far apart they are."""
    states = [hidden_and_logits(model, batch).hidden.detach().requires_grad_(True) for batch in batches]
    weight, found = model.lm_head.weight.detach(), {}  # as published: no gradient into the output vectors

    def both(how):
        total = 0.0
        for hidden, batch in zip(states, batches, strict=True):
            value = how(hidden, batch)
            if value.requires_grad:
                torch.autograd.grad(value, hidden)
            total += float(value.detach())
        return total

    ways = {
        "loop": lambda leaf, batch: LOOPS[name](lesson, leaf, weight, batch),
        "product": lambda leaf, batch: lesson.objective.term.sum(leaf, weight, None, batch, Logits()),
    }
    for way, how in ways.items():
        found[way], found[f"{way}_value"] = timed(lambda how=how: both(how), 2 if way == "loop" else 5)
    found["times_faster"] = found["loop"] / found["product"]
    found["apart"] = abs(found["loop_value"] / found["product_value"] - 1)
    return found


def steps(lessons, model, rounds):
    """Processor seconds of a step by objective, the median of interleaved rounds, and the share above plain."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5)
    objectives = {"plain": (LanguageModelling(), lessons["lmd"])} | {
        name: (lesson.objective, lesson) for name, lesson in lessons.items()
    }
    seconds = {name: [] for name in objectives}
    for number in range(rounds + 1):
        rows = np.random.default_rng(number).permutation(len(lessons["lmd"].examples))[:ROWS]
        for name, (objective, lesson) in objectives.items():
            batch = lesson.examples.batch(rows, 0)
            begun = time.process_time()
            optimizer.zero_grad()
            sums, sizes, weights = (
                objective.sums(model, batch),
                objective.sizes(batch),
                objective.weights(batch),
            )
            loss = sum(weights[term] * value / max(1, sizes[term]) for term, value in sums.items())
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            if number:  # the first warms up
                seconds[name].append(time.process_time() - begun)
    ratios = {name: np.array(values) / np.array(seconds["plain"]) for name, values in seconds.items()}
    return {
        name: {"seconds": float(np.median(values)), "overhead": float(np.median(ratios[name]) - 1)}
        for name, values in seconds.items()
    }


def main():
    """Measure and print; --json FILE writes."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="the folder of RedditBias, with text_files/")
    parser.add_argument("--bias", default="race")
    parser.add_argument("--rounds", type=int, default=8, help="of steps")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    torch.manual_seed(0)
    lines = (options.data / "text_files" / options.bias / f"{options.bias}_bias_manual_train.txt").read_text(
        "utf-8"
    )
    material = make_material(
        specification(options.bias), [line for line in lines.splitlines() if line.strip()]
    )
    model, tokenizer = model_with_tokenizer(list(material.texts), **SHAPE)
    model.train()
    lessons = {name: load_method(name).lesson(material, tokenizer, Encoding(36), 0) for name in LOOPS}
    found = {"machine": platform.processor() or platform.machine(), "threads": torch.get_num_threads(),
             "torch": torch.__version__, "texts": len(material.texts), "losses": {}}  # fmt: skip
    model.requires_grad_(True)
    for name, lesson in lessons.items():
        if name != "lmd":
            lesson.facts["attribute_tokens"] = attribute_tokens(lesson)
        for rows in (ROWS, 4 * ROWS):
            batches = [lesson.examples.batch(list(range(i, i + rows)), 0) for i in range(0, 4 * rows, rows)]
            one = found["losses"][f"{name}, {rows} texts"] = losses(lesson, name, model, batches)
            print(name, rows, {key: f"{value:.4g}" for key, value in one.items()}, flush=True)
    found["steps"] = steps(lessons, model, options.rounds)
    for name, values in found["steps"].items():
        print(f"step {name}: {values['seconds']:.3f} s, {100 * values['overhead']:+.1f} % over plain")
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
