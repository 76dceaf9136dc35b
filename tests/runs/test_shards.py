"""Shards on disk: whole or absent, unreadable ones named and set aside, write errors loud."""

import errno
import os
import resource

import polars as pl
import pytest

from evenhand.runs.shards import LABEL_PARTS, next_number, read_shards, set_aside_unreadable, write_shard
from evenhand.schema import LABELS, RESPONSES, DataError, WriteError


def rows(*ids, value=-1.0):
    frame = pl.DataFrame({"request_id": ids, "log_likelihood": [value] * len(ids)})
    return frame.with_columns(
        pl.lit(0 if name == "sample" else None, dtype=kind).alias(name)
        for name, kind in RESPONSES.items()
        if name not in frame.columns
    )


def test_what_is_written_is_read(tmp_path):
    assert read_shards(tmp_path / "absent").is_empty()
    assert write_shard(tmp_path, 1, rows("a", "b")).name == "part-000001.parquet"
    write_shard(tmp_path, 2, rows("c"))
    assert read_shards(tmp_path)["request_id"].to_list() == ["a", "b", "c"]
    assert list(read_shards(tmp_path).columns) == list(RESPONSES)
    assert read_shards(tmp_path, ["error"]).columns == ["request_id", "sample", "error"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["part-000001.parquet", "part-000002.parquet"]


def test_a_later_part_replaces_an_earlier_row(tmp_path):
    write_shard(tmp_path, 1, rows("a", "b", value=-1.0))
    write_shard(tmp_path, 2, rows("b", value=-5.0))
    assert dict(read_shards(tmp_path).select("request_id", "log_likelihood").rows()) == {"a": -1.0, "b": -5.0}


@pytest.mark.parametrize("keep", [0, 3, 100, -1])
def test_a_truncated_part_is_named_then_set_aside(tmp_path, keep):
    write_shard(tmp_path, 1, rows("a"))
    broken = write_shard(tmp_path, 2, rows("b"))
    broken.write_bytes(broken.read_bytes()[:keep])
    with pytest.raises(DataError, match=r"part-000002\.parquet cannot be read") as caught:
        read_shards(tmp_path)
    assert "evenhand audit" in caught.value.hint
    told = set_aside_unreadable(tmp_path)
    assert len(told) == 1
    assert "part-000002.parquet.corrupt" in told[0]
    assert read_shards(tmp_path)["request_id"].to_list() == ["a"]
    assert (tmp_path / "part-000002.parquet.corrupt").exists()
    assert next_number(tmp_path) == 3


def test_a_parquet_file_of_something_else_is_set_aside(tmp_path):
    pl.DataFrame({"x": [1]}).write_parquet(tmp_path / "part-000007.parquet")
    assert "part-000007.parquet" in set_aside_unreadable(tmp_path)[0]
    assert next_number(tmp_path) == 8


def test_leftover_temporaries_are_ignored_and_cleaned(tmp_path):
    write_shard(tmp_path, 1, rows("a"))
    (tmp_path / ".evenhand-0123456789abcdef.tmp").write_bytes(b"half a")
    assert read_shards(tmp_path).height == 1
    assert set_aside_unreadable(tmp_path) == []
    assert [path.name for path in tmp_path.iterdir()] == ["part-000001.parquet"]


def test_what_is_no_file_neither_hangs_nor_breaks_a_resume(tmp_path):
    """A folder called like a temporary is somebody's; a pipe or a folder in the place of a part cannot be read."""
    write_shard(tmp_path, 1, rows("a"))
    (tmp_path / f".evenhand-{1:016x}.tmp").mkdir()
    (tmp_path / f".evenhand-{1:016x}.tmp" / "kept").write_text("mine")
    os.mkfifo(tmp_path / f".evenhand-{2:016x}.tmp")
    (tmp_path / f".evenhand-{3:016x}.tmp").symlink_to(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "part-000002.parquet")
    (tmp_path / "part-000003.parquet").mkdir()
    with pytest.raises(DataError, match=r"part-000002\.parquet cannot be read: it is not a regular file"):
        read_shards(tmp_path)
    notes = set_aside_unreadable(tmp_path)
    assert ["part-000002" in notes[0], "part-000003" in notes[1], len(notes)] == [True, True, 2]
    assert read_shards(tmp_path)["request_id"].to_list() == ["a"]
    assert set_aside_unreadable(tmp_path) == [] and next_number(tmp_path) == 4
    assert (tmp_path / f".evenhand-{1:016x}.tmp" / "kept").read_text() == "mine"
    assert not (tmp_path / f".evenhand-{3:016x}.tmp").is_symlink()


def test_a_full_disk_is_a_write_error_and_leaves_no_trace(tmp_path, monkeypatch):
    write_shard(tmp_path, 1, rows("a"))

    def no_space(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(WriteError, match=r"part-000002.*No space left on device"):
        write_shard(tmp_path, 2, rows("b"))
    assert [path.name for path in tmp_path.iterdir()] == ["part-000001.parquet"]


def test_a_write_the_system_refuses_half_way_is_a_write_error(tmp_path):
    many = rows(*[os.urandom(16).hex() for _ in range(2000)])
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        with pytest.raises(WriteError, match="part-000001"):
            write_shard(tmp_path, 1, many)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list(tmp_path.iterdir()) == []


def test_a_part_of_an_earlier_version_is_read_with_nulls_for_what_came_later(tmp_path):
    old = rows("a").drop("finish")
    old.write_parquet(tmp_path / "part-000001.parquet")
    write_shard(tmp_path, 2, rows("b").with_columns(finish=pl.lit("end")))
    assert set_aside_unreadable(tmp_path) == []
    assert read_shards(tmp_path).select("request_id", "finish").rows() == [("a", None), ("b", "end")]
    assert dict(read_shards(tmp_path).schema) == dict(pl.DataFrame(schema=RESPONSES).schema)
    assert read_shards(tmp_path, ["finish"])["finish"].to_list() == [None, "end"]
    # Any other column must be there: a part without it is damaged.
    rows("c").drop("error").write_parquet(tmp_path / "part-000003.parquet")
    assert "part-000003" in set_aside_unreadable(tmp_path)[0]


def test_labels_are_parts_as_well(tmp_path):
    def said(score):
        values = {"text_id": "a", "label": "x", "score": score, "negative": True, "scores": [score]}
        return pl.DataFrame([values | {"error": None, "detail": None}], schema=LABELS)

    write_shard(tmp_path, 1, said(0.25), LABEL_PARTS)
    write_shard(tmp_path, 2, said(0.5), LABEL_PARTS)
    assert read_shards(tmp_path, None, LABEL_PARTS).equals(said(0.5))
    assert read_shards(tmp_path, ["score"], LABEL_PARTS).rows() == [("a", 0.5)]
    write_shard(tmp_path, 3, rows("a"))
    assert len(set_aside_unreadable(tmp_path, LABEL_PARTS)) == 1


def test_a_part_with_one_changed_byte_is_set_aside(tmp_path):
    """Also one of an earlier version, without a checksum, that would make polars panic or ask for all memory."""
    write_shard(tmp_path, 1, rows("a"))
    whole = write_shard(tmp_path, 2, rows("b", "c")).read_bytes()
    for place in (200, len(whole) // 2):
        changed = bytearray(whole)
        changed[place] ^= 0x20
        (tmp_path / "part-000002.parquet").write_bytes(changed)
        assert "checksum" in set_aside_unreadable(tmp_path)[0]
    pl.DataFrame({"text": [f"a text {i % 7}" for i in range(300)], "n": range(300)}).write_parquet(
        tmp_path / "part-000003.parquet"
    )
    plain = bytearray((tmp_path / "part-000003.parquet").read_bytes())
    plain[694] = 0xFF
    (tmp_path / "part-000003.parquet").write_bytes(plain)
    assert "part-000003.parquet.corrupt" in set_aside_unreadable(tmp_path)[0]
    assert read_shards(tmp_path)["request_id"].to_list() == ["a"]
