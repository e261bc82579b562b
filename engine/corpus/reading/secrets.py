"""Secrets in a repository, found by file name and by content, so that no model learns them.

Content is searched in two steps. One pass over the bytes (`byte_passes`: compiled, without the GIL) runs an automaton
of all the literals by which a secret can be known and notes the lines that hold one; only those lines are looked at
with regular expressions and judged (`secret_patterns`). Never keeps or shows the secret itself.
"""

from __future__ import annotations

import hashlib
import re
from collections import deque
from dataclasses import dataclass
from fnmatch import translate
from functools import cache

import numpy as np

from engine.corpus.reading import secret_patterns as patterns
from engine.corpus.reading.byte_passes import ADDRESS, NAME, ROW, Automaton, sweep

# What a literal is a sign of; bits from FIRST_FORMAT on stand for the formats, one each.
JWT, KEY_BLOCK, FIRST_FORMAT = 1, 2, 4
LONGEST_BLOCK = 200
LONGEST_LINE = 20_000
KEY_MATERIAL = re.compile(r"[A-Za-z0-9+/]{32}")
NAME_BEFORE = re.compile(r"[\w.$-]*$")
ALLOWED = re.compile(r"pragma: ?allowlist ?secret|gitleaks:allow")
IN_TEST = re.compile(
    r"(?i)(^|/)(tests?|testing|specs?|__tests__|fixtures?|testdata|mocks?|examples?)/|(^|/)test_|[._]test\.|[._]spec\."
)
# In these an assigned value stands without quotation marks.
PLAIN_VALUES = re.compile(
    r"""(?ix) \.(env|ini|cfg|conf|config|properties|ya?ml|toml|sh|bash|zsh|tfvars|txt|md|rst|log|service|plist|xml|csv
    |bat|ps1|cmd|envrc|rc)$ | \.env(\.|$) | (dockerfile|compose)[^/]*$ | (^|/)\.?[^/.]+$"""
)

SECRET_NAMES = {
    "environment file": ".env .env.* *.env",
    "private key": "*.pem *.key *.ppk *.gpg id_rsa id_dsa id_ecdsa id_ed25519 *_rsa *_ed25519",
    "key store": "*.p12 *.pfx *.pkcs12 *.jks *.keystore *.kdbx *.keychain *.bks",
    "credentials": """.npmrc .pypirc .netrc _netrc .pgpass .my.cnf .htpasswd .git-credentials .dockercfg .s3cfg .boto
        .vault-token credentials.json client_secret*.json service-account*.json service_account*.json secrets.yml
        secrets.yaml secrets.json application_default_credentials.json *.tfstate *.tfstate.backup .terraformrc
        kubeconfig *.ovpn .rediscli_auth .mysql_history .psql_history .bash_history .zsh_history""",
}
SECRET_FOLDERS = frozenset({".aws", ".ssh", ".gnupg", ".azure", ".kube", ".gcloud"})
SAFE_NAMES = re.compile(r"(?i)\.(dist|defaults?|schema|pub|md|rst|tmpl|j2|erb)$|example|sample|template")


@dataclass(frozen=True, slots=True)
class Found:
    """A secret in lines `line` to `last` (from 1).  `fingerprint` names these lines' content without telling it."""

    line: int
    last: int
    kind: str
    fingerprint: str


def find_secrets(path: str, text: str) -> list[tuple[int, str]]:
    """(line, kind) of every secret in a text, in order; a block of several lines counts once, at its first line."""
    return [(found.line, found.kind) for found in scan(path, text.encode("utf-8", "surrogatepass"))]


def secret_file_name(path: str) -> str | None:
    """The kind of secret that files of this name hold, None if the name says nothing."""
    folder, _, name = path.rpartition("/")
    if folder and not SECRET_FOLDERS.isdisjoint(folder.split("/")) and not name.endswith(".pub"):
        return "credentials"
    found = _names().match(name.lower())
    if found is None or SAFE_NAMES.search(name):
        return None
    return found.lastgroup.replace("_", " ") if found.lastgroup else None


def mask_lines(text: str, lines: list[int] | tuple[int, ...]) -> str:
    """The text with these lines (from 1) emptied; line ends stay, so all other lines keep their number."""
    if not lines:
        return text
    parts = text.split("\n")
    for line in lines:
        parts[line - 1] = "\r" if parts[line - 1].endswith("\r") else ""
    return "\n".join(parts)


def scan(path: str, data: bytes, marked: list[list[int]] | None = None) -> list[Found]:
    """The secrets in a text given as UTF-8, in order, at most one a line; `marked`: what `sweep` found, if known."""
    if marked is None:
        marked = sweep([data], automaton())[0].marked
    found: list[Found] = []
    in_test = IN_TEST.search(path) is not None
    plain = PLAIN_VALUES.search(path) is not None
    for number, begin, end, sign in marked:
        if found and number <= found[-1].last:
            continue  # inside a block
        line = data[begin : min(end, begin + LONGEST_LINE)].decode("utf-8", "replace")
        last, kind = number, None
        if sign & KEY_BLOCK:
            kind, last = _key_block(data, line, begin, end, number)
        kind = kind or _kind(line, sign, in_test, plain)
        if kind is not None and not ALLOWED.search(line):
            found.append(Found(number, last, kind, fingerprint(_lines(data, begin, last - number + 1))))
    return found


def fingerprint(content: bytes) -> str:
    """A name for lines that hold a secret, from which they cannot be read."""
    return hashlib.blake2b(b" ".join(content.split()), digest_size=12).hexdigest()


def _kind(line: str, sign: int, in_test: bool, plain: bool) -> str | None:
    """The kind of secret in one line, by the signs that were seen in it."""
    formats = sign >> FIRST_FORMAT
    while formats:
        entry = patterns.FORMATS[(formats & -formats).bit_length() - 1]
        formats &= formats - 1
        for match in entry.expression.finditer(line):
            if patterns.is_random(match[1] or match[0]):
                return entry.kind
    if sign & JWT:
        for match in patterns.JWT.finditer(line):
            if patterns.is_jwt(match[1], match[2]):
                return "JSON web token"
    if sign & ADDRESS:
        for match in patterns.URL_PASSWORD.finditer(line):
            if patterns.is_url_password(match[1], match[2], match[3]):
                return "password in a URL"
    if sign & NAME:
        for match in patterns.ASSIGNED_QUOTED.finditer(line):
            if kind := patterns.assigned_kind(_whole_name(line, match), match[3], in_test=in_test):
                return kind
        if plain or ";" in line or "?" in line or "--" in line:
            for match in patterns.ASSIGNED_PLAIN.finditer(line):
                if kind := patterns.assigned_kind(_whole_name(line, match), match[2], in_test=in_test):
                    return kind
    return None


def _whole_name(line: str, match: re.Match[str]) -> str:
    """The name of which the expression matched only the end: my.app_ in front of token."""
    return NAME_BEFORE.search(line, max(match.start() - 64, 0), match.start())[0] + match[1]


def _lines(data: bytes, begin: int, count: int) -> bytes:
    end = begin
    for _ in range(count):
        end = data.find(b"\n", end) + 1
        if end == 0:
            return data[begin:]
    return data[begin:end]


def _key_block(data: bytes, line: str, begin: int, end: int, number: int) -> tuple[str | None, int]:
    """("private key", last line) if a block of key material follows the heading in this line, else (None, line)."""
    heading = patterns.BEGIN_KEY.search(line)
    if heading is None:
        return None, number
    if KEY_MATERIAL.search(line, heading.end()):
        return "private key", number
    if patterns.END_KEY.search(line, heading.end()):
        return None, number
    following = _lines(data, end + 1, LONGEST_BLOCK).decode("utf-8", "replace").split("\n") if end < len(data) else []
    if not any(KEY_MATERIAL.search(text) for text in following[:6]):
        return None, number
    last = number
    for text in following:
        last += 1
        if patterns.END_KEY.search(text):
            break
        if not re.search(r"[A-Za-z0-9+/]{16}|[A-Za-z-]+: |=$", text) and text.strip(" \t\r\"'\\n+;,#*/"):
            last -= 1
            break
    return "private key", last


@cache
def _names() -> re.Pattern[str]:
    groups = []
    for kind, names in SECRET_NAMES.items():
        globs = "|".join(translate(name) for name in names.split())
        groups.append(f"(?P<{kind.replace(' ', '_')}>{globs})")
    return re.compile("|".join(groups))


@cache
def automaton() -> Automaton:
    """Aho-Corasick over all literals."""
    literals: dict[str, int] = {"eyj": JWT, "private key": KEY_BLOCK, "putty-user-key": KEY_BLOCK, "://": ADDRESS}
    for number, entry in enumerate(patterns.FORMATS, FIRST_FORMAT):
        for text in entry.literals:
            literals[text] = literals.get(text, 0) | 1 << number
    for word in patterns.NAME_WORDS:
        literals[word] = NAME | literals.get(word, 0)
    alphabet = sorted(set("".join(literals)))
    classes = np.zeros(256, np.uint8)  # class 0: in no literal
    for number, character in enumerate(alphabet, 1):
        classes[[ord(character), ord(character.upper())]] = number
    following: list[dict[int, int]] = [{}]
    signs = [0]
    for text, sign in literals.items():
        state = 0
        for character in text:
            key = int(classes[ord(character)])
            if key not in following[state]:
                following[state][key] = len(following)
                following.append({})
                signs.append(0)
            state = following[state][key]
        signs[state] |= sign
    table = np.zeros((len(following), ROW), np.int32)
    fallback = [0] * len(following)
    waiting = deque([0])
    while waiting:
        state = waiting.popleft()
        signs[state] |= signs[fallback[state]]
        table[state] = table[fallback[state]] if state else 0
        for key, target in following[state].items():
            fallback[target] = int(table[fallback[state], key]) if state else 0
            table[state, key] = target
            waiting.append(target)
    # Silent states first, so that one comparison tells them from the others.
    order = sorted(range(len(signs)), key=lambda state: (signs[state] != 0, state))
    place = np.empty(len(order), np.int32)
    place[order] = np.arange(len(order)) * ROW
    return Automaton(place[table[order]].ravel(), classes, np.array([signs[state] for state in order], np.int64))
