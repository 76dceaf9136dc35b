"""What rows are held against each other by: replies that both wrote, kept between sittings."""

from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest

from evenhand.runs import Silence
from evenhand.studies.names import NamesConfig, conduct
from tests.studies.names.test_effects import said


def test_a_row_that_lost_replies_is_held_against_those_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = said([["yes", "I think so too"] for _ in range(16)])
    row = base.filter(~((pl.col("conversation") == "c3") & (pl.col("turn") == 3)))
    chats = {"original": base, "same": base, "after": row}
    monkeypatch.setattr(conduct, "RunDirectory", SimpleNamespace(open=lambda path: path.parent.name))
    monkeypatch.setattr(conduct, "self_chats", lambda label, benchmark: chats[label])
    config = NamesConfig.read({"model": "m", "rows": {"same": "x", "after": "y"}, "decoding": ("greedy",)})
    session = conduct._Session(config, tmp_path, (), Silence(), [])
    _, nothing, _ = session._pair("original", "greedy", "descriptions")
    _, whole, none_lost = session._pair("same", "greedy", "descriptions")
    found, before, lost = session._pair("after", "greedy", "descriptions")
    assert nothing is None and none_lost == 0 and lost == 1
    assert whole is not None and before is not None
    assert whole.values["words|"][0] == pytest.approx(2.5)
    assert found.values["words|"].tolist() == pytest.approx(before.values["words|"].tolist())
    assert before.values["words|"][0] == pytest.approx((16 + 15 * 4) / 31)
    kept = sorted(str(file.relative_to(tmp_path / "paired")) for file in tmp_path.rglob("*.parquet"))
    name = "greedy-descriptions.parquet"
    assert kept == [f"{row}/{name}" for row in ("after", "after/original", "original", "same")]
    monkeypatch.setattr(conduct, "replicates", None)  # the next sitting reads what is there
    again, other, _ = session._pair("after", "greedy", "descriptions")
    assert other is not None and other.shares["words|"].tolist() == before.shares["words|"].tolist()
    assert again.values["words|"].tolist() == found.values["words|"].tolist()
