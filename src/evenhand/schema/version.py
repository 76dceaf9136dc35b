"""The version of evenhand that is running, for records, pages and `--version`."""

from importlib.metadata import version

VERSION = __version__ = version("evenhand")
