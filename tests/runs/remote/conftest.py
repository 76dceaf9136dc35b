"""Stores: one in memory, and an S3 server on this machine (moto) with a bucket for each test."""

from secrets import token_hex

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem


@pytest.fixture(autouse=True)
def copies(tmp_path, monkeypatch):
    """Where this test's working copies lie."""
    monkeypatch.setenv("EVENHAND_COPIES", str(tmp_path / "copies"))
    return tmp_path / "copies"


@pytest.fixture
def memory():
    """The address of a folder on a store in memory, and its file system."""
    name = token_hex(6)
    yield f"memory://{name}/run", fsspec.filesystem("memory")
    for path in [path for path in MemoryFileSystem.store if path.startswith(f"/{name}")]:
        del MemoryFileSystem.store[path]


@pytest.fixture(scope="session")
def s3_server():
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def s3(s3_server, monkeypatch):
    """The address of a folder in a bucket of its own, and the file system."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3_server)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    fsspec.filesystem("s3").clear_instance_cache()
    files = fsspec.filesystem("s3", use_listings_cache=False)
    name = f"bucket-{token_hex(6)}"
    files.mkdir(name)
    yield f"s3://{name}/runs/mine", files
    files.clear_instance_cache()
