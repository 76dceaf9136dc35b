"""The URL at which a study was last served, for links that are created later; it is stored in the audit log."""

from datetime import datetime

from evenhand.annotation.store import Store, administration

SERVED = "served"
MOST_READ = 20_000
AT_ONCE = 500
COMMAND_LINE = "command line"


def remember_address(store: Store, address: str, now: datetime) -> None:
    """Store the URL at which annotators reach a study from now on."""
    administration.record(store, COMMAND_LINE, SERVED, address, now)


def last_address(store: Store) -> str | None:
    """Return the URL at which a study was last served; None if it was not served, or too long ago."""
    for offset in range(0, MOST_READ, AT_ONCE):
        lines = administration.audit_log(store, offset=offset, limit=AT_ONCE)
        for line in lines:
            if (line["actor"], line["action"]) == (COMMAND_LINE, SERVED):
                return str(line["subject"])
        if len(lines) < AT_ONCE:
            break
    return None
