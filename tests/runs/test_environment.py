"""The environment record: true, and cheap to make."""

import platform
import subprocess
import sys

import polars as pl

from evenhand.runs.environment import this_environment


def test_versions_are_those_installed(tmp_path):
    found = this_environment(tmp_path)
    assert found.versions["polars"] == pl.__version__
    assert found.versions["python"] == platform.python_version()
    assert found.git_commit is None
    assert found.git_changed is None


def test_the_commit_of_a_checkout_and_whether_it_was_changed(tmp_path):
    def git(*arguments):
        identity = ["-c", "user.name=t", "-c", "user.email=t@t", "-c", "commit.gpgsign=false"]
        command = ["git", *identity, *arguments]
        return subprocess.run(
            command, cwd=tmp_path, check=True, capture_output=True, text=True
        ).stdout.strip()

    git("init", "-q")
    (tmp_path / "a").write_text("1")
    git("add", "a")
    git("commit", "-q", "-m", "a")
    assert this_environment(tmp_path).git_commit == git("rev-parse", "HEAD")
    assert this_environment(tmp_path).git_changed is False
    (tmp_path / "a").write_text("2")
    assert this_environment(tmp_path).git_changed is True


def test_importing_the_room_does_not_import_torch():
    heavy = "{'torch', 'transformers', 'scipy', 'rich'}"
    code = f"import sys, evenhand.runs; assert not {heavy} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
