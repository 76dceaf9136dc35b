"""Corpora behind s3://, as a server on this machine keeps them: divided, listed, changed, refused."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evenhand.corpus.reading import Piece, pieces, read_batches
from evenhand.schema import DataError

moto = pytest.importorskip("moto.server")
s3fs = pytest.importorskip("s3fs")
Read = Callable[..., Any]
TEXTS = [f"document {n}" for n in range(500)]
KEYS = {"AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "key", "AWS_DEFAULT_REGION": "us-east-1"}


@pytest.fixture(scope="module")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """s3://corpus with the same 500 documents in four files, and one that holds nothing."""
    folder = tmp_path_factory.mktemp("bucket")
    rows = "".join(json.dumps({"text": text}) + "\n" for text in TEXTS)
    (folder / "a.jsonl").write_text(rows)
    (folder / "b.jsonl").write_text(rows)
    pq.write_table(pa.table({"text": TEXTS}), folder / "c.parquet", row_group_size=100)
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**KEYS, "AWS_ENDPOINT_URL": f"http://{host}:{port}"}.items():
            patch.setenv(name, value)
        store = s3fs.S3FileSystem(skip_instance_cache=True, s3_additional_kwargs={"ACL": "public-read"})
        store.mkdir("corpus")
        for path in folder.iterdir():
            store.put_file(str(path), f"corpus/en/{path.name}")
        store.pipe_file("corpus/en/empty.jsonl", b"")
        yield "s3://corpus/en"
    s3fs.S3FileSystem.clear_instance_cache()
    server.stop()


def test_buckets_are_read_as_folders_are(bucket: str, read: Read) -> None:
    for source, times in ((bucket, 3), (f"{bucket}/*.jsonl", 2), (f"x={bucket}/c.parquet", 1)):
        for largest in (1 << 30, 3000):
            found = read(source, largest=largest)
            assert found.texts == TEXTS * times
            assert found.skipped == {}
            assert len(found.pieces) > times or largest > 3000
    assert found.pieces[0].corpus == "x"
    assert found.pieces[0].name == "c.parquet"


def test_what_is_not_there_is_said(bucket: str, read: Read) -> None:
    for source in (f"{bucket}/none.jsonl", "s3://nobody/a.jsonl", f"{bucket}/none/*.parquet"):
        with pytest.raises(DataError, match=r"was not found|No file found"):
            read(source)
    with pytest.raises(DataError, match="Found: text"):
        read(f"{bucket}/a.jsonl", column="body")


def test_an_object_that_was_replaced_is_refused(bucket: str) -> None:
    store = s3fs.S3FileSystem()
    store.pipe_file("corpus/changing.jsonl", b'{"text": "a"}\n')
    (piece,) = pieces(["s3://corpus/changing.jsonl"])
    store.pipe_file("corpus/changing.jsonl", b'{"text": "b"}\n')
    with pytest.raises(DataError, match="has changed since the work was planned"):
        list(read_batches(piece))
    store.rm("corpus/changing.jsonl")
    with pytest.raises(DataError, match=r"changing\.jsonl was there when the work was planned"):
        list(read_batches(piece))


def test_a_bucket_without_credentials_says_what_to_give(
    bucket: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in KEYS:
        monkeypatch.delenv(name)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    s3fs.S3FileSystem.clear_instance_cache()
    with pytest.raises(DataError, match="Unable to locate credentials") as refused:
        pieces([bucket])
    assert "AWS_ACCESS_KEY_ID" in str(refused.value) and "FSSPEC_S3_ANON" in str(refused.value)
    s3fs.S3FileSystem.clear_instance_cache()
    monkeypatch.setattr("fsspec.config.conf", {"s3": {"anon": "true"}})  # what FSSPEC_S3_ANON=true becomes
    assert len(pieces([bucket])) == 4
    s3fs.S3FileSystem.clear_instance_cache()


def test_a_file_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    fsspec.filesystem("memory").pipe_file("/long.jsonl", b'{"text": "a"}\n' * 100)
    monkeypatch.setattr("evenhand.corpus.reading.stores.MOST_UNTOLD", 1000)
    with pytest.raises(DataError, match="does not report the length, and has sent 1,400 bytes"):
        list(read_batches(Piece("long", "memory://long.jsonl", "jsonl", 0)))
    assert list(read_batches(pieces(["memory://long.jsonl"])[0]))[-1].last
