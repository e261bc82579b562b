"""Asking git runs git and nothing else, whatever a repository's own configuration says."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from engine.corpus.batches.split import newest_paths
from engine.corpus.reading.git import ask_git
from engine.scorecard.replay import SHOW

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the planted programs are shell scripts")
CLEAN = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
ASKED = (["log", "--format=%H", "-p", "--", "."], [*SHOW, "HEAD", "--", "."], ["show", "HEAD:./a.py"])


def git(root: Path, *arguments: str, check: bool = True) -> None:
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"]
    identity += ["-c", "commit.gpgSign=false", "-c", "protocol.file.allow=always"]
    subprocess.run(["git", "-C", str(root), *identity, *arguments], env=CLEAN, check=check, capture_output=True)


@pytest.fixture
def planted(tmp_path):
    """A program for a configuration to name; what it was run for lies in the folder `ran`."""
    (tmp_path / "ran").mkdir()

    def plant(name: str) -> str:
        program = tmp_path / f"planted-{name}"
        program.write_text(f"#!/bin/sh\ntouch '{tmp_path}/ran/{name}'\nexit 1\n")
        program.chmod(0o755)
        return str(program)

    return plant


@pytest.fixture
def ran(tmp_path):
    return lambda: sorted(path.name for path in (tmp_path / "ran").iterdir())


@pytest.fixture
def origin(tmp_path):
    """Two commits; it lets clones leave out what they like."""
    root = tmp_path / "origin"
    root.mkdir()
    git(root, "init")
    git(root, "config", "uploadpack.allowFilter", "true")
    for text in ("a = 1\n", "a = 2\n"):
        (root / "a.py").write_text(text)
        git(root, "add", ".")
        git(root, "commit", "-m", text)
    return root


@pytest.mark.parametrize("left_out", ["tree:0", "blob:none"])
@pytest.mark.parametrize("way", ["file", "ssh", "ext", "helper"])
def test_a_partial_clone_is_not_completed(origin, tmp_path, planted, ran, left_out, way):
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--no-checkout", f"--filter={left_out}", origin.as_uri(), str(clone))
    program = planted(way)
    settings = {
        "file": {"remote.origin.uploadpack": program},
        "ssh": {"remote.origin.url": "ssh://192.0.2.1/x", "core.sshCommand": program},
        "ext": {"remote.origin.url": f"ext::{program}"},
        "helper": {"remote.origin.vcs": "ext", "remote.origin.url": program},
    }[way]
    for name, value in settings.items():
        git(clone, "config", name, value)
    for protocol in ("file", "ssh", "ext"):  # it may say what it likes
        git(clone, "config", f"protocol.{protocol}.allow", "always")
    for arguments in ASKED:
        ask_git(clone, arguments)
    newest_paths(clone, lambda _: True)
    assert ran() == []
    git(clone, "log", "-p", check=False)
    assert ran() == [way]  # git itself would have


def test_programs_that_the_configuration_names_are_not_run(origin, tmp_path, planted, ran):
    (origin / ".gitattributes").write_text("*.py diff=own filter=own\n")
    git(origin, "add", ".")
    git(origin, "commit", "-m", "attributes")
    (origin / "a.py").write_text("a = 3\n")
    git(origin, "commit", "-am", "three")
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for name in ("post-index-change", "reference-transaction", "post-checkout"):
        os.link(planted("hook"), hooks / name)
    settings = {
        "core.fsmonitor": "fsmonitor",
        "core.pager": "pager",
        "pager.log": "pager-of-log",
        "pager.show": "pager-of-show",
        "core.editor": "editor",
        "core.askPass": "askpass",
        "core.sshCommand": "ssh",
        "core.alternateRefsCommand": "alternates",
        "credential.helper": "credentials",
        "diff.external": "external-diff",
        "diff.own.command": "driver",
        "diff.own.textconv": "textconv",
        "filter.own.smudge": "smudge",
        "filter.own.clean": "clean",
        "filter.own.process": "process",
        "gpg.program": "gpg",
        "alias.log": "alias",
    }
    for name, program in settings.items():
        git(origin, "config", name, ("!" if name.startswith("alias") else "") + planted(program))
    git(origin, "config", "core.hooksPath", str(hooks))
    git(origin, "config", "log.showSignature", "true")
    (origin / "a.py").touch()
    assert ran() == []
    assert [ask_git(origin, arguments) is None for arguments in ASKED] == [False] * 3
    assert newest_paths(origin, lambda _: True).paths[0] == "a.py"
    assert ran() == []
    git(origin, "log", "-p", "--ext-diff", check=False)
    assert ran() != []  # the plants do grow


def test_a_submodule_is_not_asked(origin, tmp_path, planted, ran):
    """`diff.submodule` makes git start itself inside the submodule, where external programs are on."""
    outer = tmp_path / "outer"
    outer.mkdir()
    git(outer, "init")
    git(outer, "submodule", "add", origin.as_uri(), "inner")
    git(outer, "commit", "-m", "with the submodule")
    git(outer / "inner", "checkout", "HEAD~1")
    git(outer, "commit", "-am", "another commit of it")
    git(outer, "config", "diff.submodule", "diff")
    git(outer / "inner", "config", "diff.external", planted("external-diff"))
    for arguments in ASKED[:2]:
        ask_git(outer, arguments)
    assert ran() == []
    git(outer, "show", check=False)
    assert ran() == ["external-diff"]


def test_only_a_git_of_the_machine_is_asked(origin, planted, ran, monkeypatch):
    """A path that begins where the user stands would find a program of the repository."""
    os.link(planted("git"), origin / "git")
    monkeypatch.chdir(origin)
    monkeypatch.setenv("PATH", os.pathsep.join(["", ".", os.environ["PATH"]]))
    assert ask_git(origin, ["log", "--format=%H"]).count(b"\n") == 2
    assert ran() == []
