"""The table of all numbers: who is judged, and by how much of an adjustment."""

from evenhand.stats import holm
from evenhand.studies.redditbias.cells import CELLS, cell_table


def row(
    model: str, measure: str, change: float | None = None, p: float | None = None, **more: object
) -> dict[str, object]:
    return {"bias": "race", "model": model, "measure": measure, "change": change, "change_p": p, **more}


def test_costs_are_judged_together_over_the_debiased_models() -> None:
    rows = [
        row("base", "redditbias_lmp", n=5),
        row("lmd", "redditbias_lmp", 1.2, 0.001),
        row("add", "redditbias_lmp", 0.8, 0.02),
        row("hd", "redditbias_lmp", 1.01, 0.04),
        row("base", "dst_f1"),
        row("lmd", "dst_f1", -0.1, 0.04),
        row("lmd", "redditbias_lmb", 0.5, 0.2, change_verdict="changed"),
    ]
    table = cell_table(rows, 0.05)
    assert table.schema == CELLS
    assert table["measure"].to_list() == [one["measure"] for one in rows]
    lmp = table.filter(measure="redditbias_lmp", model="lmd")
    assert lmp["change_q"].item() == holm([0.001, 0.02, 0.04])[0]
    assert table.filter(measure="redditbias_lmp")["change_verdict"].to_list() == [
        None,
        "higher",
        "lower",
        "higher",
    ]
    assert table.filter(measure="dst_f1")["change_verdict"].to_list() == [None, "lower"]
    # bias was judged by its own procedure
    assert table.filter(measure="redditbias_lmb")["change_verdict"].item() == "changed"
    strict = cell_table(rows, 0.03)
    assert strict.filter(measure="redditbias_lmp")["change_verdict"].to_list() == [
        None, "higher", "not detected", "not detected",
    ]  # fmt: skip
    assert cell_table([], 0.05).schema == CELLS
