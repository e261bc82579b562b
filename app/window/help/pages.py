"""The pages of the help: Markdown from resources/help, and the search.  No Qt."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources

# file, title; the help of a page has its title
ORDER = (
    ("repository", "Repository"),
    ("adapt", "Adapt"),
    ("complete", "Complete"),
    ("editors", "In your editor"),
    ("checkpoints", "Checkpoints"),
    ("settings", "Settings"),
    ("state_space_model", "What is a state-space model"),
    ("privacy", "Privacy"),
    ("command_line", "Command line and exit codes"),
)
COMMANDS = "<!-- commands -->"
EXCERPT = 90  # characters


@dataclass(frozen=True)
class HelpPage:
    """One page.  `keys`: the tables of keys below its text, which the window adds."""

    key: str
    title: str
    text: str
    keys: str = ""


@dataclass(frozen=True)
class Hit:
    """A page that contains all the words, and the line that contains most of them."""

    page: HelpPage
    line: str


def load_pages() -> tuple[HelpPage, ...]:
    """All pages, in order."""
    folder = resources.files("resources") / "help"
    texts = {key: (folder / f"{key}.md").read_text("utf-8") for key, _ in ORDER}
    texts["command_line"] = texts["command_line"].replace(COMMANDS, commands())
    return tuple(HelpPage(key, title, texts[key]) for key, title in ORDER)


def commands() -> str:
    """The commands as a table, from the parser itself."""
    from app.command_line import build_parser

    parser = build_parser()
    lines = ["| command | what it does |", "|---|---|"]
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            lines += [f"| `{choice.dest}` | {choice.help} |" for choice in action._choices_actions]
    return "\n".join(lines)


def search(pages: Sequence[HelpPage], words: str) -> tuple[Hit, ...]:
    """Pages that contain every word: first in the title, then in a heading, in the text, among the keys."""
    wanted = words.casefold().split()
    hits = []
    for page in pages:
        text = page.text.casefold()
        headings = " ".join(line for line in text.splitlines() if line.startswith("#"))
        places = (page.title.casefold(), headings, text, text + page.keys.casefold())
        rank = [not all(word in place for word in wanted) for place in places]
        if wanted and not rank[-1]:
            hits.append((rank, Hit(page, excerpt(page.text + page.keys, wanted))))
    return tuple(hit for _, hit in sorted(hits, key=lambda each: each[0]))


def excerpt(text: str, words: Sequence[str]) -> str:
    """The line with most of the words, without markup, shortened."""
    lines = [plain(line) for line in text.splitlines() if line.strip() and not line.startswith("# ")]
    best = max(lines, key=lambda line: sum(word in line.casefold() for word in words), default="")
    return best if len(best) <= EXCERPT else best[: EXCERPT - 1].rsplit(" ", 1)[0] + "…"


def plain(line: str) -> str:
    """A line of Markdown without markup."""
    line = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", line)
    return re.sub(r"[*`|#]+|^\s*- ", " ", line).strip()
