"""The packages of the starter model: the pinned lists, what each is used for, and which licences are accepted.

The lists are disjoint on purpose: training, watching the loss during training, tuning the settings of adaptation and
the reported figures use four different sets of packages.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from engine.errors import ConfigError

TRAIN, WATCH, TUNING, EVALUATION = "train", "watch", "tuning", "evaluation"
ROLES = (TRAIN, WATCH, TUNING, EVALUATION)
PYTHON, NPM = "python", "npm"
LISTS = Path(__file__).resolve().parents[1] / "starter_packages.toml"

PERMISSIVE = re.compile(
    r"\b(MIT|MIT-0|MIT-CMU|BSD|0BSD|BSD-\d-Clause|Apache|Apache-2\.0|PSF|PSF-2\.0|Python-2\.0"
    r"|Python Software Foundation|ISC|ISCL|HPND|Unlicense|Zlib|CC0-1\.0)\b",
    re.IGNORECASE,
)
RESTRICTED = re.compile(
    r"GPL|GNU|MPL|Mozilla|EPL\b|CDDL|EUPL|Eclipse|Commercial|Proprietary|Non-?Commercial|SSPL", re.I
)


@dataclass(frozen=True)
class Package:
    """A pinned package of a registry, and what it is used for."""

    registry: str
    name: str
    version: str
    role: str

    @property
    def folder(self) -> str:
        """Its name on disk, without characters that a path cannot contain."""
        return f"{self.name.strip('@').replace('/', '-')}-{self.version}"


def read_lists(path: Path = LISTS) -> list[Package]:
    """All packages; each must be pinned and in one list only."""
    lists = tomllib.loads(path.read_text(encoding="utf-8"))
    packages = []
    for role, registries in lists.items():
        for registry, entries in registries.items():
            if role not in ROLES or registry not in (PYTHON, NPM):
                raise ConfigError(
                    f"{path.name} has a list {role}.{registry}; lists are named after {', '.join(ROLES)}."
                )
            for entry in entries:
                name, pin, version = entry.partition("==")
                if not (name and pin and version):
                    raise ConfigError(f"{path.name}: {entry!r} is not pinned.", "Write name==version.")
                packages.append(Package(registry, name, version, role))
    seen: dict[tuple[str, str], str] = {}
    for package in packages:
        key = package.registry, re.sub(r"[-_.]+", "-", package.name).lower()
        if key in seen:
            raise ConfigError(f"{path.name}: {package.name} is in two lists: {seen[key]} and {package.role}.")
        seen[key] = package.role
    return packages


def is_permissive(licence: str) -> bool:
    """Whether a package's own metadata names permissive licences only."""
    return bool(PERMISSIVE.search(licence)) and not RESTRICTED.search(licence)
