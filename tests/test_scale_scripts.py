"""The scripts behind docs/evidence/scale.md: the plan's arithmetic by hand, and every hot path on a device, small."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

PERF = Path(__file__).parents[1] / "perf"


def planned(*flags):
    done = subprocess.run(
        [sys.executable, PERF / "plan_scale.py", "--json", *flags], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def test_a_plan_is_its_arithmetic():
    counting = (
        "--documents 1e6 --document-bytes 3600 --count-speed 1 --unpack-speed 1e12 --idle 1e-9 --cores 10 "
    )
    counting += "--core-price 2 --request-price 0 --packed 2 --egress-price 0.5"
    auditing = "--parameters 1e9 --replicas 1 --replica-gpus 1 --gpu-flops 2e12 --reading-use 0.5 --letters-a-token 1 "
    auditing += "--scored-share 1 --likelihood-bytes 10 --gpu-price 7"
    found = planned(*counting.split(), *auditing.split())
    whole = found["counting"]["whole"]
    assert whole["core_hours"] == pytest.approx(1.0)  # 3.6 GB at 1 MB a second
    assert whole["hours"] == pytest.approx(0.1)
    assert whole["dollars"] == pytest.approx(2 + 1.8 * 0.5)
    rows = {row["benchmark"]: row for row in found["audit"]["benchmarks"]}
    assert rows["holisticbiasr"]["prompts"] == 214_460
    likelihoods = rows["holisticbias v1.0, likelihoods"]
    assert likelihoods["requests"] == 460_980
    # 2e9 operations a token, 1e12 of them a second: 500 tokens a second
    assert likelihoods["gpu_hours"] == pytest.approx(likelihoods["tokens_read"] / 500 / 3600 / 0.9)
    assert likelihoods["dollars"] == pytest.approx(likelihoods["gpu_hours"] * 7)
    assert likelihoods["stored_gigabytes"] == pytest.approx(460_980 * 10 / 1e9)
    assert not likelihoods["tokens_written"]
    given = {one["flag"]: one for one in found["assumptions"]}
    assert given["packed"]["source"] == "given"
    assert given["gpu-bandwidth"]["source"].startswith("published")


def test_waiting_lengthens_what_the_network_bounds_too():
    flags = "--documents 1e6 --document-bytes 3600 --unpack-speed 1e12 --cores 16 --packed 1 --node-network 1"
    sampled = planned(*flags.split(), "--idle", "0.5")["counting"]["--sample 0.10%"]
    assert sampled["bound_by"] == "the network"
    assert sampled["hours"] == pytest.approx(2.0)  # 3.6 GB at 1 MB a second, half of it waited


def test_a_plan_refuses_what_cannot_be():
    for flags in (["--cores", "0"], ["--parameters", "1e12"]):
        done = subprocess.run(
            [sys.executable, PERF / "plan_scale.py", *flags], capture_output=True, text=True, check=False
        )
        assert done.returncode
        assert flags[0].removeprefix("--")[:4] in done.stderr or "do not fit" in done.stderr


def measured_on(device, folder):
    few = "--shape 2x64 --sentences 40 --prompts 3 --compared 8 --batch-tokens 1024 --dtype float32"
    command = [sys.executable, PERF / "gpu.py", "--device", device, *few.split()]
    done = subprocess.run(
        [*command, "--output", folder / "gpu.json", "--model", folder / "nothing"],
        capture_output=True,
        text=True,
        check=False,
    )
    rows = json.loads((folder / "gpu.json").read_text())["rows"]
    assert done.returncode == 1, done.stderr  # the folder without a model failed, and the rest went on
    assert {row["model"] for row in rows if "failed" in row} == {"nothing"}
    good = [row for row in rows if "failed" not in row]
    assert {row["part"] for row in good} == {"scoring", "writing", "self-debiasing", "labels"}
    assert all(row.get("fine", True) for row in good)
    assert "FAILED" in (folder / "gpu.md").read_text()


@pytest.mark.gpu
def test_every_hot_path_on_an_accelerator(tmp_path):
    measured_on("auto", tmp_path)


@pytest.mark.slow
def test_every_hot_path_on_the_processor(tmp_path):
    measured_on("cpu", tmp_path)


@pytest.mark.parametrize(
    ("script", "flags", "told"),
    [
        ("plan_scale.py", ("--idle", "1"), "--idle is 1; a share was expected"),
        ("plan_scale.py", ("--documents", "nan"), "--documents is nan; a number above 0"),
        ("plan_scale.py", ("--sample", "5"), "--sample is 5; a share was expected"),
    ],
)
def test_what_cannot_be_planned_is_refused_in_one_line(script, flags, told):
    done = subprocess.run([sys.executable, PERF / script, *flags], capture_output=True, text=True)
    assert done.returncode == 2 and told in done.stderr.splitlines()[-1]
