"""The helper that distinguishes linear from quadratic work, with a fake clock and with real work."""

import re
from itertools import cycle

import pytest

from tests.helpers import growth
from tests.helpers.fakes import Clock
from tests.helpers.growth import ATTEMPTS, MOST, TIMES, assert_grows_linearly


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(growth, "time", clock)
    return clock


@pytest.mark.parametrize("scale", [1e-7, 1e-3])  # the small input takes less and more than SHORTEST
@pytest.mark.parametrize(("power", "passes"), [(0, True), (1, True), (1.5, True), (2, False), (3, False)])
def test_growth_is_judged_by_its_power(clock: Clock, scale: float, power: float, passes: bool) -> None:
    assert (TIMES**power < MOST) is passes

    def work(size: int) -> None:
        clock.sleep(scale * size**power)

    if passes:
        assert_grows_linearly(work, int, 800)
    else:
        with pytest.raises(AssertionError, match=rf"8 times the input took {TIMES**power} times as long"):
            assert_grows_linearly(work, int, 800)


def test_one_attempt_on_an_idle_machine_is_enough_for_linear_work(clock: Clock) -> None:
    measured: list[int] = []

    def work(size: int) -> None:
        measured.append(size)
        is_busy = size == 800 and measured.count(800) < ATTEMPTS
        clock.sleep(size * (0.01 if is_busy else 0.001))

    assert_grows_linearly(work, int, 800)
    assert measured.count(800) == ATTEMPTS


def test_quadratic_work_fails_where_the_machine_is_sometimes_twice_as_slow(clock: Clock) -> None:
    slowness = cycle([2, 1, 1])
    with pytest.raises(AssertionError, match=r"took \d\d times as long"):
        assert_grows_linearly(lambda size: clock.sleep(1e-6 * size**2 * next(slowness)), int, 800)


def test_a_linear_pattern_passes_and_a_quadratic_one_fails() -> None:
    assert_grows_linearly(re.compile("[ab]+c|$").match, "a".__mul__, 400_000)
    with pytest.raises(AssertionError, match="8 times the input took"):
        assert_grows_linearly(re.compile("a+b").search, "a".__mul__, 8_000)
