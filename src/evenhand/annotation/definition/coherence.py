"""Check that the parts of a study fit together: names, questions, their items, and rules that can have an effect."""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import chain

from evenhand.annotation.definition.items import Conversation, Item
from evenhand.annotation.definition.parts import (
    About,
    Assignment,
    Block,
    Completion,
    Hidden,
    Onboarding,
    Scale,
)
from evenhand.annotation.definition.problems import Path, Problem, format_path
from evenhand.annotation.definition.questions import Choice, FreeText, Likert, Marks, PairChoice, Question
from evenhand.annotation.definition.reach import idle_rules
from evenhand.annotation.definition.rules import OnboardingBelow, Rule
from evenhand.annotation.definition.surveys import list_statements
from evenhand.schema import did_you_mean


def find_problems(
    name: str,
    *,
    questions: Sequence[Question],
    items: Sequence[Item],
    onboarding: Onboarding | None,
    hidden: Hidden,
    rules: Sequence[Rule],
    assignment: Assignment,
    survey: Sequence[Block],
    completion: Completion,
) -> list[Problem]:
    """Return all inconsistencies of a study whose parts are individually valid."""
    trained = onboarding.items if onboarding else ()
    placed = [
        *((("items", place), item) for place, item in enumerate(items)),
        *((("onboarding", "items", place), item) for place, item in enumerate(trained)),
        *((("hidden", "gold", place), item) for place, item in enumerate(hidden.gold)),
    ]
    return [
        *_questions(questions),
        *_survey(questions, survey),
        *chain.from_iterable(_item(path, item, questions) for path, item in placed),
        *_find_repeated(((*path, "id"), item.id) for path, item in placed),
        *_conversations(placed),
        *_hidden(hidden, assignment),
        *_assignment(name, assignment, completion),
        *_not_passed(completion, onboarding, rules),
        *idle_rules(questions, items, onboarding, hidden, rules, assignment),
    ]


def _find_repeated(named: Iterable[tuple[Path, Hashable]], what: str = "the name") -> Iterator[Problem]:
    """Yield a problem for each repeated name."""
    first: dict[Hashable, Path] = {}
    for path, name in named:
        if name in first:
            yield Problem(
                path, f"{what} {name!r} is already used in {format_path(first[name][:-1])}; expected another"
            )
        else:
            first[name] = path


def _questions(questions: Sequence[Question]) -> Iterator[Problem]:
    for place, question in enumerate(questions):
        yield from _question(("questions", place), question)


def _question(path: Path, question: Question) -> Iterator[Problem]:
    if question.id.endswith("-reason") or question.id.rstrip("0123456789").endswith("-turn-"):
        yield Problem(
            (*path, "id"),
            "ends like the field of a reason or of a turn (-reason, -turn-3); expected another name",
        )
    match question:
        case Choice() | Marks():
            options = question.options
            yield from _find_repeated(
                ((*path, "options", n, "id"), option.id) for n, option in enumerate(options)
            )
            yield from _find_repeated(
                (((*path, "options", n, "label"), option.label) for n, option in enumerate(options)),
                "the label",
            )
        case Likert() if question.low >= question.high or question.high - question.low > 100:
            yield Problem(
                (*path, "high"),
                f"is {question.high} where low is {question.low}; expected 1 to 100 more than low",
            )
        case FreeText() if question.minimum > question.maximum:
            yield Problem(
                (*path, "minimum"),
                f"is {question.minimum}, and maximum {question.maximum}; expected less or as much",
            )
        case PairChoice():
            if len({*question.labels, question.tie}) < 3:
                yield Problem((*path, "labels"), "the answers have the same label; expected different ones")


def _survey(questions: Sequence[Question], survey: Sequence[Block]) -> Iterator[Problem]:
    ids: list[tuple[Path, Hashable]] = [
        (("questions", n, "id"), question.id) for n, question in enumerate(questions)
    ]
    yield from _find_repeated((("survey", n, "id"), block.id) for n, block in enumerate(survey))
    for place, block in enumerate(survey):
        path: Path = ("survey", place)
        if isinstance(block, About):
            for n, question in enumerate(block.questions):
                ids.append(((*path, "questions", n, "id"), question.id))
                yield from _question((*path, "questions", n), question)
            continue
        yield from _scale(path, block)
        if block.use and any(other.use == block.use for other in survey[:place] if isinstance(other, Scale)):
            yield Problem((*path, "use"), f"{block.use} is asked already; expected each scale once")
        elif not block.use:
            ids += [((*path, "statements", n, "id"), said.id) for n, said in enumerate(block.statements)]
    yield from _find_repeated(ids)


def _scale(path: Path, scale: Scale) -> Iterator[Problem]:
    if (scale.use is None) == (not scale.statements):
        found = "neither" if scale.use is None else "both"
        yield Problem(path, f"has {found} of `use` and `statements`; expected one of them")
        return
    if scale.use and (scale.low, scale.high) != (1, 7):
        yield Problem((*path, "low"), f"{scale.use} is rated from 1 to 7; leave out low and high")
    elif scale.low >= scale.high or scale.high - scale.low > 100:
        yield Problem(
            (*path, "high"), f"is {scale.high} where low is {scale.low}; expected 1 to 100 more than low"
        )
    if scale.draw and scale.draw > (many := len(list_statements(scale))):
        yield Problem((*path, "draw"), f"is {scale.draw} of {many} statements; expected at most {many}")


def _item(path: Path, item: Item, questions: Sequence[Question]) -> Iterator[Problem]:
    for question in questions:
        if isinstance(question, PairChoice) and item.kind != "pair":
            yield Problem(
                path,
                f"is a {item.kind}, and the question {question.id!r} asks which of a pair; expected `pair`, or a "
                "question of another kind",
            )
        if isinstance(question, Marks) and item.kind == "pair":
            yield Problem(
                path,
                f"is a pair, and the question {question.id!r} has turns marked; expected `conversation` or `text`",
            )
    if item.pair and item.pair[0].id == item.pair[1].id:
        yield Problem(
            (*path, "pair"), f"compares the conversation {item.pair[0].id!r} with itself; expected two"
        )
    for where, conversation in _list_conversations(path, item):
        spoke = [turn.speaker for turn in conversation.turns]
        if conversation.speaker is not None and conversation.speaker not in spoke:
            yield Problem(
                (*where, "speaker"),
                f"{conversation.speaker!r} has no turn; expected one of {', '.join(map(repr, dict.fromkeys(spoke)))}"
                + did_you_mean(conversation.speaker, spoke, ". "),
            )
    yield from _check_expected(path, item, {question.id: question for question in questions})


def _check_expected(path: Path, item: Item, questions: dict[str, Question]) -> Iterator[Problem]:
    if path[0] == "items":
        for name in ("expected", "explanation"):
            if getattr(item, name):
                yield Problem(
                    (*path, name),
                    "is used only in onboarding and gold items; move the item there, or remove it",
                )
        return
    if not item.expected:
        yield Problem((*path, "expected"), "is missing; expected the right answer, as `QUESTION: ANSWER`")
    for name, answer in item.expected.items():
        place: Path = (*path, "expected", name)
        if name not in questions:
            yield Problem(
                place,
                f"there is no question {name!r}; expected one of {', '.join(questions)}"
                + did_you_mean(name, questions, ". "),
            )
            continue
        allowed = _answers(questions[name])
        if not allowed:
            yield Problem(
                place, "is a question without right answers; expected one of kind pair, choice or likert"
            )
        elif answer not in allowed:
            known = ", ".join(allowed) if len(allowed) <= 12 else f"{allowed[0]} to {allowed[-1]}"
            yield Problem(
                place, f"is {answer!r}; expected one of {known}" + did_you_mean(answer, allowed, ". ")
            )


def _answers(question: Question) -> list[str]:
    match question:
        case PairChoice():
            return ["a", "b", *(["tie"] if question.tie is not None else [])]
        case Choice():
            return [option.id for option in question.options]
        case Likert():
            return [str(number) for number in range(question.low, question.high + 1)]
    return []


def _list_conversations(path: Path, item: Item) -> Iterator[tuple[Path, Conversation]]:
    if item.pair:
        yield (*path, "pair", 0), item.pair[0]
        yield (*path, "pair", 1), item.pair[1]
    elif item.conversation:
        yield (*path, "conversation"), item.conversation


def _conversations(placed: Sequence[tuple[Path, Item]]) -> Iterator[Problem]:
    """Check that a name identifies one conversation, and that annotators do not see a
    conversation before they judge it.
    """
    first: dict[str, tuple[Path, Conversation | None]] = {}
    for path, item in placed:
        seen: list[tuple[Path, str, Conversation | None]] = [
            (where, said.id, said) for where, said in _list_conversations(path, item)
        ]
        for where, name, said in seen or [(path, item.id, None)]:
            at, known = first.setdefault(name, (where, said))
            if at == where:
                continue
            if (known is None) != (said is None) or (known and said and _differ(known, said)):
                yield Problem(
                    (*where, "id"),
                    f"{name!r} names something else in {format_path(at)}; expected another name",
                )
            elif at[0] == "items" and where[0] != "items":
                yield Problem(
                    (*where, "id"),
                    f"{name!r} is also judged in {format_path(at)}, and annotators must not see it before; "
                    "expected another "
                    "conversation",
                )


def _differ(one: Conversation, other: Conversation) -> bool:
    return one.turns != other.turns or one.model != other.model


def _hidden(hidden: Hidden, assignment: Assignment) -> Iterator[Problem]:
    if hidden.gold_per_unit > len(hidden.gold):
        yield Problem(
            ("hidden", "gold_per_unit"),
            f"is {hidden.gold_per_unit}, and there are {len(hidden.gold)} gold items; expected at most as many",
        )
    if hidden.gold and not hidden.gold_per_unit:
        yield Problem(("hidden", "gold"), "is never shown; expected `gold_per_unit` of at least 1")
    if hidden.duplicates_per_unit > assignment.items_per_unit:
        yield Problem(
            ("hidden", "duplicates_per_unit"),
            f"is {hidden.duplicates_per_unit}, and a unit has {assignment.items_per_unit} items; expected at most that",
        )


def _assignment(name: str, assignment: Assignment, completion: Completion) -> Iterator[Problem]:
    if name in assignment.linked:
        yield Problem(
            ("assignment", "linked", assignment.linked.index(name)),
            "is this study; expected the names of others",
        )
    yield from _find_repeated(
        (("assignment", "linked", n), other) for n, other in enumerate(assignment.linked)
    )
    if completion.code and completion.per_unit_codes:
        yield Problem(
            ("completion", "code"), "is set together with per_unit_codes; expected only one of them"
        )


def _not_passed(
    completion: Completion, onboarding: Onboarding | None, rules: Sequence[Rule]
) -> Iterator[Problem]:
    if onboarding and any(isinstance(rule, OnboardingBelow) and rule.action == "block" for rule in rules):
        return
    for name in ("not_passed_code", "not_passed_address"):
        if getattr(completion, name):
            yield Problem(
                ("completion", name),
                "is never shown; expected `onboarding` with a rule `onboarding_below` whose action is block",
            )
