"""A repository to measure on: the same bytes every time, of the kind that programmers have.

Mostly Python, some JavaScript, Markdown and YAML; among them copies, near-copies, generated and minified files, lock
files, secrets (made up), binaries, and a folder that `.gitignore` leaves out.
"""

from __future__ import annotations

import random
from pathlib import Path

FILES, LINES = 5_000, 1_000_000


def words(text: str) -> list[str]:
    return text.split()


NOUNS = words(
    """
    account address amount answer archive asset badge balance batch binding block board booking bucket budget
    buffer cache calendar camera campaign card cart catalog channel chart claim client cluster column comment
    contract counter coupon course cursor customer dashboard dataset deadline delivery device discount document
    domain driver email employee endpoint entry event export feature feed field filter folder frame gateway
    graph group handle header image import index ingest invoice item journal key label layer ledger lesson limit
    line link listing locale location lock machine mail market matrix member menu message metric mirror module
    monitor network node note notice object offer option order owner package page parcel partner pass patch path
    payment peer period permission person phone picture pipeline plan player point policy port post prefix price
    printer process product profile project queue quota range rate reading receipt record region release report
    request resource response result review role room route rule sample scale schedule schema scope score screen
    seat segment sensor series server service session setting shape sheet shipment signal site slot snapshot
    source stage status step stock store stream subject summary supplier survey switch table target task team
    template tenant thread ticket timer token topic track transfer trigger unit upload user vendor version view
    visit volume wallet widget window worker workflow zone
    """
)
VERBS = words(
    """
    add apply archive attach build cancel check clean clear close collect compare compute convert copy count
    create decode delete describe detach disable dump emit enable encode ensure estimate expand export extract
    fetch filter find fix flush format gather generate group handle import insert inspect join limit list load
    lock log match measure merge move normalise notify open order pack parse patch pick plan poll prepare print
    process prune publish push query queue read rebuild record reduce refresh register release reload remove
    render repair replace report request reserve reset resolve restore resume retry return revoke rotate route
    run sample save scan schedule search select send set show sort split start stop store stream submit sum sync
    tag test track transform trim update upload validate verify walk warn wrap write
    """
)
TYPES = ["int", "str", "float", "bool", "dict[str, int]", "list[str]", "Path", "bytes", "datetime", "Decimal"]
MODULES = ["json", "logging", "os", "re", "time", "uuid", "hashlib", "itertools", "functools", "collections"]
WORDS = words(
    """
    the a of to and in is for that with as on by this from when each only after before value returns raises
    given empty missing found already never always once again until because while must may whole part first last
    next same other caller slow fast retry later cached locked stale fresh unknown
    """
)


class Writer:
    """Writes lines of one language with names of its own, so that files differ as those of a project do."""

    def __init__(self, seed: str) -> None:
        self.random = random.Random(seed)
        pick = self.random.choice
        self.names = [f"{pick(NOUNS)}_{pick(NOUNS)}" for _ in range(24)] + [pick(NOUNS) for _ in range(24)]
        self.calls = [f"{pick(VERBS)}_{pick(NOUNS)}" for _ in range(32)]

    def sentence(self) -> str:
        words = [
            self.random.choice(WORDS if self.random.random() < 0.6 else NOUNS)
            for _ in range(self.random.randint(5, 12))
        ]
        return " ".join(words).capitalize() + "."

    def value(self) -> str:
        pick, kind = self.random.choice, self.random.randrange(8)
        if kind == 0:
            return str(self.random.randint(0, 10_000))
        if kind == 1:
            return f'"{pick(NOUNS)} {pick(WORDS)}"'
        if kind == 2:
            return f"self.{pick(self.names)}"
        if kind == 3:
            return f"{pick(self.calls)}({pick(self.names)}, {pick(self.names)})"
        if kind == 4:
            return f"{pick(self.names)}.{pick(NOUNS)}"
        if kind == 5:
            return f"{pick(self.names)} {pick('+-*/')} {self.random.randint(1, 99)}"
        if kind == 6:
            return f'{pick(self.names)}["{pick(NOUNS)}"]'
        return f"[{pick(NOUNS)} for {pick(NOUNS)} in {pick(self.names)} if {pick(NOUNS)}]"

    def statement(self, indent: str) -> list[str]:
        pick, kind = self.random.choice, self.random.randrange(9)
        name, other = pick(self.names), pick(self.names)
        if kind < 3:
            return [f"{indent}{name} = {self.value()}"]
        if kind == 3:
            return [
                f"{indent}if {name} {pick(['==', '!=', '<', '>', 'in', 'is'])} {other}:",
                f"{indent}    {name} = {self.value()}",
            ]
        if kind == 4:
            return [f"{indent}for {pick(NOUNS)} in {other}:", f"{indent}    {pick(self.calls)}({self.value()})"]
        if kind == 5:
            return [f"{indent}self.{name} = {self.value()}"]
        if kind == 6:
            return [f"{indent}# {self.sentence()}", f"{indent}{pick(self.calls)}({self.value()}, {name}={other})"]
        if kind == 7:
            return [
                f"{indent}with {pick(self.calls)}({name}) as {pick(NOUNS)}:",
                f"{indent}    {other} = {self.value()}",
            ]
        return [f'{indent}logger.{pick(["info", "debug", "warning"])}("{pick(VERBS)} %s {pick(NOUNS)}", {name})']

    def python(self, lines: int) -> list[str]:
        pick = self.random.choice
        text = [f'"""{self.sentence()}"""', "", "from __future__ import annotations", ""]
        text += [f"import {name}" for name in sorted(self.random.sample(MODULES, 4))] + [
            "",
            "logger = logging.getLogger(__name__)",
            "",
        ]
        while len(text) < lines:
            text += ["", f"class {pick(NOUNS).title()}{pick(NOUNS).title()}:", f'    """{self.sentence()}"""', ""]
            for _ in range(self.random.randint(2, 6)):
                arguments = ", ".join(
                    f"{name}: {pick(TYPES)}" for name in self.random.sample(NOUNS, self.random.randint(0, 3))
                )
                text += [
                    f"    def {pick(VERBS)}_{pick(NOUNS)}(self, {arguments}) -> {pick(TYPES)}:",
                    f'        """{self.sentence()}"""',
                ]
                for _ in range(self.random.randint(3, 9)):
                    text += self.statement("        ")
                text += [f"        return {self.value()}", ""]
        return text[:lines]

    def javascript(self, lines: int) -> list[str]:
        pick = self.random.choice
        text = [f'import {{ {pick(VERBS)}{pick(NOUNS).title()} }} from "./{pick(NOUNS)}.js";', ""]
        while len(text) < lines:
            text += [
                f"// {self.sentence()}",
                f"export function {pick(VERBS)}{pick(NOUNS).title()}({pick(NOUNS)}, {pick(NOUNS)}) {{",
            ]
            for _ in range(self.random.randint(3, 10)):
                number = self.random.randint(0, 500)
                text.append(f"  const {pick(NOUNS)} = {pick(self.names)}.{pick(VERBS)}({number}, '{pick(NOUNS)}');")
            text += [f"  return {pick(self.names)};", "}", ""]
        return text[:lines]

    def markdown(self, lines: int) -> list[str]:
        text: list[str] = []
        while len(text) < lines:
            text += [f"## {self.sentence()[:-1]}", "", *(self.sentence() + " " + self.sentence() for _ in range(4)), ""]
        return text[:lines]

    def yaml(self, lines: int) -> list[str]:
        text: list[str] = []
        while len(text) < lines:
            text += [
                f"{self.random.choice(self.names)}:",
                *(f"  {self.random.choice(NOUNS)}: {self.sentence()[:-1]}" for _ in range(5)),
            ]
        return text[:lines]

    def secret(self) -> str:
        letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
        return f'AWS_ACCESS_KEY_ID = "AKIA{"".join(self.random.choices(letters, k=16))}"'


def make(root: Path, files: int = FILES, lines: int = LINES) -> Path:
    """Write the repository; `lines` in all, some in files that are left out."""
    draw = random.Random("codecoil synthetic repository")
    written: list[tuple[Path, list[str]]] = []
    left = lines - 2  # those of .gitignore
    (root / ".gitignore").write_text("build/\n*.log\n")
    for number in range(files - 1):
        rest = files - 1 - number
        count = max(20, min(left - 20 * (rest - 1), round(draw.gauss(1, 0.5) * left / rest))) if rest > 1 else left
        writer = Writer(f"file {number}")
        folder = root / f"package_{number % 40:02d}" / f"{NOUNS[number % 97]}_{number % 7}"
        kind = draw.random()
        if kind < 0.02 and written:
            path, content = folder / f"copy_{number}.py", list(draw.choice(written)[1])
        elif kind < 0.05 and written:
            path, content = folder / f"variant_{number}.py", list(draw.choice(written)[1])
            for _ in range(max(1, len(content) // 100)):
                content[draw.randrange(len(content))] = f"    variant_{number} = {writer.value()}"
        elif kind < 0.06:
            path, content = (
                folder / f"made_{number}_pb2.py",
                ["# Generated by the protocol buffer compiler.  DO NOT EDIT!", *writer.python(count - 1)],
            )
        elif kind < 0.07:
            path, content = folder / f"settings_{number}.py", writer.python(count)
            content[count // 2] = writer.secret()
        elif kind < 0.08:
            path, content = root / "build" / f"output_{number}.py", writer.python(count)
        elif kind < 0.14:
            path, content = folder / f"{writer.names[0]}_{number}.js", writer.javascript(count)
        elif kind < 0.16:
            path, content = folder / f"{writer.names[0]}_{number}.md", writer.markdown(count)
        elif kind < 0.18:
            path, content = folder / f"{writer.names[0]}_{number}.yaml", writer.yaml(count)
        else:
            path, content = folder / f"{writer.names[0]}_{number}.py", writer.python(count)
        if rest == 1:
            # The last file makes the sum exact, whatever the copies brought.
            content = writer.python(max(20, left))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(content) + "\n", encoding="utf-8")
        left -= len(content)
        if path.suffix == ".py" and len(content) < 400:
            written.append((path, content))
    return root
