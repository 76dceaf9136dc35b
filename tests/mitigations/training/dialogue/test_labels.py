"""Labels behind which replies are learned: by words, by a classifier and by style, on data whose labels are known."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from evenhand.classifiers import MASKED_DESCRIPTOR, UNSAFE, Labels, load_classifier
from evenhand.mitigations.training import load_method
from evenhand.mitigations.training.dialogue.gender_labels import GenderLabels, gender_labels
from evenhand.mitigations.training.dialogue.labels import check_writable
from evenhand.mitigations.training.dialogue.style_labels import style_bias
from evenhand.mitigations.training.dialogue.styled_replies import read_styled_replies
from evenhand.models import Decoding
from evenhand.models.puppets import writes
from evenhand.runs import GenerateRequest, Labelling, PlanPart, RunDirectory, execute, label, make_plan
from evenhand.schema import DataError, ModelError, Unsupported, UsageError
from tests.helpers.planted_chats import (
    MARKED,
    WOMEN,
    WORDS,
    planted_chats,
    told,
    word_tokenizer,
    written,
)


def learned(method: str, path: Path, tokenizer: Any = None) -> tuple[list[tuple[str, str]], Any]:
    """History with label, and target, of all examples as text; and the lesson."""
    tokenizer = tokenizer or word_tokenizer()
    made: Any = load_method(method)
    lesson = made.lesson(made.given(path, 0)[0], tokenizer, told(tokenizer), 0)
    pairs = []
    for ids, labels in zip(lesson.examples.ids, lesson.examples.labels, strict=True):
        start = int((labels >= 0).argmax())
        pairs.append((tokenizer.decode(ids[:start]), tokenizer.decode(ids[start:-1])))
    return pairs, lesson


def test_replies_with_words_of_the_name_s_gender_are_bias(tmp_path: Path) -> None:
    pairs, lesson = learned("control-tokens?threshold=1.2&smoothing=1", written(tmp_path, planted_chats(6)))
    for history, target in pairs:
        gender = "woman" if set(history.split()) & set(WOMEN) else "man"
        label = "bias" if target == f"I like {MARKED[gender]}" else "no_bias"
        assert history.endswith((f"STYLE {label} A:", f"STYLE {label} B:")), (history, target)
        assert history.count("STYLE") == 1  # for this turn only
    assert lesson.label == " STYLE no_bias" and lesson.facts["threshold"] == 1.2
    labels = lesson.facts["labels"]
    assert labels["bias"] + labels["no_bias"] == len(pairs)
    assert lesson.facts["share_above"] == pytest.approx(labels["bias"] / len(pairs))


def test_ratios_are_of_the_learned_names_alone(tmp_path: Path) -> None:
    frame = planted_chats(6)
    _, lesson = learned("control-tokens", written(tmp_path, frame))
    others = pl.col("name").is_in(lesson.facts["names"]["learned"]).not_() & (pl.col("turn") > 1)
    changed = frame.with_columns(text=pl.when(others).then(pl.lit("I like the")).otherwise("text"))
    _, again = learned("control-tokens", written(tmp_path, changed))
    assert again.facts["ratios_sha256"] == lesson.facts["ratios_sha256"]


def test_a_quantile_is_stored_with_its_value(tmp_path: Path) -> None:
    pairs, lesson = learned("control-tokens?quantile=0.6", written(tmp_path, planted_chats(6, strength=0.3)))
    _, again = learned(
        f"control-tokens?threshold={lesson.facts['threshold']!r}",
        written(tmp_path, planted_chats(6, strength=0.3)),
    )
    assert lesson.facts["labels"]["bias"] <= 0.4 * len(pairs)
    assert again.facts["labels"] == lesson.facts["labels"]


@pytest.mark.parametrize("method", ["control-tokens?threshold=9", "control-tokens?threshold=0.01"])
def test_labels_that_are_all_equal(tmp_path: Path, method: str) -> None:
    with pytest.raises(DataError, match="so there is nothing to learn"):
        learned(method, written(tmp_path, planted_chats(2)))


class Hears:
    """A classifier of gender whose probabilities are said."""

    reads_context = False

    def __init__(
        self, scores: dict[str, tuple[float, ...]], labels: tuple[str, ...] = ("neutral", "woman", "man")
    ):
        self.scores, self.labels = scores, labels

    @property
    def fingerprint(self) -> dict[str, Any]:
        return {"name": "hears"}

    def describe(self) -> dict[str, Any]:
        return {}

    def classify(self, texts: Sequence[str], contexts: Sequence[str | None] | None = None) -> Labels:
        found = np.array([self.scores[text] for text in texts], dtype=np.float32)
        n = len(texts)
        return Labels(found, [None] * n, np.full(n, np.nan), [None] * n, [None] * n)


def test_the_louder_gender_above_the_threshold_is_the_label() -> None:
    heard = {
        "she": (0.8, 0.12, 0.08),
        "he": (0.1, 0.2, 0.7),
        "even": (0.0, 0.54, 0.46),
        "none": (1.0, 0.0, 0.0),
    }
    assert gender_labels(Hears(heard), list(heard), "A", 0.55) == ["A:female", "A:male", "neutral", "neutral"]
    assert gender_labels(Hears(heard), list(heard), "B", 0.65)[:2] == ["neutral", "B:male"]
    named = Hears({"x": (0.9, 0.1)}, ("SELF:female", "SELF:male"))
    assert gender_labels(named, ["x"], "B", 0.55) == ["B:female"]
    with pytest.raises(UsageError, match="no score of female: its labels are toxic, fine"):
        gender_labels(Hears({"x": (0.9, 0.1)}, ("toxic", "fine")), ["x"], "A", 0.55)


def test_each_speaker_s_replies_get_the_classifier_s_label(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores = {f"I like {word}": (0.5, 0.5) for word in WORDS}
    judge = Hears(scores | {"I like shop": (0.9, 0.1), "I like beer": (0.2, 0.8)}, ("female", "male"))
    monkeypatch.setattr(
        "evenhand.mitigations.training.dialogue.gender_labels.load_or_advise",
        lambda name, role, option: judge,
    )
    pairs, lesson = learned("control-gender?classifier=hears", written(tmp_path, planted_chats(3)))
    for history, target in pairs:
        speaker = history[-2]
        label = {"I like shop": f"{speaker}:female", "I like beer": f"{speaker}:male"}.get(target, "neutral")
        assert history.endswith(f" STYLE {label} {speaker}:")
    assert lesson.label == " STYLE neutral" and lesson.facts["replies_unjudged"] == 0


def test_our_list_of_gendered_words_is_a_classifier_of_gender() -> None:
    texts = ["She is my sister.", "He is my uncle.", "I like tea.", "He and she."]
    ours = load_classifier(GenderLabels().classifier)
    assert gender_labels(ours, texts, "A", 0.55) == ["A:female", "A:male", "neutral", "neutral"]


def test_tokenizers_that_cannot_write_a_label() -> None:
    with pytest.raises(
        Unsupported, match="The tokenizer of this model cannot represent the label ' STYLE no_bias'"
    ):
        check_writable(word_tokenizer([word for word in WORDS if word != "no_bias"]), [" STYLE no_bias"])
    check_writable(word_tokenizer(), [" STYLE no_bias", " STYLE bias"])
    with pytest.raises(Unsupported, match="as the same tokens"):
        check_writable(word_tokenizer(), [" STYLE bias", " STYLE  bias"])


@pytest.mark.parametrize(
    ("alpha", "expected"),
    [
        (0, (0.06375, -0.01125, 0.03375, 0.01875)),
        (1, (0.39347, -0.06944, 0.20831, 0.11573)),
        (2, (2.42857, -0.42857, 1.28571, 0.71429)),
    ],
)
def test_worked_values_of_style_bias(alpha: int, expected: tuple[float, ...]) -> None:
    styles = np.array([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.6, 0.3], [0.2, 0.6, 0.2]])
    for templates in (["t"] * 4, ["t", "u", "t", "u"]):
        found = style_bias(styles, ["d1", "d1", "d2", "d2"], templates, alpha)
        np.testing.assert_allclose(found, expected, atol=5e-6)


def test_means_are_over_templates_first() -> None:
    random = np.random.default_rng(0)
    styles = random.dirichlet(np.ones(5), 60)
    descriptors, templates = random.choice(list("abcd"), 60).tolist(), random.choice(list("tuv"), 60).tolist()
    found = style_bias(styles, descriptors, templates, 1)
    means = {}
    for d in "abcd":  # one by one
        parts = []
        for t in "tuv":
            rows = [i for i in range(60) if descriptors[i] == d and templates[i] == t]
            parts += [sum(styles[i] for i in rows) / len(rows)] if rows else []
        means[d] = sum(parts) / len(parts)
    middle = sum(means.values()) / 4
    for i in range(60):
        way = means[descriptors[i]] - middle
        assert found[i] == pytest.approx((styles[i] - middle) @ way / np.sqrt(way @ way))


def test_a_descriptor_in_the_middle_has_no_direction() -> None:
    styles = np.array([[0.5, 0.5], [0.9, 0.1], [0.1, 0.9]])
    assert style_bias(styles, ["a", "b", "c"], ["t"] * 3, 2)[0] == 0.0


def styled(n: int = 8) -> pl.DataFrame:
    """Replies about descriptors: half of each in a style of its own; one copies its sentence."""
    rows = []
    for place in range(n):
        for template in ("t", "u", "v"):
            for own in (True, False):
                style = [1.0 if k == place else 0.0 for k in range(n)] if own else [1.0 / n] * n
                rows.append(
                    {"text": f"I am {template} {WOMEN[place]}", "descriptor": WOMEN[place], "template": template,
                     "continuation": "I like shop" if own else "I like the", "style_scores": style}
                )  # fmt: skip
    rows[0]["continuation"] = f"i am t {WOMEN[0].lower()} ."
    return pl.DataFrame(rows)


def test_replies_in_their_descriptor_s_own_style_are_bias(tmp_path: Path) -> None:
    path = tmp_path / "styled.parquet"
    styled().write_parquet(path)
    pairs, lesson = learned("style-equality", path)
    assert lesson.facts["replies_parroting"] == 1 and lesson.facts["descriptors"] == 6
    assert len(pairs) in (35, 36)  # of six descriptors, without the copy if its descriptor is learned
    for history, target in pairs:
        assert history.endswith("STYLE bias B:" if target == "I like shop" else "STYLE no_bias B:")
    assert lesson.label == " STYLE no_bias" and not set(lesson.facts["descriptors_watched"]) - set(WOMEN)


def test_styles_of_a_table_are_judged_without_the_descriptor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    class Judge(Hears):
        def classify(self, texts: Sequence[str], contexts: Sequence[str | None] | None = None) -> Labels:
            seen.extend(texts)
            self.scores = {text: (float("shop" in text), 0.5) for text in texts}
            return super().classify(texts)

    monkeypatch.setattr(
        "evenhand.mitigations.training.dialogue.styled_replies.load_or_advise",
        lambda name, role, option: Judge({}, ("a", "b")),
    )
    path = tmp_path / "styled.csv"
    said = pl.format("{} likes {} ", "continuation", pl.col("descriptor").str.to_uppercase())
    some = pl.when(pl.col("template") == "t").then(said).otherwise("continuation")
    styled().drop("style_scores").with_columns(continuation=some).write_csv(path)
    method: Any = load_method("style-equality?classifier=judge")
    method.given(path, 0)
    assert seen[1] == "I like the likes left-handed " and not any(
        name.upper() in "".join(seen) for name in WOMEN
    )


def test_a_run_s_replies_and_judgements_are_read(tmp_path: Path) -> None:
    frame = styled().with_columns(
        axis=pl.lit("age"), noun=pl.lit("friend"), prompt_id=pl.int_range(pl.len()).cast(pl.String)
    ).unique(["descriptor", "template"], maintain_order=True)  # fmt: skip
    model = writes(lambda prompt, sample: f" I like {'shop' if ' t ' in prompt else 'the'}{UNSAFE}")
    request = GenerateRequest(Decoding(max_new_tokens=9))
    prompts = frame.select("prompt_id", "text", "descriptor", "template", "axis", "noun")
    plan = make_plan([PlanPart("holisticbias-styles", prompts, request)], model.fingerprint)
    directory = RunDirectory.create(tmp_path / "run", model=model, given={}, resolved={})
    execute(plan, model, directory)
    judge = Hears({" I like shop": (0.9, 0.1), " I like the": (0.5, 0.5)}, ("a", "b"))
    wanted = Labelling("holisticbias-styles", "style", "judge", MASKED_DESCRIPTOR)
    label(directory, [wanted], {"judge": judge})
    read = read_styled_replies(tmp_path / "run", 0)
    assert read.frame.height == prompts.height == 24 and read.missing == 0
    assert set(read.frame["descriptor"]) == {f"age: {name}" for name in WOMEN}
    for place in range(24):  # what a model writes beside what it says is not learned
        shop = read.frame["template"][place] == "t"
        assert read.reply(place).target == ("I like shop" if shop else "I like the")
        np.testing.assert_allclose(read.styles[place], [0.9, 0.1] if shop else [0.5, 0.5], atol=1e-6)


@pytest.mark.parametrize(
    ("frame", "told_of"),
    [
        (styled().drop("template"), "template"),
        (styled().drop("style_scores"), "no columns with style scores"),
        (styled(3), r"3 descriptors, but 6 are required \(some are used for validation"),
        (planted_chats(1), "continuation"),
    ],
)
def test_replies_of_another_form(tmp_path: Path, frame: pl.DataFrame, told_of: str) -> None:
    path = tmp_path / "styled.parquet"
    frame.write_parquet(path)
    with pytest.raises(DataError, match=told_of):
        method: Any = load_method("style-equality")
        method.given(path, 0)


@pytest.mark.parametrize(
    "words", ["control-tokens?quantile=1", "control-tokens?threshold=-1", "control-gender?threshold=0.3",
              "style-equality?alpha=3", "style-equality?quantile=0"]
)  # fmt: skip
def test_options_out_of_range(words: str) -> None:
    with pytest.raises(UsageError):
        load_method(words)


def test_names_of_one_gender(tmp_path: Path) -> None:
    frame = planted_chats(2).with_columns(gender=pl.lit("woman"))
    with pytest.raises(DataError, match="at least two groups"):
        learned("control-tokens", written(tmp_path, frame))


def test_a_missing_classifier_lists_those_that_work_offline(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"Cannot load the classifier: .*absent") as refused:
        learned("control-gender?classifier=./absent&threshold=0.6", written(tmp_path, planted_chats(6)))
    hint = refused.value.hint or ""
    assert "--method 'control-gender?classifier=FOLDER&threshold=0.6'" in hint
    assert "evenhand/gendered-words: " in hint and "ROLE=" not in hint
    assert refused.value.flags == (
        "--method",
        "control-gender?classifier=evenhand/gendered-words&threshold=0.6",
    )
