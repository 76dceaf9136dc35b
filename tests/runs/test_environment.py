"""The environment record: true, and cheap to make."""

import os
import platform
import shutil
import subprocess
import sys

import polars as pl
import pytest

from evenhand.runs.environment import this_environment


def test_versions_are_those_installed(tmp_path):
    found = this_environment(tmp_path)
    assert found.versions["polars"] == pl.__version__
    assert found.versions["python"] == platform.python_version()
    assert found.git_commit is None
    assert found.git_changed is None


@pytest.fixture
def git(tmp_path):
    """A checkout of one file; called with what git is to do there."""

    def run(*arguments):
        identity = ["-c", "user.name=t", "-c", "user.email=t@t", "-c", "commit.gpgsign=false"]
        command = ["git", *identity, *arguments]
        return subprocess.run(
            command, cwd=tmp_path, check=True, capture_output=True, text=True
        ).stdout.strip()

    run("init", "-q")
    (tmp_path / "a").write_text("1")
    run("add", "a")
    run("commit", "-q", "-m", "a")
    return run


def test_the_commit_of_a_checkout_and_whether_it_was_changed(git, tmp_path):
    assert this_environment(tmp_path).git_commit == git("rev-parse", "HEAD")
    assert this_environment(tmp_path).git_changed is False
    (tmp_path / "a").write_text("2")
    assert this_environment(tmp_path).git_changed is True


def test_no_program_that_a_checkout_names_is_run(git, tmp_path):
    """Somebody else's folder may hold a configuration of git, and to ask for changes is not to run what it says."""
    program, ran = tmp_path / "program", tmp_path / "ran"
    program.write_text(f"#!/bin/sh\ntouch {ran}\ncat\n")
    program.chmod(0o755)
    hook = tmp_path / ".git" / "hooks" / "post-index-change"
    hook.write_text(program.read_text())
    hook.chmod(0o755)
    git("config", "core.fsmonitor", str(program))
    os.utime(tmp_path / "a")
    assert this_environment(tmp_path).git_changed is False
    assert not ran.exists()
    (tmp_path / "more").write_text(f'[filter "theirs"]\n clean = {program}\n')
    git("config", "include.path", str(tmp_path / "more"))
    (tmp_path / ".gitattributes").write_text("a filter=theirs\n")
    (tmp_path / "a").write_text("3")
    assert this_environment(tmp_path).git_changed is None
    assert not ran.exists()
    git("status", "--porcelain")
    assert ran.exists(), "git itself would have run it"


def marking(folder):
    """A program that leaves a mark, and the mark."""
    program, ran = folder / "program", folder / "ran"
    program.write_text(f"#!/bin/sh\ntouch {ran}\nexit 1\n")
    program.chmod(0o755)
    return program, ran


@pytest.mark.parametrize("worktree", ["", "\tworktree = .\n"])
def test_a_folder_that_is_itself_a_repository_is_not_asked(git, tmp_path, worktree):
    """HEAD, objects, refs and config beside a manifest make git take the run folder for a repository."""
    program, ran = marking(tmp_path)
    run = tmp_path / "run"
    shutil.copytree(tmp_path / ".git", run)
    (run / "config").write_text(
        f"[core]\n\trepositoryformatversion = 0\n\tbare = {'false' if worktree else 'true'}\n{worktree}"
        f"\tfsmonitor = {program}\n\tsshCommand = {program}\n[include]\n\tpath = more\n"
    )
    (run / "more").write_text(f'[filter "x"]\n\tclean = {program}\n[diff]\n\texternal = {program}\n')
    (run / ".gitattributes").write_text("* filter=x diff=x\n")
    (run / "a").write_text("2")
    found = this_environment(run)
    assert (found.git_commit, found.git_changed) == (None, None)
    assert not ran.exists()


def test_what_a_clone_lacks_is_not_fetched(git, tmp_path):
    """A partial clone has git fetch what is absent, by a program that its configuration may name."""
    program, ran = marking(tmp_path)
    tree = git("rev-parse", "HEAD^{tree}")
    for name, value in {
        "core.repositoryformatversion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.url": str(tmp_path),
        "remote.origin.promisor": "true",
        "remote.origin.uploadpack": str(program),
        "protocol.file.allow": "always",
    }.items():
        git("config", name, value)
    (tmp_path / ".git" / "objects" / tree[:2] / tree[2:]).unlink()
    assert this_environment(tmp_path).git_commit == git("rev-parse", "HEAD")
    assert not ran.exists()
    with pytest.raises(subprocess.CalledProcessError):
        git("status", "--porcelain")
    assert ran.exists(), "git itself would have run it"


def test_a_working_folder_that_is_gone_has_no_commit(tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert this_environment().git_commit is None


def test_importing_the_room_does_not_import_torch():
    heavy = "{'torch', 'transformers', 'scipy', 'rich'}"
    code = f"import sys, evenhand.runs; assert not {heavy} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
