"""One process at a time in a run directory: a lock the system drops when its holder dies."""

import json
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from evenhand.schema import UsageError, WriteError
