"""The GitHub Action: its inputs never become text of a script, and its scripts do what they say."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.helpers.written_factory import audited

ROOT = Path(__file__).resolve().parents[1]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS = ACTION["runs"]["steps"]
NASTY = "x'; touch pwned; $(touch pwned) `touch pwned` \" * ${HOME} && touch pwned #"

pytestmark = pytest.mark.skipif(os.name == "nt", reason="runs the scripts with bash")


def scripts():
    return {step["name"]: step for step in STEPS if "run" in step}


def filled(step, inputs):
    """The variables of a step, as GitHub fills them in."""
    known = {name: str(entry.get("default", "")) for name, entry in ACTION["inputs"].items()} | inputs
    given = {}
    for name, value in step["env"].items():
        wanted = re.fullmatch(r"\$\{\{ inputs\.([\w-]+) \}\}", value)
        assert wanted, value
        given[name] = known[wanted[1]]
    return given


def run(name, inputs, folder, program):
    """Run a step's script as GitHub does, with `program` in the place of the commands it calls."""
    bin_ = folder / "bin"
    bin_.mkdir(exist_ok=True)
    for command in ("evenhand", "python"):
        (bin_ / command).write_text(program)
        (bin_ / command).chmod(0o755)
    step = scripts()[name]
    files = {one: str(folder / one.lower()) for one in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT")}
    environment = {"PATH": f"{bin_}:/usr/bin:/bin", "GITHUB_ACTION_PATH": "/the/action", **files}
    environment |= {name: os.environ[name] for name in ("PYTHONPATH", "HOME") if name in os.environ}
    script = folder / "script.sh"
    script.write_text(step["run"])
    shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)]
    return subprocess.run(
        shell, env=environment | filled(step, inputs), cwd=folder, capture_output=True, text=True
    )


def test_it_is_a_composite_action_with_what_its_page_promises():
    assert ACTION["runs"]["using"] == "composite"
    assert {"base", "new", "fail-if", "require-power", "args"} <= ACTION["inputs"].keys()
    assert [name for name, entry in ACTION["inputs"].items() if entry.get("required")] == ["base", "new"]
    assert all(entry["description"] for entry in ACTION["inputs"].values())
    uses = [step["uses"].partition("@")[0] for step in STEPS if "uses" in step]
    assert uses == ["actions/setup-python", "actions/upload-artifact"]
    commits = [step["uses"].partition("@")[2] for step in STEPS if "uses" in step]
    assert all(re.fullmatch("[0-9a-f]{40}", commit) for commit in commits), (
        "a tag can be moved, a commit cannot"
    )
    assert "always()" in STEPS[-1]["if"], "the report is uploaded where the gate fails, above all"


def test_no_script_holds_an_expression():
    for step in scripts().values():
        assert "${{" not in step["run"] and step["shell"] == "bash"
        assert all(re.fullmatch(r"\$\{\{ inputs\.[\w-]+ \}\}", value) for value in step["env"].values())


RECORDS = '#!/bin/bash\nprintf "%s\\0" "$@" > told\nexit "${CODE:-0}"\n'


def told(folder):
    return (folder / "told").read_text().split("\0")[:-1]


def test_every_input_arrives_as_one_argument(tmp_path):
    inputs = {"base": NASTY, "new": "-n ew", "args": "--alpha=0.01\n--name=a b", "require-power": "10"}
    inputs |= {"fail-if": f"disparity > 5 points\n\n  \nnew biased\r\n{NASTY}", "output": "my out"}
    ended = run("Compare and judge", inputs, tmp_path, RECORDS)
    assert ended.returncode == 0, ended.stderr
    assert told(tmp_path) == [
        "compare", "--fail-if=disparity > 5 points", "--fail-if=new biased", f"--fail-if={NASTY}", "--require-power=10",
        "--alpha=0.01", "--name=a b", "--output=my out", "--junit=my out/gate.xml",
        f"--summary={tmp_path / 'github_step_summary'}", "--", NASTY, "-n ew",
    ]  # fmt: skip
    assert not (tmp_path / "pwned").exists()


def test_what_is_installed_is_one_argument_too(tmp_path):
    assert run("Install evenhand", {"package": NASTY}, tmp_path, RECORDS).returncode == 0
    assert told(tmp_path)[-2:] == ["--", NASTY] and not (tmp_path / "pwned").exists()
    assert run("Install evenhand", {}, tmp_path, RECORDS).returncode == 0
    assert told(tmp_path)[-1] == "/the/action"


def test_the_step_ends_as_the_command_did_and_says_so(tmp_path):
    ended = run("Compare and judge", {"base": "a", "new": "b"}, tmp_path, RECORDS.replace("${CODE:-0}", "4"))
    assert ended.returncode == 4
    assert (tmp_path / "github_output").read_text() == "exit-code=4\n"


@pytest.mark.slow
def test_two_runs_go_through_the_whole_step(tmp_path):
    runs = {name: str(audited(name, tmp_path / name).path) for name in ("calm", "rude")}
    program = f'#!/bin/bash\nexec "{sys.executable}" -m evenhand "$@"\n'
    inputs = {"base": runs["calm"], "new": runs["rude"], "fail-if": "disparity > 5 points"}
    ended = run("Compare and judge", inputs, tmp_path, program)
    assert ended.returncode == 4, ended.stderr
    assert (
        "gate failed (disparity > 5 points): regard, race and ethnicity — worse than before relative to the other "
        "groups for Black people" in ended.stderr
    )
    names = {path.name for path in (tmp_path / "evenhand-gate").iterdir()}
    assert names == {"compare.html", "compare.json", "changes.parquet", "moved.parquet", "gate.xml"}
    assert "gate failed" in (tmp_path / "github_step_summary").read_text()


def test_no_output_of_the_comparison_can_be_a_workflow_command(tmp_path: Path) -> None:
    printed = "#!/bin/sh\necho '::error::planted'\necho '::add-mask::x' >&2\nprintf '::set-env name=A::no newline'\n"
    tokens = set()
    for _ in range(2):
        ended = run("Compare and judge", {"base": "a", "new": "b"}, tmp_path, printed)
        first, *inside, last = ended.stdout.splitlines()
        token = re.fullmatch(r"::stop-commands::([0-9a-f]{32})", first)
        assert token and last == f"::{token[1]}::" and ended.stderr == ""
        assert "::error::planted" in inside and "::set-env name=A::no newline" in inside
        tokens.add(token[1])
    assert len(tokens) == 2, "a token that is known beforehand could be printed by a model"
