"""A model made to converse: lines in, replies out, bad lines as error rows, facts of the format told."""

import pytest

from evenhand.models.contract import LanguageModel, TextGenerator
from evenhand.models.decoding import Decoding
from evenhand.models.dialogue import DialogueOptions, History, dialogue_model
from evenhand.models.puppets import load_puppet, writes
from evenhand.schema import ResponseError, Unsupported, UsageError, is_a

RULE = Decoding(max_new_tokens=30)
OPENED = History(("i like tea.", "i have two dogs."), ("Hi! My name is Martha.",))
ANSWERED = History(("i run.",), (*OPENED.utterances, "Hello Martha!\nHow are you?"))


def echo():
    return writes(lambda prompt, sample: " " + prompt.replace("\n", "|").replace(" ", "_"))


def test_any_model_that_writes_is_told_a_transcript():
    rows = dialogue_model(echo()).reply([OPENED, ANSWERED], RULE)
    assert rows.texts == [
        "B_is_a_person_who_says:_i_like_tea._i_have_two_dogs.|A:_Hi!_My_name_is_Martha.|B:",
        "A_is_a_person_who_says:_i_run.|A:_Hi!_My_name_is_Martha.|B:_Hello_Martha!_How_are_you?|A:",
    ]


@pytest.mark.parametrize(
    ("said", "reply", "finish"),
    [
        (" Hello.\nA: And you?", "Hello.", "stop"),
        (" Hello. A: And you?", "Hello.", "stop"),
        ("\nA: Hi.", "", "stop"),
        ("", "", "end"),
        (" I am from the USA: really", "I am from the USA: really", "end"),
    ],
)
def test_a_reply_ends_with_its_line_or_where_the_other_speaks(said, reply, finish):
    rows = dialogue_model(writes(lambda prompt, sample: said)).reply([OPENED], RULE)
    assert (rows.texts, rows.finish, rows.errors) == ([reply], [finish], [None])


def test_bad_lines_are_rows_among_good_ones():
    model = dialogue_model(writes(lambda prompt, sample: f" {prompt[-2:-1]}{sample}"))
    rule = Decoding(max_new_tokens=9, temperature=1.0, samples=2)
    rows = model.generate(["Hi!", OPENED.prompt(), "[]", ANSWERED.prompt(), OPENED.prompt()], rule)
    assert rows.prompt.tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4] and rows.sample.tolist() == [0, 1] * 5
    bad = [None, None]
    assert rows.texts == [*bad, "B0", "B1", *bad, "A0", "A1", "B0", "B1"]
    assert [error is ResponseError.UNPARSABLE for error in rows.errors] == [
        text is None for text in rows.texts
    ]
    assert "is not a conversation history" in rows.details[0]
    assert rows.token_count.tolist() == [0, 0, 1, 1, 0, 0, 1, 1, 1, 1]
    assert len(model.generate([], rule)) == 0


def test_a_failing_models_rows_fail_and_an_empty_history_is_no_error():
    rows = dialogue_model(load_puppet("failing")).reply([OPENED], RULE)
    assert rows.texts == [None] and rows.errors == [ResponseError.MODEL_ERROR]
    assert dialogue_model(echo()).reply([History((), ())], RULE).texts == ["A:"]


def test_a_label_stands_at_the_end_of_the_history():
    labelled = dialogue_model(echo(), DialogueOptions(label=" STYLE no_bias"))
    text = labelled.reply([OPENED], RULE).texts[0]
    assert text.endswith("Martha._STYLE_no_bias|B:")
    assert labelled.fingerprint != dialogue_model(echo()).fingerprint


def test_it_is_a_model_that_tells_its_format():
    model = dialogue_model(echo())
    assert is_a(model, LanguageModel) and is_a(model, TextGenerator)
    told = model.fingerprint["dialogue"]
    assert told["format"] == "transcript" and told["because"] and told == model.describe()["dialogue"]
    assert model.log_likelihoods(["two words"]).sums.tolist() == [-4.0]


def test_the_opener_is_in_the_window_of_what_is_read_whole():
    model = dialogue_model(echo())
    assert model.window(OPENED) and not model.window(History((), ()))


def test_options_and_models_that_cannot_be_are_refused():
    with pytest.raises(UsageError, match="Did you mean 'dialogpt'"):
        DialogueOptions(format="dialogtp")
    with pytest.raises(UsageError, match="'training' or 'self-chat'"):
        DialogueOptions(persona_layout="both")
    with pytest.raises(UsageError, match="truncate must be at least 1 token, got 0"):
        DialogueOptions(truncate=0)
    with pytest.raises(UsageError, match="dialogue_model: invalid model='gpt2'; expected LanguageModel"):
        dialogue_model("gpt2")
    with pytest.raises(Unsupported, match=r"The tokens of puppet/writer \(Puppet\) are not known"):
        dialogue_model(echo()).encoded(OPENED, "Hi.")


def test_where_nothing_read_is_kept_any_number_of_conversations_is_held_at_once():
    assert dialogue_model(echo()).conversations_at_once is None
