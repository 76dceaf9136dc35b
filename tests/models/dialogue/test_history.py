"""Histories as lines of text."""

import pytest

from evenhand.models.dialogue import History
from evenhand.schema import DataError


def test_turns_and_speakers_alternate_and_text_comes_back():
    told = History(("i like tea.",), ())
    for turn, speaker in enumerate("ABABABABABAB", start=1):
        assert (told.turn, told.speaker) == (turn, speaker)
        assert History.from_prompt(told.prompt()) == told and "\n" not in told.prompt()
        told = History(told.persona, (*told.utterances, f'say "{turn}"\n\u2028 José \\'))


@pytest.mark.parametrize(
    "text", ["", "Hi!", "[]", "{}", '{"persona":1,"utterances":[]}', '{"persona":[1],"utterances":[]}']
)
def test_other_text_is_no_history(text):
    with pytest.raises(DataError, match="is not a conversation history"):
        History.from_prompt(text)


def test_conversations_that_came_to_the_same_words_are_told_apart_by_their_number_alone() -> None:
    alike = [History(("i cook.",), ("Hi!", ""), chat) for chat in ("", "7", "8")]
    lines = [history.prompt() for history in alike]
    assert len(set(lines)) == 3 and "chat" not in lines[0]
    assert [History.from_prompt(line) for line in lines] == alike
    with pytest.raises(DataError):
        History.from_prompt('{"persona":[],"utterances":["Hi!"],"chat":7}')
