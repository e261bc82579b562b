"""The ignore rules against git itself: what `git ls-files --others --exclude-standard` lists is what the walk lists."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.corpus.reading.gitignore import IgnoreFile, as_bytes_text
from engine.corpus.reading.walk import walk

NAMES = [
    "a",
    "b",
    "ab",
    "a.x",
    "b.x",
    "foo",
    "foo bar",
    "foo ",
    "build",
    "Keep",
    "[x]",
    "a]b",
    "é",
    "#c",
    "!d",
    "x-y",
    "1",
]
FOLDERS = ["", "a", "foo", "foo/bar", "foo/bar/a", "build", "build/sub", "b.x", "é"]
GIT = ["git", "-c", "core.excludesFile=", "-c", "core.ignoreCase=false", "-c", "core.precomposeUnicode=false"]


def git_environment(home: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C.UTF-8"}


def listed_by_git(root: Path) -> set[str]:
    """The files that git would add, relative to root."""
    done = subprocess.run(
        [*GIT, "ls-files", "--others", "--exclude-standard", "-z"],
        cwd=root, env=git_environment(root.parent), capture_output=True, check=True,
    )  # fmt: skip
    return {os.fsdecode(name) for name in done.stdout.split(b"\0") if name}


def listed_by_walk(root: Path) -> set[str]:
    return {entry.path for entry in walk(root) if not entry.ignored and not entry.is_folder}


def make_tree(root: Path) -> Path:
    root.mkdir()
    subprocess.run([*GIT, "init", "-q"], cwd=root, env=git_environment(root.parent), check=True)
    for folder in FOLDERS:
        (root / folder).mkdir(exist_ok=True)
    for folder in FOLDERS:
        for name in NAMES:
            path = root / folder / name
            if not path.is_dir():
                path.touch()
    return root


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    return make_tree(tmp_path_factory.mktemp("git") / "tree")


def write_rules(root: Path, rules: dict[str, bytes]) -> None:
    for folder in FOLDERS:
        (root / folder / ".gitignore").unlink(missing_ok=True)
    for folder, text in rules.items():
        (root / folder / ".gitignore").write_bytes(text)


TRICKY = {
    "names and folders": {"": "a\nbuild/\n"},
    "a folder's rule does not hold for what is in it": {"": "*.x\n!b.x/\n"},
    "negation": {"": "*\n!foo\n!foo/a\n"},
    "an ignored parent cannot be taken back in": {"": "foo/\n!foo/a\n!foo/bar/a\n"},
    "contents ignored, one taken back": {"": "foo/*\n!foo/bar\n"},
    "anchored": {"": "/a\n/foo/a\n"},
    "anchored by a slash inside": {"": "foo/a\nbar/a\n"},
    "two stars in front": {"": "**/bar/a\n"},
    "two stars in the middle": {"": "foo/**/a\n"},
    "two stars at the end": {"": "foo/**\n"},
    "two stars inside a part": {"": "fo**/bar\nf**/a\n"},
    "two stars and a slash": {"": "**/\n!foo/\n"},
    "trailing spaces": {"": "foo   \nfoo\\ \na \n"},
    "a space in the name": {"": "foo bar\n"},
    "an escaped space and one that is not": {"": "foo\\  \n"},
    "a backslash at the end": {"": "a\\\nfoo\\\\\n"},
    "comments and marks": {"": "# a\n\\#c\n\\!d\n"},
    "Windows line ends": {"": "a\r\nbuild/\r\n\r\n*.x\r\n"},
    "byte order mark": {"": "\ufeffa\nfoo\n"},
    "no line break at the end": {"": "a"},
    "brackets": {"": "[ab]\n[!a-z]\n[]x]\n\\[x\\]\na[]]b\n"},
    "broken brackets": {"": "[a\nfoo[\n[z-a]\n"},
    "character classes": {"": "[[:digit:]]\n[[:alpha:]].x\n[[:nothing:]]\n[[:a]\n"},
    "question marks are bytes": {"": "?\n"},
    "stars": {"": "f*o\n*o*\n*-*\n"},
    "a slash alone": {"": "/\n//\n!/\n"},
    "everything below": {"": "/*\n!/foo\n/foo/*\n!/foo/bar\n"},
    "the deeper file wins": {"": "*.x\n", "foo": "!a.x\n", "foo/bar": "a.x\n"},
    "the deeper file is about its own folder": {"foo": "/a\nbar/b\n", "foo/bar": "*\n!.gitignore\n!ab\n"},
    "a file that ignores itself": {"": ".gitignore\n*.x\n"},
    "star and slash": {"": "*/a\nfoo/*/a\n"},
    "escaped slash": {"": "foo**\\/bar\nfoo\\/a\n"},
    "not ASCII": {"": "é\n", "foo": "é/\n"},
    "only spaces": {"": "   \n\t\na\t\n"},
    "negation of nothing": {"": "!\n!!d\n"},
}


@pytest.mark.parametrize("rules", TRICKY.values(), ids=TRICKY.keys())
def test_tricky_rules_as_git_reads_them(tree, rules):
    write_rules(tree, {folder: text.encode() for folder, text in rules.items()})
    assert listed_by_walk(tree) == listed_by_git(tree)


PIECE = st.sampled_from(
    ["a", "b", "ab", "foo", "bar", "build", "sub", "x", ".x", "é", "*", "**", "?", "/", "/", "/", "**/", "/**", "!",
    "#",
     " ", "\\", "\\ ", "[ab]", "[!a]", "[a-f]", "[]", "[", "]", "[^/]", "-", ".", "Keep", "\t", "[[:alpha:]]", "\\/",
     "*o"]
)  # fmt: skip
LINE = st.lists(PIECE, min_size=1, max_size=5).map("".join)
PLAIN = st.sampled_from(["*", "!foo", "foo/*", "!foo/bar/", "*.x", "!a.x", "build/", "!build/sub", "/a", "!*/", "**/a"])
FILE = st.lists(st.one_of(LINE, PLAIN), max_size=6).map(lambda lines: "\n".join(lines).encode() + b"\n")


@given(st.dictionaries(st.sampled_from(FOLDERS), FILE, max_size=3))
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_rules_as_git_reads_them(tree, rules):
    write_rules(tree, rules)
    assert listed_by_walk(tree) == listed_by_git(tree)


def test_exclude_file_and_its_rank(tree):
    exclude = tree / ".git" / "info" / "exclude"
    before = exclude.read_bytes()
    try:
        exclude.write_bytes(b"a\n*.x\n!b\n")
        write_rules(tree, {"foo": b"!a.x\n", "build": b"b\n"})
        assert listed_by_walk(tree) == listed_by_git(tree)
        assert any(entry.ignored == ".git/info/exclude line 1: a" for entry in walk(tree))
    finally:
        exclude.write_bytes(before)


def test_a_part_of_a_repository_obeys_the_rules_above_it(tree):
    write_rules(tree, {"": b"*.x\n/foo/bar/b\n", "foo": b"!a.x\nab\n"})
    expected = {name.removeprefix("foo/bar/") for name in listed_by_git(tree) if name.startswith("foo/bar/")}
    assert listed_by_walk(tree / "foo" / "bar") == expected
    assert "b" not in expected and "a.x" in expected


def test_a_folder_that_is_ignored_itself_is_a_project_of_its_own(tree):
    """Somebody's home folder may be a repository that ignores everything: what is in it can still be learned."""
    write_rules(tree, {"": b"*\n"})
    assert "ab" in listed_by_walk(tree / "foo" / "bar")


def test_own_ignore_file_decides_before_gits(tree):
    write_rules(tree, {"": b"*.x\n", "foo": b"ab\n"})
    own = tree / ".codecoilignore"
    own.write_bytes(b"!b.x\n!ab\nKeep\n")
    try:
        found = {entry.path: entry for entry in walk(tree)}
        assert not found["foo/ab"].ignored and not found["foo/b.x"].ignored
        assert found["a.x"].ignored == ".gitignore line 1: *.x"
        assert found["Keep"].ignored == ".codecoilignore line 3: Keep"
    finally:
        own.unlink()


def test_rules_for_names_that_are_not_utf8():
    rules = IgnoreFile(b"caf\xe9\n*.\xff\n", ".gitignore")
    assert rules.match("", as_bytes_text(os.fsdecode(b"caf\xe9")), False)
    assert rules.match("", as_bytes_text(os.fsdecode(b"a.\xff")), False)
    assert not rules.match("", as_bytes_text("café"), False)


def test_where_case_does_not_count():
    rules = IgnoreFile(b"Build\n*.LOG\n/Docs/x\n", ".gitignore", any_case=True)
    assert rules.match("", "bUILD", True) and rules.match("", "a.log", False) and rules.match("docs/", "X", False)
    assert not IgnoreFile(b"Build\n", ".gitignore").match("", "build", True)


def test_no_pattern_takes_for_ever():
    rules = IgnoreFile(b"*a" * 40 + b"*b\n" + b"**/" * 15 + b"x*y*z*w\n", ".gitignore")
    assert rules.match("a/" * 40, "a" * 240 + "c", False) is None
