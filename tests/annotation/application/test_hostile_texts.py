"""A hundred payloads as texts, names, labels, reasons: pages show them as they are, and nothing else happens."""

from evenhand.annotation.application.protection import Limits, Rate
from evenhand.annotation.application.wording import shown_text
from tests.annotation.application.browsing import Page, Visitor
from tests.annotation.application.payloads import PAYLOADS
from tests.annotation.application.studies import REASON, conversation, text_study

GOOD = {"regard": "positive", "regard-reason": "good words", "sure": "5"}
KNOWN_TAGS = {
    *("html", "head", "meta", "title", "link", "body", "header", "main", "footer", "nav", "section", "div"),
    *("a", "p", "h1", "h2", "span", "bdi", "strong", "time", "ol", "ul", "li", "details", "summary"),
    *("form", "input", "fieldset", "legend", "label", "textarea", "button", "select", "option"),
}


def same(text):
    """As HTML parsers give texts back."""
    return shown_text(text).replace("\r\n", "\n").replace("\r", "\n")


def hold_nothing_else(page: Page):
    assert {tag for tag, _ in page.tags} <= KNOWN_TAGS
    for _, said in page.tags:
        assert not [
            name for name in said if name.startswith("on") or name in ("style", "srcdoc", "formaction")
        ]
    assert {form.action.split("?")[0] for form in page.forms} <= {"", "/study/consent", "/study/answer"}
    assert not [link for link in page.links if not link.startswith(("/study", "#"))]


def test_a_hundred_payloads_as_texts_contexts_and_reasons(stored):
    study = text_study(
        PAYLOADS, items=[{"id": f"i{n}", "text": text, "context": text} for n, text in enumerate(PAYLOADS)]
    )
    somebody = Visitor(stored(study), limits=Limits(posts_of_session=Rate(1000, 100)))
    somebody.come()
    page = somebody.send()
    seen = []
    for _ in PAYLOADS:
        hold_nothing_else(page)
        context, text = page.texts["said"]
        assert context == text
        seen.append(text)
        somebody.clock.on(seconds=30)
        page = somebody.send(GOOD | {"own": PAYLOADS[len(seen) - 1], "sure": PAYLOADS[len(seen) - 1]})
        assert page.status == 422
        hold_nothing_else(page)
        typed = dict(page.form.fields)
        assert typed["own"] == PAYLOADS[len(seen) - 1].replace("\r", "") and typed["sure"] == typed["own"]
        page = somebody.send(GOOD | {"own": PAYLOADS[len(seen) - 1]})
    assert page.h1 == "This set is complete"
    assert sorted(seen) == sorted(same(text) for text in PAYLOADS)


def hostile_pair_study():
    """Payloads wherever a study has a text; one a place, all hundred in the turns and their speakers."""
    names = [f"{text[:190]}" for text in PAYLOADS]
    turns = list(zip(names, PAYLOADS, strict=True))
    p = iter(PAYLOADS * 2)
    return text_study(
        [""],
        title=next(p),
        instructions="\n\n".join(PAYLOADS[:50]),
        consent={"text": "\n\n".join(PAYLOADS[50:]), "warning": next(p), "agree": next(p)},
        questions=[
            {
                "kind": "pair",
                "id": "which",
                "text": next(p),
                "help": next(p),
                "labels": [next(p), next(p)],
                "tie": next(p),
                "reason": REASON | {"label": next(p)},
            },
            {
                "kind": "choice",
                "id": "one",
                "text": next(p),
                "options": [{"id": f"o{n}", "label": text} for n, text in enumerate(PAYLOADS)],
                "reason": {"label": next(p), "required": False},
            },
            {"kind": "likert", "id": "rate", "text": next(p), "labels": [next(p), next(p)]},
        ],
        items=[
            {
                "id": "pair",
                "groups": {"axis": next(p)},
                "pair": [conversation("a", turns, names[0]), conversation("b", turns[::-1], names[1])],
            }
        ],
        completion={"text": next(p)},
    )


def test_payloads_in_every_place_of_a_study(stored):
    somebody = Visitor(stored(hostile_pair_study()))
    page = somebody.come()
    hold_nothing_else(page)
    assert page.texts["own"][:-1] == [" ".join(same(text).strip().split("\n")) for text in PAYLOADS[50:]]
    page = somebody.send()
    hold_nothing_else(page)
    said = [same(text) for text in PAYLOADS]
    sides = page.texts["said"][:100], page.texts["said"][100:]
    assert sides in ((said, said[::-1]), (said[::-1], said))
    options = page.form.offered["one"]
    assert len(options) == 100
    page = somebody.send({"which": "left", "which-reason": "x" * 9, "one": "o3", "rate": "1"})
    hold_nothing_else(page)
    assert not [link for link in page.links if "javascript" in link]
