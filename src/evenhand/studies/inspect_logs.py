"""Inspect's .eval archives: one JSON file a sample, packed with Zstandard, which Python reads only from 3.14 on."""

import json
import struct
import zipfile
from pathlib import Path
from typing import Any

from evenhand.schema import DataError

ZSTANDARD = 93
LOCAL_HEADER = struct.Struct("<4s5H3I2H")  # of a file in a zip archive; names and extra fields follow


def read_eval_archive(path: Path) -> dict[str, Any]:
    """An .eval log in the shape of the .json one: `eval` and `samples`.

    Raises DataError for a damaged archive, or where the package zstandard is needed and not installed.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            entries = {entry.filename: entry for entry in archive.infolist()}
            if "header.json" not in entries:
                raise DataError(
                    f"{path} has no header.json: the evaluation did not end.", "Finish it in Inspect."
                )
            header: dict[str, Any] = json.loads(_content(archive, entries["header.json"]))
            names = [name for name in entries if name.startswith("samples/") and name.endswith(".json")]
            samples = [json.loads(_content(archive, entries[name])) for name in names]
    except (zipfile.BadZipFile, OSError, json.JSONDecodeError) as error:
        raise DataError(f"{path} cannot be read: {error}.", "Expected an .eval log of Inspect.") from error
    return {**header, "samples": samples}


def _content(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    if entry.compress_type != ZSTANDARD:
        return archive.read(entry)
    try:
        import zstandard
    except ImportError as error:
        raise DataError(
            f"{archive.filename} is packed with Zstandard.",
            "Install evenhand with the extra [inspect], or run `inspect log convert LOG --to json --output-dir DIR`.",
        ) from error
    with open(str(archive.filename), "rb") as file:
        file.seek(entry.header_offset)
        fields = LOCAL_HEADER.unpack(file.read(LOCAL_HEADER.size))
        file.seek(fields[-2] + fields[-1], 1)  # past name and extra field
        packed = file.read(entry.compress_size)
    content: bytes = zstandard.ZstdDecompressor().decompressobj().decompress(packed)
    return content
