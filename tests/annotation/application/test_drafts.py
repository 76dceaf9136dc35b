"""What is typed and not stored is kept for a while, within bounds, and for its own page alone."""

from evenhand.annotation.application.drafts import Drafts
from tests.annotation.application.clocks import Clock

TYPED = {"engaging": ("left",), "engaging-reason": ("Sie ist lebhafter: \u00e4\U0001f44b\ufffd",)}


def test_a_draft_comes_back_on_its_page_alone_and_for_a_day():
    clock = Clock()
    drafts = Drafts(clock)
    drafts.keep("p-one", "first", {"engaging": ("right",)}, sent=False)
    drafts.keep("p-one", "first", TYPED, sent=True)
    kept = drafts.of("p-one", "first")
    assert kept.typed == TYPED and kept.sent
    assert drafts.of("p-one", "second") is None and drafts.of("p-two", "first") is None
    clock.on(hours=23)
    assert drafts.unsent("p-one") and drafts.of("p-one", "first")
    clock.on(hours=2)
    assert not drafts.unsent("p-one") and drafts.of("p-one", "first") is None


def test_the_oldest_make_room_and_what_is_forgotten_gives_room_back():
    drafts = Drafts(Clock(), most_bytes=1000)
    for number in range(50):
        drafts.keep(f"p-{number}", "page", {"own": ("\u00e4" * 100,)}, sent=True)  # 200 bytes and a little
    assert [number for number in range(50) if drafts.unsent(f"p-{number}")] == [46, 47, 48, 49]
    drafts.forget("p-47")
    drafts.keep("p-new", "page", {"own": ("x" * 150,)}, sent=True)
    assert drafts.unsent("p-46") and drafts.unsent("p-new") and not drafts.unsent("p-47")
    drafts.keep("p-large", "page", {"own": ("x" * 2000,)}, sent=True)
    assert not drafts.unsent("p-large")
    drafts.forget("p-large")
    drafts.keep("p-after", "page", TYPED, sent=True)
    assert drafts.of("p-after", "page").typed == TYPED
