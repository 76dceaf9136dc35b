"""Token buckets against a count by hand."""

import random
from threading import Thread

from evenhand.annotation.application.protection import Limiter, Rate, find_network


class Seconds:
    now = 0.0

    def __call__(self):
        return self.now


def test_in_the_long_run_no_more_than_the_rate_gets_through():
    clock, draw = Seconds(), random.Random(1)
    limiter, rate = Limiter(clock), Rate(10, 0.5)
    through = []
    for _ in range(5000):
        clock.now += draw.expovariate(2.0)
        if limiter.take("posts", "somebody", rate) == 0.0:
            through.append(clock.now)
    for start in range(len(through)):  # any window: at once, and what the time gives
        for end in (start + 5, start + 50):
            if end < len(through):
                assert end - start + 1 <= 10 + 0.5 * (through[end] - through[start]) + 1e-6
    assert len(through) >= 10 + 0.5 * clock.now * 0.95


def test_waiting_as_long_as_said_is_enough():
    clock = Seconds()
    limiter, rate = Limiter(clock), Rate(1, 0.1)
    assert limiter.take("x", "a", rate) == 0.0
    wait = limiter.take("x", "a", rate)
    assert 9.9 < wait <= 10.0
    assert limiter.take("x", "b", rate) == 0.0 and limiter.take("y", "a", rate) == 0.0
    clock.now += wait + 1e-9
    assert limiter.take("x", "a", rate) == 0.0


def test_what_is_remembered_has_an_end():
    limiter = Limiter(Seconds(), most=100)
    for number in range(1000):
        limiter.take("x", str(number), Rate(1, 0.001))
    assert len(limiter._buckets) == 100
    assert limiter.wait("x", "999", Rate(1, 0.001)) > 0


def test_many_threads_get_no_more_than_one():
    limiter, rate, through = Limiter(Seconds()), Rate(50, 0.0001), []

    def many():
        through.extend(1 for _ in range(200) if limiter.take("x", "a", rate) == 0.0)

    threads = [Thread(target=many) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(through) == 50


def test_a_subscriber_is_counted_once():
    assert (
        find_network("2001:db8::1") == find_network("2001:db8:0:0:ffff::7") != find_network("2001:db8:0:1::1")
    )
    assert find_network("::ffff:192.0.2.7") == "192.0.2.7"
