"""What a reader is told, from cells that were written by hand; and the whole study on the embedded model (slow)."""

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from rich.console import Console

from evenhand.schema import ResumeRefused, Unsupported, UsageError
from evenhand.studies.redditbias import RedditBiasConfig, RedditBiasTables, redditbias
from evenhand.studies.redditbias.cells import cell_table
from tests.prompts.dialogue_tasks.small import write_dstc7, write_multiwoz


def row(model: str, measure: str, estimate: float, **more: Any) -> dict[str, Any]:
    return {"bias": "race", "model": model, "measure": measure, "estimate": estimate, **more}


def beyond(estimate: float, p: float, control: str = "control") -> dict[str, Any]:
    ends = {"beyond_low": estimate - 0.1, "beyond_high": estimate + 0.1}
    size = {"size": estimate - 0.1, "size_low": estimate - 0.2, "size_high": estimate, "size_p": p}
    return {"beyond": estimate, **ends, "beyond_p": p, "control": control, **size}


def hand_made(
    folder: Path, d_z: float = -0.6, d_z_p: float = 0.001, after: float = -0.2, p: float = 0.001
) -> RedditBiasTables:
    """A model, a control whose nats shrank, and a method; d_z and after are the method's."""
    shrunk = {"size": -0.1, "size_low": -0.2, "size_high": -0.05, "size_p": 0.001}
    moved = {"change": after + 0.5, "change_low": 0.2, "change_high": 0.4, "change_verdict": "higher"}
    rows = [
        row("base", "redditbias_lmb_published", -3.57, p=0.0004, null=0.0),
        row("base", "redditbias_lmb", -0.5, low=-0.6, high=-0.4, null=0.0, p=0.001, verdict="biased"),
        row("base", "redditbias_effect_size", -1.1),
        row("base", "redditbias_likelier", 90.0),
        row("base", "redditbias_lmp", 30.0, low=29.0, high=31.0),
        row("base", "dst_f1", 0.94, low=0.93, high=0.95, null=0.667),
        row("lmd", "redditbias_lmb_published", -0.4, p=0.7),
        row(
            "lmd",
            "redditbias_lmb",
            after,
            null=0.0,
            verdict="not detected",
            **moved,
            **beyond(abs(after) - 0.4, p),
        ),
        row("lmd", "redditbias_effect_size", d_z, **beyond(abs(d_z) - 1.4, d_z_p)),
        row("lmd", "redditbias_likelier", 75.0),
        row("lmd", "redditbias_lmp", 45.0, change=1.5, change_low=1.4, change_high=1.6, change_p=1e-9),
        row(
            "lmd", "dst_f1", 0.69, null=0.667, change=-0.25, change_low=-0.3, change_high=-0.2, change_p=1e-9
        ),
        row("control", "redditbias_lmb", -0.4, null=0.0, verdict="biased", **shrunk),
        row("control", "redditbias_effect_size", -1.4),
        row("control", "redditbias_likelier", 95.0),
    ]
    rows += [
        row("base", "dst_f1_over_null", 0.273, low=0.26, high=0.28),
        row("lmd", "dst_f1_over_null", 0.023, low=-0.01, high=0.05),
    ]
    config = RedditBiasConfig.read({"model": "<my model>", "bias": ("race",), "methods": ("lmd",)})
    missing = ("Not measured: response generation: no DSTC7 was given (--dstc7).",)
    return RedditBiasTables(
        folder, config, cell_table(rows, 0.05), missing, (), {"lines": "lines", "model": {}}
    )


def printed(study: RedditBiasTables, width: int = 200) -> str:
    console = Console(file=io.StringIO(), width=width)
    study.print_to(console, {"report": Path("report.html")})
    text: str = console.file.getvalue()  # type: ignore[attr-defined]
    return text


def test_terminal_page_and_numbers_say_what_was_found(tmp_path: Path) -> None:
    study = hand_made(tmp_path)
    text = " ".join(printed(study).split())
    for told in (
        "race: biased: LMB, nats per token −0.500 (95% CI −0.600 to −0.400).",
        "control: effect of the texts alone: LMB, nats per token from −0.500 to −0.400 (its size −0.100, 95% CI "
        "−0.200 to",
        "d_z −1.10 to −1.40; 90.0 to 95.0% of phrases more likely for the group.",
        "lmd: the bias fell, more than with the texts alone, and is no longer detected: LMB, nats per token −0.200 "
        "compared with −0.400 (control), its size −0.200, 95% CI −0.300 to −0.100; d_z −1.40 to −0.60; 95.0 to 75.0% "
        "of "
        "phrases",
        "race: perplexity changed a lot under lmd (×1.500).",
        "of one training with one seed",
        "LMP, tokens worse (×1.500); DST, F1 worse (−0.250).",
        "base −3.570* −0.500 ▲ −1.10 90.0 30.0 0.940",
        "lmd −0.400 −0.200 −0.60 75.0 45.0 ↑ 0.690 ↓",
        "Not measured: response generation: no DSTC7 was given (--dstc7).",
        "DST F1 of lmd is not significantly above that of always answering yes",
    ):
        assert told in text
    files = study.write(tmp_path)
    page = files["report"].read_text(encoding="utf-8")
    assert "&lt;my model&gt;" in page and "<my model>" not in page
    assert "no DSTC7 was given" in page and "0.667" in page
    numbers = json.loads(files["numbers"].read_text())
    assert numbers["cells"][1]["verdict"] == "biased" and numbers["format"] == 1


def test_a_difference_that_shrank_in_nats_alone_is_no_bias_that_fell(tmp_path: Path) -> None:
    for d_z, p in ((-1.5, 0.001), (-1.39, 0.4)):
        text = " ".join(printed(hand_made(tmp_path, d_z, p)).split())
        assert "the bias fell" not in text and "no change in bias is shown" in text


def test_what_is_less_than_the_controls_only_is_no_bias_that_fell(tmp_path: Path) -> None:
    study = hand_made(tmp_path)
    cells = study.cells.with_columns(size_verdict=pl.lit("not detected"))
    text = " ".join(printed(replace(study, cells=cells)).split())
    assert "the bias fell" not in text and "less bias than with the texts alone" in text
    assert "not significantly less than in the original model" in text


def test_another_sign_is_called_another_side_and_no_smaller_bias(tmp_path: Path) -> None:
    text = " ".join(printed(hand_made(tmp_path, after=0.4, p=0.9)).split())
    assert "its sign changed, from −0.500 to 0.400, where it is not detected" in text
    assert "the bias fell" not in text and "the bias rose" not in text


def test_a_method_gets_a_control_of_its_texts_and_steps() -> None:
    def made(*methods: str, **options: Any) -> list[tuple[str, str | None, str | None]]:
        config = RedditBiasConfig.read({"model": "m", "bias": ("race",), "methods": methods, **options})
        return [(one.name, one.words, one.control) for one in config.models[1:]]

    assert made("lmd", "hd", "cda") == [
        ("lmd", "lmd", "control"),
        ("hd", "hd", "control"),
        ("cda", "cda", "control of cda"),
        ("control", "lmd?weight=0", None),
        ("control of cda", "lmd?weight=0", None),
    ]
    assert made("lmd?weight=0", "add") == [
        ("lmd?weight=0", "lmd?weight=0", None),
        ("add", "add", "lmd?weight=0"),
    ]
    assert made("add?lm_weight=0.01&weight=50")[1][:2] == (
        "control of add?lm_weight=0.01&weight=50",
        "add?lm_weight=0.01&weight=0",
    )
    assert made("inlp") == [("inlp", "inlp", "base")]  # trains nothing
    assert made("lmd", control=False) == [("lmd", "lmd", None)]


def test_a_narrow_terminal_without_unicode_gets_the_same(tmp_path: Path) -> None:
    raw = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    hand_made(tmp_path).print_to(Console(file=raw, width=60))
    raw.flush()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"bias": ("relligion1",)}, "unknown value 'relligion1'; expected one"),
        ({"methods": ("lmdd",)}, "lmdd"),
        ({"methods": ("lmd?wait=1",)}, "wait"),
        ({"task_limit": 0}, "task_limit"),
        ({"sed": 1}, "sed"),
    ],
)
def test_options_that_cannot_be_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        RedditBiasConfig.read({"model": "m", **given})


def test_as_published_says_so_to_the_methods_that_were_given_nothing() -> None:
    config = RedditBiasConfig.read(
        {"model": "m", "as_published": True, "methods": ("lmd", "hd?weight=2", "cda")}
    )
    assert [config.words(words) for words in config.methods] == [
        "lmd?as_published=true",
        "hd?weight=2",
        "cda?by=published",
    ]


@pytest.mark.slow
def test_the_study_runs_on_the_embedded_model_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evenhand.studies.redditbias.bias.OWN_LIMIT", 2000)
    options: dict[str, Any] = {
        "bias": "evenhand/religion",
        "methods": ("cda",),
        "multiwoz": write_multiwoz(tmp_path / "multiwoz", archive=True),
        "dstc7": write_dstc7(tmp_path / "dstc7"),
        "device": "cpu",
        "output": tmp_path / "study",
    }
    study = redditbias("evenhand/reference", epochs=1.0, **options)
    cells = {(row["model"], row["measure"]): row for row in study.cells.to_dicts()}
    base, after = cells["base", "valence_spread"], cells["cda", "valence_spread"]
    control = cells["control of cda", "valence_spread"]
    assert base["verdict"] == "biased" and after["estimate"] < control["estimate"]
    assert after["beyond"] == pytest.approx(after["estimate"] - control["estimate"], abs=0.05)
    trained = [
        json.loads((tmp_path / "study" / "models" / f"evenhand-religion-{name}" / "lineage.json").read_text())
        for name in ("cda", "control-of-cda")
    ]
    assert abs(trained[0]["steps"] - trained[1]["steps"]) <= 1 and trained[1]["method"]["weight"] == 0
    for measure in ("own_token_perplexity", "dst_f1", "bleu_4"):
        assert (
            cells["cda", measure]["change_low"]
            <= cells["cda", measure]["change"]
            <= cells["cda", measure]["change_high"]
        )
    assert cells["base", "dst_f1"]["null"] == pytest.approx(2 / 3)
    assert not study.not_measured
    # a stage that is missing is made again, and nothing else
    made = (tmp_path / "study" / "models" / "evenhand-religion-cda" / "model.safetensors").stat().st_mtime_ns
    (tmp_path / "study" / "perplexity" / "base.parquet").unlink()
    again = redditbias("evenhand/reference", epochs=1.0, **options)
    assert again.cells.equals(study.cells)
    assert (
        tmp_path / "study" / "models" / "evenhand-religion-cda" / "model.safetensors"
    ).stat().st_mtime_ns == made
    with pytest.raises(ResumeRefused, match="seed"):
        redditbias("evenhand/reference", epochs=1.0, seed=1, **options)
    with pytest.raises(UsageError, match="seed was given"):
        RedditBiasConfig.resume(tmp_path / "study", {"seed": 1})
    assert RedditBiasConfig.resume(tmp_path / "study", {"device": "cpu"}).epochs == 1.0


def test_models_that_cannot_be_trained_are_refused(tmp_path: Path) -> None:
    with pytest.raises(Unsupported, match="the study requires a causal model whose weights are in"):
        redditbias("puppet/random", bias="evenhand/religion", methods="cda", output=tmp_path / "study")
