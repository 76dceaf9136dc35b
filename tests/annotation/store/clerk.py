"""A process that answers for persons one after another, and says of each answer that it is stored, once it is.

    python -m tests.annotation.store.clerk ADDRESS SEED

Each person is asked for by name, so that a process started again goes on with whom the last one left.
"""

import sys
from datetime import UTC, datetime
from random import Random

from evenhand.annotation.definition import Answer
from evenhand.annotation.store import LeaseLost, ShowItem, open_store, people, sittings
from tests.annotation.store.persons import act


def main(address: str, seed: str) -> None:
    store, random, ended = open_store(address), Random(), 0
    invite = people.invites(store)[0].id
    while ended < 20:
        now = datetime.now(UTC)
        person = people.arrive(store, invite, now, external=f"{seed}-{random.randrange(6)}")
        there = sittings.step(store, person, now)
        if isinstance(there, ShowItem):
            said = random.choice("ab")
            try:
                sittings.answer(store, person, there.presentation, {"who": Answer(said)}, datetime.now(UTC))
            except LeaseLost:
                continue
            print("stored", there.presentation, said, flush=True)
        elif not act(store, person, there, now):
            ended += 1
    store.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
