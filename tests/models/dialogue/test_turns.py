"""Golden token ids of the families that read turns one after the other, beside transformers' own tokenizers."""

import pytest

from evenhand.models.dialogue import History
from evenhand.models.dialogue.tokens import Cutter
from evenhand.models.dialogue.turns import (
    TurnLayout,
    as_written,
    blenderbot,
    blenderbot_small,
    dialogpt,
    words_apart,
)
from evenhand.schema import Unsupported
from tests.models.dialogue import tokenizers

TOLD = History(("i like tea.", "i run."), ("Hi! i Martha.", "Hello Martha!", "Hi!"))
HUB_TEMPLATE = (
    "{% for message in messages %}{% if message['role'] == 'user' %}{{ ' ' }}{% endif %}{{ message['content'] }}"
    "{% if not loop.last %}{{ '  ' }}{% endif %}{% endfor %}{{ eos_token }}"
)
"""What the hub's BlenderBot folders hold, and transformers' older `_build_conversation_input_ids` did."""


@pytest.fixture(scope="module")
def large() -> Cutter:
    return Cutter(tokenizers.blenderbot(), "large")


@pytest.fixture(scope="module")
def gpt() -> Cutter:
    return Cutter(tokenizers.dialogpt(), "gpt")


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Cutter:
    return Cutter(tokenizers.blenderbot_small(tmp_path_factory.mktemp("small")), "small")


def pieces(layout: TurnLayout, history: History, most: int | None = None, **how) -> list[str]:
    ids = layout.tokenize_history(history, how.pop("label", None)).last(most, **how)
    return [layout.cutter.tokenizer.convert_ids_to_tokens(one) for one in ids]


PERSONA = [
    "Ġyour",
    "Ġpersona",
    ":",
    "Ġi",
    "Ġlike",
    "Ġtea",
    ".",
    "Ċ",
    "your",
    "Ġpersona",
    ":",
    "Ġi",
    "Ġrun",
    ".",
]
ANSWERS = ["Ġ", "Ġ", "ĠHello", "ĠMartha", "!", "Ġ", "Ġ", "ĠHi", "!", "</s>"]


def test_blenderbot_as_in_training(large):
    layout = blenderbot(large, "training")
    told = layout.tokenize_history(TOLD, None)
    assert pieces(layout, TOLD) == [*PERSONA, "Ċ", "Hi", "!", "Ġi", "ĠMartha", ".", *ANSWERS]
    # your persona : i like tea . \n your persona : i run . \n Hi ! i Martha .
    front = [51, 61, 44, 62, 66, 69, 40, 5, 54, 61, 44, 62, 72, 40, 5, 75, 42, 62, 81, 40]
    assert told.last(None) == [*front, 4, 4, 85, 81, 42, 4, 4, 74, 42, 2]
    assert (told.front, told.end, told.opener, told.head) == ([], [2], 15, 22)


def test_blenderbot_as_in_self_chats(large):
    layout = blenderbot(large, "self-chat")
    expected = [*PERSONA, "Ġ", "Ġ", "ĠHi", "!", "Ġi", "ĠMartha", ".", *ANSWERS]
    told = layout.tokenize_history(TOLD, None)
    assert pieces(layout, TOLD) == expected and expected[told.opener] == "ĠHi" and told.opener == 16


def test_turns_are_those_of_the_hubs_template_where_replies_keep_their_space(large):
    from transformers import BlenderbotTokenizer

    assert isinstance(large.tokenizer, BlenderbotTokenizer)
    said = ("Hi!", "Hello Martha!", "Hi!")
    ours = blenderbot(large, "training").tokenize_history(History((), said), None).last(None)

    def theirs(reply: str) -> list[int]:
        messages = [{"role": "user", "content": said[0]}, {"role": "assistant", "content": reply}]
        messages.append({"role": "user", "content": said[2]})
        text = large.tokenizer.apply_chat_template(messages, chat_template=HUB_TEMPLATE, tokenize=False)
        return large.tokenizer(text, add_special_tokens=False)["input_ids"]

    assert ours == theirs(" Hello Martha!")  # as the model writes it
    less = list(ours)
    less.remove(large.ids("  ")[0])  # cut to its words it loses one of two spaces in front
    assert theirs("Hello Martha!") == less != ours


def test_the_last_tokens_are_read_and_the_pinned_ones(large):
    layout = blenderbot(large, "training")
    whole = pieces(layout, TOLD)
    assert len(whole) == 30 and pieces(layout, TOLD, 30) == pieces(layout, TOLD, 30, pinned=True) == whole
    assert pieces(layout, TOLD, 16) == whole[-16:]
    assert pieces(layout, TOLD, 25, pinned=True) == [*whole[:22], "ĠHi", "!", "</s>"]
    told = layout.tokenize_history(TOLD, None)
    # utterance 1 begins at token 15: it is whole as long as 15 tokens of 30 are read
    assert [told.is_open(most) for most in (30, 16, 15, 14)] == [True, True, True, False]
    assert pieces(layout, TOLD, 15)[0] == "Hi"
    assert told.is_open(24, pinned=True) and not told.is_open(23, pinned=True)
    assert told.last(23, pinned=True) is None and told.last(1) is None


def test_a_label_is_read_last_and_never_left_out(large):
    layout = blenderbot(large, "training")
    assert pieces(layout, TOLD, 4, label=" Martha") == ["ĠHi", "!", "ĠMartha", "</s>"]
    opened = History((), ("Hi!",))
    assert pieces(layout, opened, label=" Martha") == ["ĠHi", "!", "ĠMartha", "</s>"]


def test_what_is_not_there_takes_no_room(large):
    layout = blenderbot(large, "training")
    assert layout.tokenize_history(History((), ()), None).last(None) == []
    assert pieces(layout, History(("i run.",), ())) == ["Ġyour", "Ġpersona", ":", "Ġi", "Ġrun", ".", "</s>"]
    empty = pieces(layout, History((), ("Hi!", "", "Hi!")))
    assert empty == ["ĠHi", "!", "Ġ", "Ġ", "Ġ", "Ġ", "ĠHi", "!", "</s>"]
    assert layout.tokenize_history(History(("i run.",), ()), None).opener is None


def test_a_reply_to_learn(large, gpt, small):
    told = History((), ("Hi!",))
    assert blenderbot(large, "training").reply(told, " Hello\nMartha!", None) == [85, 81, 42, 2]
    assert dialogpt(gpt, "training").reply(told, "Hello Martha!", None) == [86, 78, 39, 0]
    assert blenderbot_small(small).reply(told, "Hello Martha!", None) == [16, 17, 18, 9, 2]


def test_dialogpt(gpt):
    from transformers import GPT2Tokenizer

    assert isinstance(gpt.tokenizer, GPT2Tokenizer)
    bare = History((), TOLD.utterances)
    told = dialogpt(gpt, "training").tokenize_history(bare, None)
    # Hi ! i Martha . <end> Hello Martha ! <end> Hi ! <end>
    assert told.last(None) == [72, 39, 59, 78, 37, 0, 86, 78, 39, 0, 72, 39, 0]
    end = gpt.tokenizer.eos_token
    assert told.last(None) == gpt.tokenizer("".join(one + end for one in bare.utterances))["input_ids"]
    layout = dialogpt(gpt, "training")
    first = ["your", *PERSONA[1:], "Ċ", "Hi", "!", "Ġi", "ĠMartha", ".", end]
    assert pieces(layout, TOLD)[:21] == first
    apart = pieces(dialogpt(gpt, "self-chat"), TOLD)
    assert apart[:17] == ["your", *PERSONA[1:], end, "Hi", "!"]


def test_blenderbot_small(small):
    told = History(("i like tea.",), ("Hi!", "Hello Martha!"))
    layout = blenderbot_small(small)
    # your persona : i like tea . <line> hi ! <line> hello mar@@ tha !
    assert layout.tokenize_history(told, None).last(None) == [
        13,
        14,
        10,
        5,
        6,
        7,
        8,
        4,
        15,
        9,
        4,
        16,
        17,
        18,
        9,
    ]
    assert layout.tokenize_history(told, None).opener == 8 and layout.tokenize_history(told, None).head == 11
    assert small.tokenizer.decode([16, 17, 18, 9]) == "hello martha !"


def test_blenderbot_small_beside_transformers_own_class(small):
    from transformers import BlenderbotSmallTokenizer

    assert isinstance(small.tokenizer, BlenderbotSmallTokenizer)
    layout = blenderbot_small(small)
    plain = History((), ("Hi, Martha!", "Hello. I like tea?"))
    text = "\n".join(plain.utterances)
    assert layout.tokenize_history(plain, None).last(None) == small.tokenizer(text)["input_ids"]
    # a colon stays within its word there, which the model never read in training
    assert small.ids("persona:") != small.ids("persona :") == [14, 10]


def test_a_tokenizer_without_the_tokens_of_its_format_is_refused(tmp_path):
    lineless = Cutter(tokenizers.blenderbot_small(tmp_path, without="__newln__"), "lineless")
    with pytest.raises(Unsupported, match="lineless has no token __newln__"):
        blenderbot_small(lineless)
    endless = Cutter(tokenizers.dialogpt(), "endless")
    endless.tokenizer.eos_token = None
    with pytest.raises(Unsupported, match="endless has no end token"):
        dialogpt(endless, "training")


def test_words_of_the_small_model_come_back_as_written():
    for text in ("hi! i'm martha, and you?", "that's it... isn't it?!"):
        assert as_written(words_apart(text)) == text


def test_line_breaks_and_special_tokens_of_the_small_model_are_no_words(small):
    layout, tokenizer = blenderbot_small(small), small.tokenizer
    # hello <line> mar@@ <line> <line> tha ! <unknown> hi <a row of the output head without a token>
    written = tokenizer.decode([16, 4, 17, 4, 4, 18, 9, 3, 15, 99], skip_special_tokens=False)
    assert "__newln__" in written and "__unk__" in written
    said = layout.normal_spelling(written)
    assert said == "hello mar tha! hi"
    read = layout.tokenize_history(
        History((), ("Hi!", layout.normal_spelling("hello __newln__ martha !"))), None
    ).last(None)
    assert read == [15, 9, 4, 16, 17, 18, 9] and tokenizer.unk_token_id not in read
    assert (
        layout.normal_spelling("__newln__") == ""
        and layout.normal_spelling("hello mar@@ __newln__") == "hello mar"
    )


def test_labels_that_cannot_be_said_are_refused(large, small):
    large.check_label(" Hi Martha")
    small.check_label(" I LIKE tea")
    for cutter, label in ((large, " 日本"), (large, " 7"), (small, " style"), (large, "  ")):
        with pytest.raises(Unsupported, match="cannot represent the label"):
            cutter.check_label(label)
