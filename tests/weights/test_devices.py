"""Devices, precisions and free memory: what is chosen, and what cannot be had."""

import pytest
import torch

from evenhand.schema import ModelError, UsageError
from evenhand.weights import devices


def test_devices(monkeypatch):
    assert devices.resolve_device("cpu") == torch.device("cpu")
    for wrong in ("gpu", "cuda:x", "cpu:1", "mps:0", ""):
        with pytest.raises(
            UsageError, match=r"(?s)Unknown device: .*Known: auto, cpu, cuda, cuda:0, cuda:1, mps"
        ):
            devices.resolve_device(wrong)
    monkeypatch.setattr(devices, "_count", lambda kind: {"cuda": 2, "mps": 0}.get(kind, 1))
    assert devices.resolve_device("auto") == torch.device("cuda")
    assert devices.resolve_device("cuda:1") == torch.device("cuda:1")
    with pytest.raises(ModelError, match=r"only 2 of that kind") as caught:
        devices.resolve_device("cuda:2")
    assert "Available: cpu, cuda:0, cuda:1." in str(caught.value.hint)
    with pytest.raises(ModelError, match="none of that kind"):
        devices.resolve_device("mps")
    monkeypatch.setattr(devices, "_count", lambda kind: int(kind == "cpu"))
    assert devices.resolve_device("auto") == torch.device("cpu")


@pytest.mark.parametrize(
    ("name", "device", "stored", "expected"),
    [
        ("auto", "cpu", "bfloat16", torch.float32),
        ("auto", "cpu", None, torch.float32),
        ("auto", "mps", torch.bfloat16, torch.bfloat16),
        ("auto", "mps", "float16", torch.float16),
        ("auto", "mps", "float32", torch.float32),
        ("auto", "mps", "float64", torch.float32),
        ("bfloat16", "cpu", "float32", torch.bfloat16),
        ("float32", "mps", "bfloat16", torch.float32),
    ],
)
def test_dtypes(name, device, stored, expected):
    assert devices.resolve_dtype(name, torch.device(device), stored) is expected


def test_dtypes_that_cannot_be(monkeypatch):
    with pytest.raises(UsageError, match="Did you mean 'float16'"):
        devices.resolve_dtype("float61", torch.device("cpu"))
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda **_: False)
    cuda = torch.device("cuda")
    assert devices.resolve_dtype("auto", cuda, "bfloat16") is torch.float32
    with pytest.raises(ModelError, match="does not support bfloat16"):
        devices.resolve_dtype("bfloat16", cuda)


def test_memory_of_containers(tmp_path):
    (tmp_path / "memory.max").write_text("1000000\n")
    (tmp_path / "memory.current").write_text("700000\n")
    (tmp_path / "memory.stat").write_text("anon 1\ninactive_file 50000\nactive_file 20000\n")
    assert devices._control_group_memory(tmp_path) == 370_000
    (tmp_path / "memory.max").write_text("max\n")
    assert devices._control_group_memory(tmp_path) is None
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal: 2000 kB\nMemAvailable:   1500 kB\n")
    assert devices._kernel_memory(meminfo) == 1500 * 1024
