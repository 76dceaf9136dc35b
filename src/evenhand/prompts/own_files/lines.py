"""Read a user's text file with one text per line."""

from pathlib import Path

from evenhand.schema import DataError, is_file, missing_file


def read_lines(path: Path, expected: str) -> list[str]:
    """Return the lines of a UTF-8 text file without their line ends, which are LF, CR LF or CR.

    Form feeds and U+2028 are not line ends, because they occur within texts. `expected` is the documented format, for
    error messages. Raises a DataError for a file that is missing or cannot be read.
    """
    if not is_file(path):
        raise missing_file(path, expected)
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise DataError(f"{path} cannot be read as UTF-8: {error}.", expected) from error
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}.", expected) from error
    return lines[:-1] if lines[-1] == "" else lines
