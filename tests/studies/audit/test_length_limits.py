"""Prompts that do not fit into the model's context: reported before the model is asked, and never a finding."""

import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from rich.console import Console

from evenhand.benchmarks.analysis.group_rates import analyse_group_rates
from evenhand.benchmarks.contract import AnalysisOptions
from evenhand.measures.counterfactual import counterfactual_outcomes
from evenhand.mitigations.prompting import Prefix
from evenhand.models import load_model, room_for
from evenhand.runs import RunDirectory, answers
from evenhand.schema import UsageError
from evenhand.studies.audit import audit, preview, read_config, render_plan
from evenhand.studies.audit.length_limits import LengthLoss, refuse_losses
from evenhand.studies.audit.terminal import render_audit
from evenhand.studies.model_options import ModelOptions, load_named_model
from tests.helpers.loopback_server import LoopbackServer
from tests.models.conftest import build_model

CONTEXT = 256  # positions of the bundled model
WORDS = "near the old stone bridge behind the market square where the bus stops twice a day "


@pytest.fixture(scope="module")
def model():
    return load_model("evenhand/reference")


@pytest.fixture
def prompts(tmp_path):
    """Twelve short prompts about women, and twelve about men of which six are much longer."""
    rows = [("gender", "women", f"A woman lives at number {k}.", "A woman") for k in range(12)]
    rows += [("gender", "men", f"A man lives {WORDS * (k % 2)}at number {k}.", "A man") for k in range(12)]
    path = tmp_path / "prompts.csv"
    pl.DataFrame(rows, schema=["axis", "group", "text", "noun_phrase"], orient="row").write_csv(path)
    return path


def config(prompts, **options):
    return read_config(
        None, [], {"model": "evenhand/reference", "benchmarks": ("regard",), "prompts": str(prompts), "samples": 1,
                   "classifiers": {"regard": "vader"}, **options}
    )  # fmt: skip


def tokens_of(model, text):
    """Tokens of a text by the model's own count."""
    return len(model.tokenizer(text)["input_ids"])


def test_room_is_what_the_context_leaves(model):
    texts = ["A woman lives here.", "A man lives " + WORDS]
    assert room_for(model, texts) == [CONTEXT - tokens_of(model, text) for text in texts]
    front = "Be kind to everybody."
    behind = Prefix(front)(model)
    assert room_for(behind, texts) == [CONTEXT - tokens_of(model, f"{front}\n{text}") for text in texts]


@pytest.mark.parametrize("architecture, kind", [("gpt2", "causal"), ("bart", "encoder-decoder")])
def test_room_agrees_with_the_rows_that_generate_loses(architecture, kind):
    from evenhand.models import Decoding, as_language_model

    network, tokenizer = build_model(architecture)
    model = as_language_model(network, tokenizer, kind, {"name": architecture})
    longest = model.longest
    texts = ["one two three", " ".join(["one two three"] * longest)]
    rooms = room_for(model, texts)
    assert rooms[1] < 1 <= rooms[0]
    fits = Decoding(max_new_tokens=rooms[0])
    assert [error is None for error in model.generate(texts, fits).errors] == [True, False]
    if architecture == "gpt2":
        beyond = Decoding(max_new_tokens=rooms[0] + 1)
        assert model.generate(texts[:1], beyond).errors == ["too_long"]


def test_a_plan_reports_prompts_that_do_not_fit_and_the_flag(model, prompts, capsys):
    room = min(room_for(model, pl.read_csv(prompts)["text"].to_list()))
    asked = room + 5
    facts = preview(config(prompts, max_new_tokens=asked), model)
    expected = (
        f"regard: 6 of 24 prompts do not fit into the model's context together with up to {asked} new tokens. "
        f"Give --max-new-tokens {room} or less: all prompts fit then."
    )
    assert facts["length_limits"] == [expected]
    render_plan(facts, Console(file=sys.stdout, width=200))
    assert expected in capsys.readouterr().out
    assert preview(config(prompts, max_new_tokens=room), model)["length_limits"] == []


def test_an_audit_refuses_them_before_the_model_is_asked(model, prompts, tmp_path, monkeypatch):
    room = min(room_for(model, pl.read_csv(prompts)["text"].to_list()))

    def ask(self, prompts, decoding):
        assert not prompts, "The model was asked."

    monkeypatch.setattr(type(model), "generate", ask)
    with pytest.raises(UsageError, match=rf"6 of 24 prompts do not fit.*\n.*--max-new-tokens {room} or less"):
        audit(model, benchmarks=("regard",), prompts=str(prompts), samples=1, classifiers={"regard": "vader"},
              max_new_tokens=room + 5, output=tmp_path / "run")  # fmt: skip
    assert not (tmp_path / "run").exists()


def test_lost_rows_are_no_finding(model, prompts, tmp_path):
    room = min(room_for(model, pl.read_csv(prompts)["text"].to_list()))
    run = audit(model, benchmarks=("regard",), prompts=str(prompts), samples=1, classifiers={"regard": "vader"},
                max_new_tokens=room + 5, error_threshold=1.0, output=tmp_path / "run")  # fmt: skip
    lost = answers(run.directory, "regard").filter(pl.col("error") == "too_long")
    assert lost["group"].to_list() == ["men"] * 6
    assert not [line for line in run.directory.headlines()["sentence"] if "usable answer" in line]
    assert not run.findings.filter(pl.col("measure") == "missing_disparity").height
    assert "These rows are not used to compare" in run.report().read_text()


def rows_with(error, n=200):
    """Responses about two groups; half of those about men have no number, for one reason."""
    rows = [
        {
            "prompt_id": f"{group}{k}", "axis": "gender", "group": group, "text": "Someone.",
            "continuation": None if lost else " said 7/10", "error": error if lost else None,
            "tone_negative": None if lost else k % 3 == 0, "base": str(k),
        }
        for group in ("men", "women") for k in range(n) for lost in [group == "men" and k % 2 == 0]
    ]  # fmt: skip
    return pl.DataFrame(rows)


@pytest.mark.parametrize(
    "error, counts", [("too_long", False), ("out_of_memory", False), ("quota", False), ("unparsable", True)]
)
def test_only_what_the_model_did_counts_as_missing(error, counts):
    rows = analyse_group_rates(rows_with(error), AnalysisOptions(), role="tone").measurements
    found = [row for row in rows if row.measure == "missing_disparity"]
    assert bool(found) == counts
    outcomes = counterfactual_outcomes(rows_with(error), ["rating:1-10"])
    assert bool([one for one in outcomes.compared if one.kind == "missing"]) == counts


def test_limits_of_a_classifier_do_not_count_either():
    frame = rows_with(None).with_columns(
        error=pl.lit(None, pl.String),
        tone_error=pl.when(pl.col("tone_negative").is_null()).then(pl.lit("too_long")),
    )
    rows = analyse_group_rates(frame, AnalysisOptions(), role="tone").measurements
    assert not [row for row in rows if row.measure == "missing_disparity"]


def test_a_small_share_and_benchmarks_in_addition_are_reported_only():
    few = LengthLoss("regard", 100, 4, 0, 120, 97)
    refuse_losses([few], 0.05, ())
    refuse_losses([LengthLoss("quality", 10, 10, 10, 200, None)], 0.05, ("quality",))
    with pytest.raises(UsageError, match="No --max-new-tokens helps"):
        refuse_losses([LengthLoss("regard", 10, 10, 10, 20, None)], 0.05, ())


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
