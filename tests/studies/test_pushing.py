"""Results taken elsewhere: what goes, what stays, and a hub of our own that keeps what it is sent."""

import base64
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import SimpleNamespace

import polars as pl
import pytest
from huggingface_hub import constants

import evenhand as eh
from evenhand.schema import DataError, ServiceUnavailable, UsageError
from evenhand.studies import folder_scalars, push


class Hub(BaseHTTPRequestHandler):
    """The three questions of a commit: make the repository, how to send, and the commit itself."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        kept = self.server.kept
        if self.headers.get("Authorization") != "Bearer hf_right":
            return self.answer(401, {"error": "Invalid credentials"})
        if self.path == "/api/repos/create":
            kept["made"] = json.loads(body)
            name = f"{kept['made']['organization']}/{kept['made']['name']}"
            return self.answer(200, {"url": f"http://{self.headers['Host']}/datasets/{name}", "id": name})
        if "/preupload/" in self.path:
            files = json.loads(body)["files"]
            told = [{"path": f["path"], "uploadMode": "regular", "shouldIgnore": False} for f in files]
            return self.answer(200, {"files": told})
        lines = [json.loads(line) for line in body.splitlines()]
        for line in lines:
            if line["key"] == "file":
                kept["files"][line["value"]["path"]] = base64.b64decode(line["value"]["content"])
        return self.answer(
            200,
            {
                "commitUrl": f"http://{self.headers['Host']}/datasets/a/b/commit/1",
                "commitOid": "1",
                "hookOutput": "",
            },
        )

    def answer(self, code: int, content: dict) -> None:
        body = json.dumps(content).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def is_private(made: dict) -> bool:
    """Of what the client asks to be made, in its present words or those of earlier versions."""
    return made.get("visibility") == "private" or made.get("private") is True


@pytest.fixture
def hub(monkeypatch):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    server.kept = {"files": {}}
    Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setenv("HF_TOKEN", "hf_right")
    yield server.kept
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pushed") / "run"
    made = eh.audit("puppet/random", axes=["age"], limit=300, output=folder)
    made.report()
    return made


def test_a_run_arrives_byte_by_byte_and_its_answers_stay_at_home(hub, run):
    (run.path / ".env").write_text("KEY=secret")
    sent = push(run.path, "hf://somebody/audits/first")
    assert is_private(hub["made"]) and hub["made"]["type"] == "dataset"
    assert sent.address.endswith("/datasets/somebody/audits/tree/main/first")
    assert {"first/report.html", "first/measurements.parquet", "first/manifest.json"} <= hub["files"].keys()
    assert not any(
        part in name for name in hub["files"] for part in ("responses", "prompts/", ".env", "lock")
    )
    for name, content in hub["files"].items():
        assert (run.path / name.removeprefix("first/")).read_bytes() == content


def test_answers_go_along_when_asked_for_and_a_repository_may_be_public(hub, run):
    push(run.path, "hf://datasets/somebody/audits", public=True, answers=True)
    assert not is_private(hub["made"])
    assert any(name.startswith("responses/part-") for name in hub["files"])


def test_only_what_evenhand_writes_and_quotes_nothing_is_sent(hub, tmp_path):
    marker = "SECRETANSWER"
    (tmp_path / "details" / "regard").mkdir(parents=True)
    pl.DataFrame({"group": ["a"], "rate": [0.5]}).write_parquet(tmp_path / "details/regard/groups.parquet")
    for name in ("moved", "details/regard/examples"):
        pl.DataFrame({"continuation": [marker]}).write_parquet(tmp_path / f"{name}.parquet")
    pl.DataFrame({"estimate": [1.0]}).write_parquet(tmp_path / "changes.parquet")
    (tmp_path / "compare.json").write_text(json.dumps({"moved": [{"answer_before": marker}]}))
    (tmp_path / "compare.html").write_text("<p>")
    for stray in ("answers.csv", "credentials.json", "notes.parquet"):
        (tmp_path / stray).write_text(marker)
    sent = push(tmp_path, "hf://a/b")
    assert sent.files == ("changes.parquet", "compare.html", "details/regard/groups.parquet")
    assert sent.kept == ("compare.json", "details/regard/examples.parquet", "moved.parquet")
    assert set(hub["files"]) == set(sent.files)
    assert not any(marker.encode() in content for content in hub["files"].values())
    assert {"compare.json", "moved.parquet"} <= set(push(tmp_path, "hf://a/b", answers=True).files)


def test_a_hub_that_refuses_is_told_with_how_to_mend_it(hub, run, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_wrong")
    with pytest.raises(ServiceUnavailable, match="HF_TOKEN"):
        push(run.path, "hf://somebody/audits")
    assert hub["files"] == {}


def test_nothing_outside_the_folder_is_sent(hub, run, tmp_path):
    secret = tmp_path / "secret.json"
    secret.write_text("{}")
    link = run.path / "details" / "more.parquet"
    link.symlink_to(secret)
    try:
        with pytest.raises(DataError, match=r"details/more\.parquet is a link"):
            push(run.path, "hf://somebody/audits")
    finally:
        link.unlink()
    assert hub["files"] == {}


@pytest.mark.parametrize("place", ["", "somebody/audits", "s3://bucket", "hf://", "wandb:///"])
def test_other_places_are_refused_with_those_there_are(run, place):
    with pytest.raises(UsageError, match=r"hf://OWNER/NAME.*wandb://.*trackio://"):
        push(run.path, place)


def test_folders_without_a_result_are_refused(tmp_path):
    with pytest.raises(DataError, match="Folder not found"):
        push(tmp_path / "none", "hf://a/b")
    with pytest.raises(DataError, match="No finished result in"):
        push(tmp_path, "hf://a/b")
    (tmp_path / "report.html").write_text("<p>")
    with pytest.raises(DataError, match=r"measurements\.json"):
        push(tmp_path, "trackio://mine")
    (tmp_path / "measurements.json").write_text("[]")
    with pytest.raises(DataError, match="cannot be read"):
        folder_scalars(tmp_path)


def test_scalars_are_the_measurements_from_memory_and_from_disk(run):
    scalars = run.scalars()
    table = run.measurements.filter(pl.col("estimate").is_finite())
    whole = table.filter(pl.col("group").is_null(), measure="valence_spread", axis="age")
    assert scalars["evenhand-likelihood/valence_spread/age"] == whole["estimate"][0]
    assert scalars["evenhand-likelihood/valence_spread/age/high"] == whole["high"][0]
    assert folder_scalars(run.path) == pytest.approx(scalars)
    logged = []
    run.log(lambda numbers, step: logged.append((step, numbers)), step=300)
    assert logged == [(300, scalars)]


def test_a_tracker_gets_the_numbers_and_the_page(run, monkeypatch):
    seen = {}
    tracker = SimpleNamespace(
        init=lambda **named: seen.update(named) or SimpleNamespace(url="https://tracker/run"),
        log=lambda numbers: seen.update(numbers=numbers),
        finish=lambda: seen.update(finished=True),
        Html=lambda text, inject: text,
    )
    monkeypatch.setitem(__import__("sys").modules, "wandb", tracker)
    sent = push(run.path, "wandb://team/mine")
    assert (seen["entity"], seen["project"], seen["finished"]) == ("team", "mine", True)
    page = seen["numbers"].pop("report")
    assert page == Path(run.path / "report.html").read_text(encoding="utf-8")
    assert seen["numbers"] == pytest.approx(run.scalars())
    assert (sent.address, sent.scalars) == ("https://tracker/run", len(run.scalars()))


def test_a_package_that_is_not_here_is_named(run, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "trackio", None)
    with pytest.raises(UsageError, match="pip install trackio"):
        push(run.path, "trackio://mine")
