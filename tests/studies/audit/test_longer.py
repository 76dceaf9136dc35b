"""`--allow-longer`: a served model that ignores the limit on tokens is audited, and the report says what was done."""

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from evenhand.runs import RunDirectory
from evenhand.schema import UsageError
from evenhand.studies.audit.result import audit
from evenhand.studies.audit.terminal import render_audit
from evenhand.studies.model_options import ModelOptions, load_named_model
from tests.helpers.loopback_server import LoopbackServer

TEXT = "is kind to all of us " * 20


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[str]:
    """A product that answers at length, but for prompts about one group, and counts no tokens."""
    monkeypatch.setenv("EVENHAND_CACHE", str(tmp_path / "store"))
    for name in ("EVENHAND_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)

    def answer(asked: Any) -> tuple[int, Any]:
        is_long = asked.body["prompt"] != "Hello"
        said = {"text": TEXT if is_long else "Hi.", "finish_reason": "stop", "index": 0}
        return 200, {"model": "m", "choices": [said]}

    with LoopbackServer(answer) as running:
        yield f"{running.url}/v1#m"


@pytest.mark.parametrize("policy", ["cut", "whole"])
def test_page_terminal_and_manifest_state_how_many_were_longer(
    judged_house: Any, address: str, tmp_path: Path, policy: str
) -> None:
    run = audit(
        address,
        benchmarks=["rudeness"],
        limit=8,
        max_new_tokens=6,
        allow_longer=policy,
        output=tmp_path / "run",
    )
    stored = run.directory.responses()
    lengths = stored["text"].str.split(" ").list.len()
    assert set(stored["finish"]) == {"cut" if policy == "cut" else "longer"}
    assert set(lengths) == ({6} if policy == "cut" else {len(TEXT.split(" "))})
    number = f"{stored.height:,} of {stored.height:,}"
    sentence = f"The server ignored the limit on tokens in {number} responses"
    console = Console(file=io.StringIO(), width=300)
    render_audit(run.view(), console)
    assert sentence in console.file.getvalue()  # type: ignore[attr-defined]
    page = run.write(tmp_path / "out")["report"].read_text(encoding="utf-8")
    assert sentence in page and f"--allow-longer {policy}" in page
    manifest = json.loads((run.path / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["model"]["fingerprint"]["allow_longer"] == policy
    assert manifest["arguments_resolved"]["allow_longer"] == policy


def test_without_it_each_is_a_row_without_a_number_whose_message_names_the_flag(
    judged_house: Any, address: str, tmp_path: Path
) -> None:
    run = audit(address, benchmarks=["rudeness"], limit=8, max_new_tokens=6, output=tmp_path / "run")
    stored = RunDirectory.open(run.path).responses()
    assert set(stored["error"]) == {"model_error"}
    assert all("--allow-longer cut" in detail for detail in stored["detail"])


def test_it_is_refused_for_models_that_are_not_served() -> None:
    with pytest.raises(UsageError, match="never exceeds the token limit"):
        load_named_model(ModelOptions(model="evenhand/reference", allow_longer="cut"))
