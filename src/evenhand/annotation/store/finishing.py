"""Finish a task batch: survey blocks, completion, and applying the exclusion rules to an annotator's answers."""

import secrets

import polars as pl
from sqlalchemy import insert, select, update

from evenhand.annotation.definition import About, OnboardingBelow, Scale, list_statements
from evenhand.annotation.quality import Broken, broken_rules
from evenhand.annotation.store import slots
from evenhand.annotation.store.allocation import draw_statements, draws
from evenhand.annotation.store.rows import read_rows
from evenhand.annotation.store.tables import Record, surveys, units
from evenhand.annotation.store.visits import Visit, list_presentations, lock_study, units_done
from evenhand.schema import VOTES


def survey_open(at: Visit, unit: Record) -> Record | None:
    """Return the next unanswered survey block of a task batch."""
    return at.connection.execute(
        select(surveys)
        .where(surveys.c.unit_id == unit.id, surveys.c.answered_at.is_(None))
        .order_by(surveys.c.position)
        .limit(1)
    ).one_or_none()


def finish(at: Visit, unit: Record) -> Visit:
    """Complete a task batch whose presentations are all answered, unless survey blocks are still open."""
    lock_study(at)
    if unit.kind == "onboarding":
        at = _close(at, unit)
        return _judge_onboarding(at, unit)
    if not unit.surveyed:
        _draw_surveys(at, unit)
    if survey_open(at, unit) is not None:
        return at
    at = _close(at, unit)
    at = at.set(units=at.person.units + 1)
    before = at.person.left_out
    at, broken = _apply_rules(at)
    if at.counts and not at.person.exempt and any(one.action == "block" for one in broken):
        at = at.set(state="blocked", blocked="rule")
        slots.give_back(at)
    elif at.counts and units_done(at) >= at.study.assignment.units_per_person:
        at = at.set(state="done")
    if at.person.left_out:
        slots.give_back(at)
    elif before and at.counts:
        slots.take_back(at)
    return at


def abandon(at: Visit, unit: Record) -> None:
    """End a task batch that is empty because all its items went to others before a real item was answered."""
    at.connection.execute(update(units).where(units.c.id == unit.id).values(state="abandoned"))


def _close(at: Visit, unit: Record) -> Visit:
    at.connection.execute(
        update(units).where(units.c.id == unit.id).values(state="complete", complete_at=at.now)
    )
    return at


def _judge_onboarding(at: Visit, unit: Record) -> Visit:
    at, broken = _apply_rules(at)
    failed = [
        one
        for one in broken
        if one.rule == OnboardingBelow.model_fields["rule"].default and one.action != "flag"
    ]
    onboarding = at.study.onboarding
    if failed and onboarding is not None and unit.number < onboarding.attempts:
        return at
    if any(one.action == "block" for one in failed):
        return at.set(state="not passed", blocked=at.person.blocked or "rule")
    return at.set(passed_at=at.now, state="working" if at.counts else at.person.state)


def _apply_rules(at: Visit) -> tuple[Visit, list[Broken]]:
    """Apply the rules to an annotator. One who is excluded continues, but keeps places only in the
    current task batch.
    """
    broken = _broken(at)
    left_out = any(one.action == "exclude" for one in broken)
    return at.set(broken=list(dict.fromkeys(one.rule for one in broken)), left_out=left_out), broken


def _broken(at: Visit) -> list[Broken]:
    if not at.study.rules:
        return []
    rows = read_rows(at.connection, at.store, person=at.person.id)
    return broken_rules(pl.DataFrame(list(rows), schema=dict(VOTES), orient="row"), at.study.rules)


def _draw_surveys(at: Visit, unit: Record) -> None:
    """Store the survey blocks after this task batch: the rest of each scale, and once the
    questions about the annotator.
    """
    asked: dict[str, set[str]] = {}
    for row in at.connection.execute(
        select(surveys.c.block, surveys.c.statements).where(surveys.c.person_id == at.person.id)
    ):
        asked.setdefault(row.block, set()).update(row.statements)
    position = max((shown.position for shown in list_presentations(at, unit.id)), default=-1) + 1
    for block in at.study.survey:
        if isinstance(block, About):
            drawn = [] if block.id in asked else [question.id for question in block.questions]
        else:
            drawn = _statements(at, unit, block, asked.get(block.id, set()))
        if drawn:
            at.connection.execute(
                insert(surveys).values(
                    unit_id=unit.id,
                    person_id=at.person.id,
                    token=secrets.token_urlsafe(16),
                    block=block.id,
                    statements=drawn,
                    position=position,
                )
            )
            position += 1
    at.connection.execute(update(units).where(units.c.id == unit.id).values(surveyed=True))


def _statements(at: Visit, unit: Record, scale: Scale, asked: set[str]) -> list[str]:
    random = draws(at.study.seed, "statements", scale.id, at.person.number, unit.number)
    names = [statement.id for statement in list_statements(scale)]
    return draw_statements(names, asked, scale.draw, random)
