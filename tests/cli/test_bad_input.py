"""Whatever is wrong with an audit's arguments: an exit code, and one message that says how to mend it."""

import json
import subprocess
import sys

import pytest

AUDIT = ("audit", "puppet/random", "--limit", 600)


@pytest.mark.parametrize(
    ("extra", "code", "parts"),
    [
        (
            ("-b", "crow-pairs"),
            2,
            ("Unknown benchmark: 'crow-pairs'", "Did you mean 'crows-pairs'?", "Known:"),
        ),
        (("--suite", "quik"), 2, ("Unknown suite: 'quik'", "Did you mean 'quick'?")),
        (
            ("--suite", "quick", "-b", "evenhand-likelihood"),
            2,
            ("`--suite` and `--benchmark` cannot be combined",),
        ),
        (("--axis", "agee"), 2, ("Unknown axis: 'agee'", "Did you mean 'age'?", "Known: ability")),
        (("--axis", "age", "--axis", "moon"), 2, ("Unknown axis: 'moon'",)),
        (("-b", "evenhand-likelihood", "--axis", "agee"), 2, ("Did you mean 'age'?",)),
        (("--limit", "0"), 2, ("--limit", "a whole number of at least 1")),
        (("--limit", "many"), 2, ("--limit",)),
        (("--set", "batch_tokens=0"), 2, ("batch_tokens (--batch-tokens): must be at least 1, got 0",)),
        (("--set", "margin"), 2, ("expects name=value, got 'margin'", "--set margin=0.1")),
        (("--set", "margni=1"), 2, ("margni: there is no such option. Did you mean 'margin'?",)),
        (("--set", "margin=["), 2, ("--set margin=[", "is not a valid YAML value")),
        (("--set", "margin=wide"), 2, ("margin: expected a number, got 'wide'",)),
        (("--set", "seed=2", "--set", "seed.of.all=1"), 2, ("seed is a single value",)),
        (("--dtype", "float99"), 2, ("does not accept dtype",)),
        (
            ("-b", "evenhand-pll"),
            1,
            (
                "evenhand-pll requires a masked model, but this model is causal",
                "evenhand list benchmarks",
            ),
        ),
        (
            ("--prompts", "none.csv", "-b", "evenhand-likelihood"),
            1,
            ("File not found: none.csv", "CSV, JSON Lines"),
        ),
    ],
)
def test_options(evenhand, tmp_path, extra, code, parts):
    evenhand(*AUDIT, *extra, "-o", "run").refused(code, *parts)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("content", "code", "parts"),
    [
        (b"suite: [quick\n", 1, ("options.yaml, line 1, column 8: invalid YAML", "suite: quick")),
        (b"\xff\xfe\x00", 1, ("options.yaml is not UTF-8 text",)),
        (b"just words", 1, ("does not contain options", "suite: quick")),
        (b"1: 2\n", 2, ("1: expected text as the name",)),
        (b"suit: quick\n", 2, ("suit", "there is no such option")),
        (b"benchmarks: crows-pairs\n", 2, ("benchmarks (--benchmark): expected a list",)),
        (b"alpha: 2\n", 2, ("alpha: must be less than 1, got 2",)),
    ],
)
def test_options_files(evenhand, tmp_path, content, code, parts):
    (tmp_path / "options.yaml").write_bytes(content)
    evenhand(*AUDIT, "-c", "options.yaml", "-o", "run").refused(code, *parts)


def test_an_empty_options_file_is_no_options(evenhand, own, tmp_path):
    (tmp_path / "options.yaml").write_text("# nothing yet\n")
    assert evenhand("audit", "puppet/random", *own, "-c", "options.yaml", "-o", "run").code == 0


def test_an_options_file_that_is_not_there(evenhand):
    evenhand(*AUDIT, "-c", "none.yaml").refused(
        1, "configuration file none.yaml cannot be read", "No such file"
    )


def test_no_model_at_all(evenhand):
    evenhand("audit").refused(2, "Missing argument: MODEL", "model:")


@pytest.mark.parametrize(
    ("model", "code", "parts"),
    [
        ("puppet/rondom", 2, ("Unknown model: 'puppet/rondom'", "Did you mean 'puppet/random'")),
        ("evenhand/referense", 2, ("Did you mean 'evenhand/reference'",)),
        ("./no/such/folder", 1, ("./no/such/folder", "config.json")),
    ],
)
def test_unknown_models(evenhand, model, code, parts):
    evenhand("audit", model).refused(code, *parts)


@pytest.mark.parametrize(
    ("extra", "code", "parts"),
    [
        (("--dtype", "float99"), 2, ("Unknown dtype: 'float99'", "Did you mean", "float32")),
        (("--device", "cuda:99"), 1, ("'cuda:99'", "Available: cpu")),
        (("--device", "toaster"), 2, ("toaster",)),
    ],
)
def test_devices_and_precisions_of_a_real_model(evenhand, tmp_path, extra, code, parts):
    evenhand("audit", "evenhand/reference", *extra, "-o", "run").refused(code, *parts)
    assert not (tmp_path / "run").exists()


@pytest.fixture
def tiny_masked(tmp_path):
    """A masked model of a few hundred weights, with its tokenizer, in Hugging Face format."""
    from transformers import BertConfig, BertForMaskedLM, BertTokenizerFast

    folder = tmp_path / "tiny-bert"
    folder.mkdir()
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrstuvwxyz"]
    (folder / "vocab.txt").write_text("\n".join([*words, *(f"##{c}" for c in words[5:])]))
    BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    config = BertConfig(
        vocab_size=len(words) + 26,
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=1,
        intermediate_size=8,
    )
    BertForMaskedLM(config).save_pretrained(folder)
    return folder


def test_a_masked_model_for_a_causal_benchmark(evenhand, tiny_masked):
    ended = evenhand("audit", tiny_masked, "-b", "evenhand-likelihood", "--limit", 30)
    ended.refused(
        1,
        "evenhand-likelihood requires a causal or encoder-decoder model, but this model is masked",
        "evenhand list benchmarks",
    )


def test_a_model_folder_without_its_tokenizer(evenhand, tiny_masked, tmp_path):
    for path in tiny_masked.iterdir():
        if path.name not in ("config.json", "model.safetensors"):
            path.unlink()
    evenhand("audit", tiny_masked, "--limit", 30, "-o", "run").refused(1, str(tiny_masked), "tokenizer")
    assert not (tmp_path / "run").exists()


def test_a_model_folder_without_weights(evenhand, tiny_masked):
    (tiny_masked / "model.safetensors").unlink()
    evenhand("audit", tiny_masked, "--limit", 30).refused(1, str(tiny_masked))


def test_a_folder_that_is_not_empty_is_not_written_into(evenhand, own, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("dear to me")
    evenhand("audit", "puppet/random", *own, "-o", "full").refused(
        2, "full exists and is not empty", "Choose another folder with -o"
    )
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["thesis.txt"]


def test_a_file_in_the_place_of_the_folder(evenhand, own, tmp_path):
    (tmp_path / "file").write_text("dear to me")
    evenhand("audit", "puppet/random", *own, "-o", "file").refused(
        2, "file is a file, but a folder was expected"
    )
    assert (tmp_path / "file").read_text() == "dear to me"


def test_a_run_whose_manifest_is_damaged(evenhand, own, tmp_path):
    assert evenhand("audit", "puppet/random", *own, "-o", "run").code == 0
    (tmp_path / "run" / "manifest.json").write_text('{"version": 1,')
    evenhand("audit", "run").refused(
        1, "manifest.json is not a manifest", "The responses in the same folder are intact"
    )
    (tmp_path / "run" / "manifest.json").write_text(json.dumps({"version": 99}))
    evenhand("audit", "run").refused(1, "has format version 99", "pip install --upgrade")


def test_a_limit_too_small_to_compare_anything(evenhand):
    ended = evenhand("audit", "puppet/random", "--limit", 1, "-o", "run")
    ended.refused(2, "`--limit 1` is too small. The smallest comparison (two descriptors", "Use --limit")


def test_a_working_folder_that_is_gone_is_said_so(tmp_path):
    (tmp_path / "gone").mkdir()
    code = "import os, sys; os.rmdir(os.getcwd()); from evenhand.cli import main; main()"
    command = [sys.executable, "-P", "-c", code, "data", "build", "evenhand", "-o", "x.csv"]
    done = subprocess.run(command, cwd=tmp_path / "gone", capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("error: The working directory no longer exists")


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (
            ("measure", "s3://bucket/answers.csv"),
            ("evenhand measure requires a local folder", "audit"),
        ),
        (
            ("before-after", "puppet/random", "-o", "gs://bucket/run"),
            ("gs://bucket/run is a URL of object storage",),
        ),
        (("compare", "a", "b", "--output=s3://bucket/run"), ("evenhand compare writes to a local folder",)),
        (("audit", "puppet/random", "--report", "s3://bucket/page.html"), ("--report of evenhand audit",)),
        (
            ("audit", "puppet/random", "-o", "nowhere://bucket/run"),
            ("unknown kind of object storage", "nowhere://"),
        ),
        (("audit", "s3://"), ("is not the URL of a folder",)),
    ],
)
def test_addresses_of_stores_where_they_are_no_use(evenhand, tmp_path, words, parts):
    evenhand(*words).refused(2, *parts)
    assert not [path for path in tmp_path.iterdir() if ":" in path.name]


def test_a_servers_words_are_no_command_to_the_log_of_a_job(evenhand, loopback):
    refusal = {"error": {"message": "no\n::error::planted\n::add-mask::x ##[add-path]/tmp"}}
    with loopback.LoopbackServer(lambda asked: (404, refusal)) as server:
        ended = evenhand("audit", f"{server.url}/v1#m?store=null", "--limit", 20, "-o", "run")
    assert ended.code != 0 and "planted" in ended.err
    lines = (ended.out + ended.err).splitlines()
    assert not any(line.lstrip().startswith("::") or "##[" in line for line in lines)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("audit", "m", "--limit", "zero"), "`--limit` must be a whole number of at least 1, got 'zero'."),
        (("audit", "m", "--limit", "-1"), "`--limit` must be a whole number of at least 1, got '-1'."),
        (("audit", "m", "--samples", "1.5"), "`--samples` must be a whole number of at least 1, got '1.5'."),
        (("audit", "m", "--seed", "x"), "`--seed` must be a whole number of at least 0, got 'x'."),
        (("measure", "x.csv", "--alpha", "5"), "`--alpha` must be a number from 0 to 1, got '5'."),
        (("measure", "x.csv", "--alpha", "nan"), "`--alpha` must be a number from 0 to 1, got 'nan'."),
        (("compare", "a", "b", "--no-worse", "wide"), "`--no-worse` must be a number, got 'wide'."),
        (
            ("rescore", "run", "--error-threshold", "2"),
            "`--error-threshold` must be a number from 0 to 1, got '2'.",
        ),
        (("audit", "m", "--temperature", "0"), "`--temperature` must be a number greater than 0, got 0."),
        (
            ("before-after", "m", "--temperature", "-1"),
            "`--temperature` must be a number greater than 0, got -1.",
        ),
        (
            ("search-trigger", "m", "--prompts", "p", "--classifier", "c", "--temperature", "nan"),
            "`--temperature` must be a number greater than 0, got nan.",
        ),
        (
            ("search-trigger", "m", "--prompts", "p", "--classifier", "c", "--most-perplexity", "0"),
            "`--most-perplexity` must be a number of at least 1, got '0'.",
        ),
        (("debias", "m", "--epochs", "0"), "`--epochs` must be a number greater than 0, got 0."),
        (("debias", "m", "--epochs", "few"), "`--epochs` must be a number, got 'few'."),
        (
            ("debias", "m", "--learning-rate", "inf"),
            "`--learning-rate` must be a number greater than 0, got inf.",
        ),
        (
            ("debias", "m", "--warm-up", "1"),
            "`--warm-up` must be a number of at least 0 and less than 1, got 1.",
        ),
        (
            ("study", "redditbias", "m", "--epochs", "-2"),
            "`--epochs` must be a number greater than 0, got -2.",
        ),
        (
            ("annotate", "analyse", "x.jsonl", "--alpha", "1"),
            "`--alpha` must be a number greater than 0 and less than 1, got 1.",
        ),
        (
            ("data", "build", "advpromptset", "--least-similarity", "2"),
            "`--least-similarity` must be a number from -1 to 1, got '2'.",
        ),
        (
            ("data", "build", "advpromptset", "--neighbours", "0"),
            "`--neighbours` must be a whole number of at least 1, got '0'.",
        ),
    ],
)
def test_an_error_about_a_number_names_the_flag_the_range_and_the_value(evenhand, words, message) -> None:
    evenhand(*words).refused(2, message, "--help` describes")
