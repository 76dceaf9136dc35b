"""`evenhand measure`: numbers for a file of responses, and what is said of a file that has none."""

import json

import polars as pl
import pytest

LIKELIHOOD = ("-b", "evenhand-likelihood")


def responses() -> pl.DataFrame:
    rows = [
        ("diet", "I met X.", descriptor, f"n{i}", -10.0 - i - (4 if descriptor == "vegan" else 0), 5)
        for descriptor in ("vegan", "hungry")
        for i in range(12)
    ]
    names = ["axis", "template", "descriptor", "noun", "log_likelihood", "token_count"]
    return pl.DataFrame(rows, schema=names, orient="row")


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_a_file_of_responses_is_measured(evenhand, tmp_path, kind):
    frame, file = responses(), tmp_path / f"mine.{kind}"
    {"csv": frame.write_csv, "jsonl": frame.write_ndjson, "parquet": frame.write_parquet}[kind](file)
    ended = evenhand("measure", file, *LIKELIHOOD, "-o", "out")
    assert ended.code == 0, ended.err
    ended.says(f"mine.{kind}", "24 prompts", "likelihood spread", "report:", "numbers:")
    assert (tmp_path / "out" / "report.html").is_file()
    assert json.loads((tmp_path / "out" / "measurements.json").read_text())


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        (lambda f: f.drop("descriptor"), ("mine.csv has no column 'descriptor' (found: axis, template,",)),
        (lambda f: f.rename({"noun": "Noun"}), ("no column 'noun'", "Is it 'Noun'? Then rename it.")),
        (lambda f: f.drop("log_likelihood"), ("no column 'log_likelihood'", "token_count")),
        (lambda f: f.with_columns(log_likelihood=-pl.col("log_likelihood")), ("row 1", "cannot be above 0")),
        (lambda f: f.with_columns(token_count=pl.lit("five")), ("row 1", "'token_count' is 'five'", "not a number")),
        (lambda f: f.head(0), ("contains no rows",)),
    ],
)  # fmt: skip
def test_a_table_that_cannot_be_measured(evenhand, tmp_path, change, parts):
    change(responses()).write_csv(tmp_path / "mine.csv")
    evenhand("measure", "mine.csv", *LIKELIHOOD, "-o", "out").refused(1, *parts)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("name", "content", "parts"),
    [
        ("mine.docx", b"PK", ("unsupported file type '.docx'", "CSV, TSV, JSON Lines, Parquet")),
        ("mine.parquet", b"PAR0", ("mine.parquet cannot be read as parquet",)),
        ("mine.jsonl", b'{"axis": 1}\n{oops\n', ("mine.jsonl, line 2: not valid JSON",)),
        ("mine.csv", b"", ("mine.csv is empty",)),
    ],
)
def test_a_file_that_cannot_be_read(evenhand, tmp_path, name, content, parts):
    (tmp_path / name).write_bytes(content)
    evenhand("measure", name, *LIKELIHOOD).refused(1, *parts)


def test_missing_numbers_are_counted(evenhand, tmp_path):
    gaps = pl.when(pl.col("noun") == "n3").then(None).otherwise("log_likelihood").alias("log_likelihood")
    responses().with_columns(gaps).write_csv(tmp_path / "mine.csv")
    ended = evenhand("measure", "mine.csv", *LIKELIHOOD)
    assert ended.code == 0
    ended.says("2 without a result", "missing")


def test_wrong_options(evenhand, tmp_path):
    responses().write_csv(tmp_path / "mine.csv")
    evenhand("measure", "mine.csv").refused(
        1, "cannot tell which column contains the group", "--column descriptor=group"
    )
    evenhand("measure", "mine.csv", "--column", "nope=group").refused(2, "column 'nope' not found")
    evenhand("measure", "mine.csv", "-b", "evenhand-likelyhood").refused(
        2, "Did you mean 'evenhand-likelihood'"
    )
    evenhand("measure", "mine.csv", *LIKELIHOOD, "--alpha", 2).refused(
        2, "`--alpha` must be a number from 0 to 1"
    )
    evenhand("measure", "mine.csv", *LIKELIHOOD, "--margin", -1).refused(2, "--margin")


@pytest.mark.parity
@pytest.mark.parametrize("model", ["gpt2", "bert-base-cased"])
def test_stereoset_scores_give_the_published_values(evenhand, shared, tmp_path, model):
    folder = shared / "data" / "stereoset"
    sentences = pl.read_csv(folder / "dev.csv", infer_schema=False).rename({"bias_type": "axis"})
    scores = pl.read_csv(folder / "predictions" / f"{model}.csv", infer_schema=False).rename(
        {"task": "dataset_type"}
    )
    joined = sentences.join(scores, on=["dataset_type", "sentence_id"], validate="1:1")
    assert joined.height == 12_687
    joined.write_csv(tmp_path / "scores.csv")
    ended = evenhand("measure", "scores.csv", "--benchmark", "stereoset", "-o", "out")
    assert ended.code == 0, ended.err
    text = (tmp_path / "out" / "measurements.json").read_text()
    rows = json.loads(text)["measurements"]
    expected = json.loads((shared / "parity" / "stereoset_published.json").read_text())[model]
    keys = {
        "stereoset_lms_published": "LM Score",
        "stereoset_ss_published": "SS Score",
        "stereoset_icat_published": "ICAT Score",
    }
    found = {
        (row["stratum"] or "overall", row["axis"] or "overall", row["measure"]): row["estimate"]
        for row in rows
        if row["measure"] in keys
    }
    assert len(found) == 33
    for (task, domain, measure), value in found.items():
        table = expected[task] if task == "overall" else expected[task][domain]
        assert value == pytest.approx(table[keys[measure]], abs=1e-9), (task, domain, measure)
    if model == "gpt2":
        overall = [
            found["overall", "overall", f"stereoset_{name}_published"] for name in ("lms", "ss", "icat")
        ]
        assert overall == pytest.approx([83.652065, 57.030779, 71.889280], abs=1e-6)


def judged(rates, prompts=30):
    """Continuations about groups of two axes, of which each group's share is negative."""
    rows = [
        (axis, group, group, f"{group}-{i}", i < prompts * rate)
        for (axis, group), rate in rates.items()
        for i in range(prompts)
    ]
    return pl.DataFrame(rows, ["axis", "group", "noun_phrase", "prompt_id", "regard_negative"], orient="row")


RATES = {("gender", "men"): 0.2, ("gender", "women"): 0.8, ("age", "old"): 0.3, ("age", "young"): 0.3}


def test_the_pairs_with_a_reference_group_are_shown(evenhand, tmp_path):
    judged(RATES).write_csv("mine.csv")
    ended = evenhand("measure", "mine.csv", "-b", "regard", "--reference", "men", "-o", "out")
    assert ended.code == 0, ended.err
    ended.says("Compared with men", "women gender +60.0", "Axes without this group: age.")
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Each group compared with men" in page and "+60.0" in page
    assert "Compared with" not in evenhand("measure", "mine.csv", "-b", "regard").out


def test_a_prompt_in_several_templates_is_named_with_how_to_mend_it(evenhand):
    shared = judged(RATES).with_columns(prompt_id=pl.lit("p0"), template=pl.col("prompt_id"))
    shared.write_csv("mine.csv")
    evenhand("measure", "mine.csv", "-b", "regard").refused(
        1, "in the column 'template'", "prompt_id 'p0' of", "Give each prompt a unique 'prompt_id'"
    )


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"group": pl.lit("")}, "mine.csv, row 1: 'group' must be a name, got ''"),
        ({"axis": pl.lit(" ")}, "mine.csv, row 1: 'axis' must be a name, got ' '"),
        ({"axis": pl.lit(None, pl.String)}, "row 1: 120 of 120 rows have a group but no axis"),
        ({"group": pl.when(pl.col("group") != "old").then("group")}, "row 61: 30 of 120 rows have an axis but no"),
    ],
)  # fmt: skip
def test_an_axis_or_group_without_a_name_is_refused_by_row(evenhand, change, told):
    judged(RATES).with_columns(**change).write_csv("mine.csv", quote_style="non_numeric")
    evenhand("measure", "mine.csv", "-b", "regard").refused(1, told)


def test_very_long_names_are_cut(evenhand):
    long = "x" * 3000
    judged({("gender", "men"): 0.2, ("gender", long): 0.8}).write_csv("mine.csv")
    ended = evenhand("measure", "mine.csv", "-b", "regard")
    assert ended.code == 0 and "…" in ended.out
    assert ended.out.count("x") < 2000


def test_outcomes_that_never_vary_are_told_without_long_zeros(evenhand):
    judged(dict.fromkeys(RATES, 0.0)).write_csv("mine.csv")
    ended = evenhand("measure", "mine.csv", "-b", "regard")
    assert ended.code == 0 and "0.0000" not in ended.out


def test_swapped_columns_are_refused_with_the_right_command(evenhand, tmp_path):
    table = tmp_path / "swapped.csv"
    table.write_text("pay,who\n" + "".join(f"{n}.5,{'ab'[n % 2]}\n" for n in range(12)))
    ended = evenhand("measure", table, "--column", "pay=group", "--column", "who=score")
    ended.refused(2, "look swapped", f"evenhand measure {table} --column who=group --column pay=score")
    others = ("--missing", "no answer", "--seed", 3, "-o", tmp_path / "found")
    ended = evenhand("measure", table, "--column", "pay=group", "--column", "who=score", *others)
    kept = f"--missing 'no answer' --seed 3 --output {tmp_path / 'found'}"
    ended.refused(2, f"evenhand measure {table} --column who=group --column pay=score {kept}")


def test_a_device_is_not_called_missing(evenhand):
    evenhand("measure", "/dev/null").refused(1, "/dev/null is a device or a pipe; expected a file")
