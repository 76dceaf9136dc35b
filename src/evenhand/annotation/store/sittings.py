"""What a person is shown next and what they say: units, leases, votes; each function is one transaction."""

from collections.abc import Mapping
from datetime import datetime

from evenhand.annotation.definition import Answer
from evenhand.annotation.store.steps import Step
from evenhand.annotation.store.store import Store


def step(store: Store, person: str, now: datetime) -> Step:
    """Where a person stands; gives out a unit if consent and onboarding are behind them and none is open.

    Asking again (a reload, a second tab, after a crash) shows the same presentation. Raises UsageError for a person
    who is not there.
    """
    raise NotImplementedError


def agree(store: Store, person: str, now: datetime) -> None:
    """Store consent; a second time changes nothing."""
    raise NotImplementedError


def answer(
    store: Store, person: str, presentation: str, answers: Mapping[str, Answer], now: datetime
) -> None:
    """Store a person's answers to one presentation, once: the same form sent again changes nothing.

    answers: by question, already checked (`definition.check_answers`). Raises UsageError for a presentation that is
    not this person's; LeaseLost where its time ran out and somebody else holds the place.
    """
    raise NotImplementedError


def read_correction(store: Store, person: str, presentation: str, now: datetime) -> None:
    """The explanation of an onboarding item was read; a second time changes nothing."""
    raise NotImplementedError


def answer_survey(
    store: Store, person: str, survey: str, answers: Mapping[str, Answer], now: datetime
) -> None:
    """Store the answers to a survey block, by statement or question; None in `answer`: skipped. Once, as `answer`."""
    raise NotImplementedError


def next_unit(store: Store, person: str, now: datetime) -> None:
    """The person read that a unit is complete and wants another; a second time changes nothing."""
    raise NotImplementedError


def withdraw(store: Store, person: str, now: datetime) -> None:
    """Take a person and everything they said out of the database; their places go to others.

    What stays: that somebody withdrew (audit log, without the pseudonym) and that the invite was used.
    """
    raise NotImplementedError
