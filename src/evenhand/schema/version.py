"""The version of the running evenhand, for records, pages and `--version`."""

from importlib.metadata import version

VERSION = __version__ = version("evenhand")
