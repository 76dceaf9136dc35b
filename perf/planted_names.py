"""Bias planted on names in a model that converses: what each mitigation takes away of it, on names it was not tuned on.

    python perf/planted_names.py --folder planted_names     # An hour of one core; goes on where it was stopped.

A small network learns the conversations of a World in which words, occupations, kin, feelings and style depend on the
gender of the opener's name. It talks with itself under half of the names, and each method is trained on that by
`evenhand debias`. Then every model talks with itself under the other half of the names: same openers, personas, draws
and decoding. Truth is from outside: the log-odds are known, and so is what the World itself would say, on which the
perplexity is reckoned. Changes are paired by name, and intervals are jackknife ones over groups of names.
`style-equality` learns from its own material: `--style RUN` of `evenhand audit FOLDER/base -b holisticbias-styles`.
"""

import argparse
import json
import re
import tomllib
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
from scipy import stats

from evenhand.classifiers import load_classifier
from evenhand.measures import classifier_bias, occupation_lean, token_bins
from evenhand.models import Decoding, Texts, load_model
from evenhand.models.dialogue import History, dialogue_model
from evenhand.prompts.names import introductions, load_names, occupations
from evenhand.reference import talk_steps
from evenhand.reference.conversing import ConversingWorld
from evenhand.reference.talkers import PLANTS, known_people
from evenhand.reference.training.talker import TalkerRecipe, save_talker, train_talker
from evenhand.studies.debias import debias

METHODS = (
    "self-chat",
    "name-scrambling",
    "control-gender",
    "control-tokens",
    "unlikelihood-token",
    "unlikelihood-sequence",
)
CONTROL = "self-chat"
TURNS = 12
BATCH = 64
GROUPS = 12
DECODING = Decoding(max_new_tokens=60, min_new_tokens=1, temperature=1.0)
CONTRASTS = {
    "hobby": ("crafts", "outdoors", 3.0),
    "occupation": ("care", "works", 3.0),
    "relative": ("female", "male", 2.0),
    "feel": ("feeling:negative", "feeling:positive", 1.0),
    "mark": ("!", ".", 1.0),
}
"""What women's conversations say more of, what men's do, and the log of the odds ratio that is planted on the two."""
WATCHED = ("odds left", "token bins", "classifier bias", "occupation lean")


def openers(names, split, conversations, seed):
    """Return a number of conversations opened by names of one split, equally many of each gender."""
    listed = load_names().filter((pl.col("split") == split) & ~pl.col("word_collision"))
    few = pl.concat([listed.filter(gender=gender).head(names) for gender in ("woman", "man")])
    return introductions(few, n=2 * names * conversations, seed=seed).frame


def self_chats(model, frame, seed):
    """Let the model talk with itself: one row per utterance, and separate samples for each conversation."""
    dialogue = dialogue_model(model)
    said = [[text] for text in frame["text"]]
    personas = [frame["persona_a"].to_list(), frame["persona_b"].to_list()]
    labels = [f"{seed}/{label}" for label in frame["conversation"]]
    for turn in range(2, TURNS + 1):
        mine = personas[(turn - 1) % 2]
        histories = [History(tuple(mine[row]), tuple(said[row]), labels[row]) for row in range(len(said))]
        for first in range(0, len(histories), BATCH):
            part = histories[first : first + BATCH]
            for row, text in enumerate(dialogue.reply(part, DECODING).texts, start=first):
                said[row].append(text or "")
    speakers = ["AB"[turn % 2] for turn in range(TURNS)]
    return frame.with_columns(
        text=pl.Series(said),
        speaker=pl.Series([speakers] * frame.height),
        turn=pl.Series([list(range(1, TURNS + 1))] * frame.height),
    ).explode("text", "speaker", "turn")


def patterns():
    """Return two expressions of each contrast, and the planted log-odds."""
    table = tomllib.loads(Path(talk_steps.__file__).with_name("conversing.toml").read_text(encoding="utf-8"))
    found = {}
    for slot, (women, men, odds) in CONTRASTS.items():
        for kind in (women, men):
            if slot in table["slots"]:
                words = table["slots"][slot][kind]
            else:
                words = [frame["text"] for frame in table["frame"] if frame.get("label") == kind] or [kind]
            edge = r"\b" if len(words[0]) > 1 else ""
            found[slot, kind] = "|".join(f"{edge}{re.escape(word)}{edge}" for word in words)
        found[slot] = odds
    return found


def odds_left(chats, known):
    """Mean over contrasts of the log odds ratio found over the planted one: 1 is all of it, 0 nothing."""
    shares = []
    said = chats.filter(pl.col("turn") > 1)
    for slot, (women, men, _) in CONTRASTS.items():
        counts = said.group_by("gender").agg(
            *(pl.col("text").str.count_matches(known[slot, kind]).sum().alias(kind) for kind in (women, men))
        )
        logs = {row["gender"]: np.log((row[women] + 0.5) / (row[men] + 0.5)) for row in counts.to_dicts()}
        shares.append((logs["woman"] - logs["man"]) / known[slot])
    return float(np.mean(shares))


def measured(chats, known, shares):
    """Each watched number."""
    return {
        "odds left": odds_left(chats, known),
        "token bins": token_bins(chats, draws=1).result["estimate"][0],
        "classifier bias": classifier_bias(chats).rows.filter(pl.col("speaker").is_null())["estimate"][0],
        "occupation lean": occupation_lean(chats, shares, resamples=1).result["estimate"][0],
    }


def judged(chats):
    """Add the gender of each utterance according to evenhand's list of words."""
    texts = chats["text"].to_list()
    labels = load_classifier("evenhand/gendered-words").classify(texts).labels
    return chats.with_columns(predicted=pl.Series([label or "neither" for label in labels]))


def with_and_without(chats, known, shares):
    """The numbers of all names, and of all but each of GROUPS groups of names, as many of each gender in each."""
    names = chats.select("name", "gender").unique().sort("gender", "name")
    dealt = names.with_columns(part=pl.int_range(pl.len()).over("gender") % GROUPS)
    parts = [dealt.filter(pl.col("part") == part)["name"].to_list() for part in range(GROUPS)]
    left = [measured(chats.filter(~pl.col("name").is_in(part)), known, shares) for part in parts]
    return measured(chats, known, shares), left


def interval(whole, left):
    """Estimate and 95 % limits by the grouped jackknife."""
    values = np.array(left)
    error = ((GROUPS - 1) / GROUPS * ((values - values.mean()) ** 2).sum()) ** 0.5
    reach = float(stats.t.ppf(0.975, GROUPS - 1)) * error
    return [float(whole), float(whole - reach), float(whole + reach)]


def changes(before, after):
    """What became of each number, with limits: below 0 there is less of it."""
    (one, without_one), (two, without_two) = before, after
    return {
        name: interval(
            two[name] - one[name], [b[name] - a[name] for a, b in zip(without_one, without_two, strict=True)]
        )
        for name in WATCHED
    }


def perplexity(folder, truth):
    """Per token, of replies that the World itself gave to the test names."""
    dialogue = dialogue_model(load_model(str(folder), device="cpu", dtype="float32"))
    model = dialogue.model
    texts, contexts = [], []
    for said in truth.group_by("conversation", maintain_order=True).agg("text")["text"].head(60):
        lines = [f"{'AB'[turn % 2]}: {text}\n" for turn, text in enumerate(said)]
        contexts.append(lines[0])
        texts.append("".join(lines[1:]))
    found = model.log_likelihoods(Texts(texts, contexts, spaced=False))
    return float(np.exp(-found.sums.sum() / found.counts.sum()))


def talked(folder, frame, seed):
    """Return self-chats of a model under the test names, stored next to it."""
    path = folder / "test_chats.parquet"
    if not path.is_file():
        model = load_model(str(folder), device="cpu", dtype="float32")
        judged(self_chats(model, frame, seed)).write_parquet(path)
    return pl.read_parquet(path)


def base_model(folder, options):
    """The network that learned the World, the World, and its self-chats to tune on."""
    planted = tuple(plant for plant in PLANTS if plant.gender)
    world = ConversingWorld(known_people(), planted, name="planted by gender")
    both = [openers(options.names, split, options.lessons, seed=1) for split in ("tune", "test")]
    frame = pl.concat(both)
    if not (folder / "config.json").is_file():
        save_talker(
            *train_talker(world, frame, TalkerRecipe(passes=options.passes), partial(print, flush=True)),
            folder,
        )
    data = folder.parent / "self_chats.parquet"
    if not data.is_file():
        model = load_model(str(folder), device="cpu", dtype="float32")
        self_chats(model, openers(options.names, "tune", options.tuning, seed=2), seed=2).write_parquet(data)
    return world, data


def main():
    """Train what is not there yet, and tell."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path, required=True, help="of the models; kept")
    parser.add_argument("--names", type=int, default=36, help="of each gender, to tune and as many to test")
    parser.add_argument("--lessons", type=int, default=12, help="conversations a name that the base learns")
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--tuning", type=int, default=8, help="self-chats a name that a method learns")
    parser.add_argument("--testing", type=int, default=8, help="self-chats a name that are measured")
    parser.add_argument("--learning-rate", type=float, default=1e-3)
    parser.add_argument("--epochs", type=float, help="of tuning; by default as `evenhand debias` has it")
    parser.add_argument(
        "--style", type=Path, help="run of holisticbias-styles; style-equality is tried with it"
    )
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    base = options.folder / "base"
    world, data = base_model(base, options)
    frame = openers(options.names, "test", options.testing, seed=3)
    truth = world.conversations(frame, seed=4)
    known, shares = patterns(), occupations()
    numbers = {"base": with_and_without(talked(base, frame, 5), known, shares)}
    print("what the World itself says:", measured(judged(truth), known, shares), flush=True)
    table = {"base": {"numbers": numbers["base"][0], "perplexity": perplexity(base, truth)}}
    print("base", json.dumps(table["base"]), flush=True)
    for method in (*METHODS, *(["style-equality"] if options.style else [])):
        folder = options.folder / method
        debias(
            str(base),
            method=method,
            data=options.style if method == "style-equality" else data,
            learning_rate=options.learning_rate,
            **({} if options.epochs is None else {"epochs": options.epochs}),
            output=folder,
        )
        numbers[method] = with_and_without(talked(folder, frame, 5), known, shares)
        one = table[method] = {"numbers": numbers[method][0], "perplexity": perplexity(folder, truth)}
        one["beside the base"] = changes(numbers["base"], numbers[method])
        if CONTROL in numbers and method != CONTROL:
            one["beside the control"] = changes(numbers[CONTROL], numbers[method])
        print(method, json.dumps(one), flush=True)
    print(as_table(table))
    if options.json:
        options.json.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")


def as_table(table):
    """Return one row per model: each number, and its change compared with the control (for the control: the base)."""
    lines = [f"{'':22} perplexity  " + "  ".join(f"{name:>32}" for name in WATCHED)]
    for model, one in table.items():
        change = one.get("beside the control") or one.get("beside the base")
        cells = [
            f"{one['numbers'][name]:8.3f}"
            + (" {:+7.3f} [{:+.3f}, {:+.3f}]".format(*change[name]) if change else " " * 24)
            for name in WATCHED
        ]
        lines.append(f"{model:22} {one['perplexity']:10.3f}  " + "  ".join(f"{cell:>32}" for cell in cells))
    return "\n".join(lines)


if __name__ == "__main__":
    main()
