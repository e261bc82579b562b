"""Secrets in a repository, found by file name and by content, so that no model learns them.

Content is searched in two steps. One pass over the bytes (`byte_passes`: compiled, without the GIL) runs an automaton
of all the literals by which a secret can be known and notes the lines that hold one; only those lines are looked at
with regular expressions (`secret_formats`, `secret_contexts`) and judged (`secret_values`). Never keeps or shows the
secret itself.
"""

from __future__ import annotations

import hashlib
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import translate
from functools import cache

import numpy as np

from engine.corpus.reading import secret_contexts as contexts
from engine.corpus.reading import secret_values as values
from engine.corpus.reading.byte_passes import ADDRESS, NAME, ROW, Automaton, sweep
from engine.corpus.reading.secret_formats import BEGIN_KEY, END_KEY, FORMATS
from engine.corpus.reading.secret_formats import JWT as JWT_FORMAT
from engine.corpus.reading.secret_formats import KEY_IN_BASE64 as BASE64_KEY_FORMAT
from engine.corpus.reading.secret_names import NAME_LITERALS

# What a literal is a sign of; bits from FIRST_FORMAT on stand for the formats, FORMATS_A_BIT each.
JWT, KEY_BLOCK, KEY_IN_BASE64, HEADER, COMMAND, CALL, CLUSTER = 1, 2, 16, 32, 64, 128, 256
FIRST_FORMAT = 9
FORMATS_A_BIT = 2
LONGEST_BLOCK = 200
LONGEST_LINE = 20_000
MOST_LINES = 5  # of a statement that spans several ...
LONGEST_STATEMENT = 800  # ... and bytes of these
LONGEST_DOCUMENT = 1 << 16
KEY_MATERIAL = re.compile(r"[A-Za-z0-9+/]{32}")
ALLOWED = re.compile(rb"pragma: ?allowlist ?secret|gitleaks:allow")
IN_TEST = re.compile(
    r"(?i)(^|/)(tests?|testing|specs?|__tests__|fixtures?|testdata|mocks?|examples?)/|(^|/)test_|[._]test\.|[._]spec\."
)
# In these an assigned value stands without quotation marks.
PLAIN_VALUES = re.compile(
    r"""(?ix) \.(env|ini|cfg|conf|config|properties|ya?ml|toml|sh|bash|zsh|tfvars|txt|md|rst|log|service|plist|xml|csv
    |bat|ps1|cmd|envrc|rc|http|adoc|j2|tmpl|tpl|creds?|credentials|cnf|netrc|nmconnection|ks|inf|ora|reg
    |ovpn|vars|secrets?|ldif|rsp|preseed|text|org|eml|textile|local|repo|profile|diff|patch)$
    | \.env(\.|$) | (^|/)env\. | (dockerfile|compose|makefile|jenkinsfile)[^/]*$
    | (^|/)\.?[^/.]+$"""
)
LEADING_BYTES = bytes({word.encode()[0] for word in "пр密码パ"})  # of "password" in other scripts
GOES_ON = frozenset("(=:+\\|>,{[&.-\"'`")  # a line that ends with one of these, or with a word, may be continued
TABLE = re.compile(r"(?i)\.[ct]sv$")
INSERTS = re.compile(r"(?i)\binsert\s+into\b")  # columns, and their values in the next line
# Two literals that are one: "a" + "b", 'a' . 'b', or just one after the other, also over lines.
JOINT = re.compile(
    r"""(["'`])(?:[ \t]*(?:\+|\.\.?|&|<>|\+\+|\\)[ \t]*(?:\r?\n[ \t]*)?
    |[ \t]*\r?\n[ \t]*(?:(?:\+|\.\.?|&)[ \t]*)?|[ \t]+)
    [bruf@]{0,2}\1(?!\1)""",
    re.VERBOSE,
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
    """A secret in lines `line` to `last` (from 1).  `fingerprint` identifies them without revealing them."""

    line: int
    last: int
    kind: str
    fingerprint: str


def find_secrets(path: str, text: str) -> list[tuple[int, str]]:
    """(line, kind) of every secret in a text, in order; a multi-line block counts once, at its first line."""
    return [(found.line, found.kind) for found in scan(path, text.encode("utf-8", "surrogatepass"))]


def secret_file_name(path: str) -> str | None:
    """The kind of secret in files with this name, None if the name implies none."""
    folder, _, name = path.rpartition("/")
    if folder and not SECRET_FOLDERS.isdisjoint(folder.split("/")) and not name.endswith(".pub"):
        return "credentials"
    found = _names().match(name.lower())
    if found is None or SAFE_NAMES.search(name):
        return None
    return found.lastgroup.replace("_", " ") if found.lastgroup else None


def mask_lines(text: str, lines: list[int] | tuple[int, ...]) -> str:
    """The text with these lines (from 1) emptied; line endings stay, so line numbers do not change."""
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
    elsewhere: list[Found] = []
    in_test = IN_TEST.search(path) is not None
    plain = PLAIN_VALUES.search(path) is not None
    searched = 0  # as a cluster secret, up to here
    for number, begin, end, sign in marked:
        if found and number <= found[-1].last:
            continue  # inside a block
        line = data[begin : min(end, begin + LONGEST_LINE)].decode("utf-8", "replace")
        if sign & CLUSTER and begin >= searched and contexts.CLUSTER_SECRET.match(line):
            more, searched = _cluster_secrets(data, begin, end, number)
            elsewhere.extend(more)
        if number == 1 and sign & NAME and TABLE.search(path):
            elsewhere.extend(_secrets_in_table(data, in_test))
        first, last, kind = number, number, None
        if sign & KEY_BLOCK:
            kind, last = _key_block(data, line, begin, end, number)
        if kind is None:
            kind, before, through = _kind(line, _statement(data, line, end), sign, in_test, plain)
            first, last = number + before, number + through
        if kind is not None and not (found and first <= found[-1].last):
            lines = _lines(data, begin, last - number + 1).split(b"\n", first - number)[-1]
            if not ALLOWED.search(lines):
                found.append(Found(first, last, kind, fingerprint(lines)))
    known = {line for each in found for line in range(each.line, each.last + 1)}
    found.extend(each for each in elsewhere if each.line not in known)
    return sorted(found, key=lambda each: each.line)


def _statement(data: bytes, line: str, end: int) -> str:
    """The line, followed by the next ones if they may continue it."""
    last = line.rstrip()[-1:]
    if end >= len(data) or not (last in GOES_ON or last.isalnum() or (last == ")" and INSERTS.search(line))):
        return line
    following = _lines(data, end + 1, MOST_LINES - 1)[:LONGEST_STATEMENT].decode("utf-8", "replace")
    return f"{line}\n{following}".rstrip("\n")


def _cluster_secrets(data: bytes, begin: int, end: int, number: int) -> tuple[list[Found], int]:
    """The values in the YAML document that this line belongs to, and where that ends."""
    top = max(data.rfind(b"\n---", max(begin - LONGEST_DOCUMENT, 0), begin) + 1, begin - LONGEST_DOCUMENT, 0)
    bottom = data.find(b"\n---", end, end + LONGEST_DOCUMENT)
    bottom = bottom if bottom >= 0 else min(end + LONGEST_DOCUMENT, len(data))
    lines = data[top:bottom].decode("utf-8", "replace").split("\n")
    first = number - data.count(b"\n", top, begin)
    found = []
    for at in contexts.cluster_secret_lines(lines):
        name = fingerprint(lines[at].encode("utf-8", "replace"))
        found.append(Found(first + at, first + at, "cluster secret", name))
    return found, bottom


def _secrets_in_table(data: bytes, in_test: bool) -> Iterator[Found]:
    """The cells under headings such as "password", as in exports of browsers and password managers."""
    lines = data.decode("utf-8", "replace").split("\n")
    for at, kind in contexts.table_secret_lines(lines, in_test=in_test):
        yield Found(at + 1, at + 1, kind, fingerprint(lines[at].encode("utf-8", "replace")))


def fingerprint(content: bytes) -> str:
    """Identifies lines with a secret without revealing them."""
    return hashlib.blake2b(b" ".join(content.split()), digest_size=12).hexdigest()


def _kind(line: str, statement: str, sign: int, in_test: bool, plain: bool) -> tuple[str | None, int, int]:
    """The kind of secret in the statement that `line` starts, and the first and last of its lines (from 0) with it."""
    for text in (line, statement) if len(statement) > len(line) else (line,):
        for kind, begin, end in _candidates(text, sign, in_test, plain):
            end = _end_of_literals(statement, end)
            return kind, statement.count("\n", 0, begin), statement.count("\n", 0, end)
    joined = JOINT.sub("", statement)
    if len(joined) != len(statement):
        sign |= _formats_in(joined.lower())
        for kind, *places in _candidates(joined, sign, in_test, plain):
            begin, end = (_place_before_joining(statement, place) for place in places)
            return kind, statement.count("\n", 0, begin), statement.count("\n", 0, _end_of_literals(statement, end))
    return None, 0, 0


def _end_of_literals(text: str, end: int) -> int:
    """The end of a literal including adjacent literals that continue it; `end`: the end of what was found."""
    while (joint := JOINT.match(text, end)) and (close := text.find(joint[1], joint.end())) >= 0:
        end = close
    return end


def _formats_in(lowered: str) -> int:
    """The signs of the formats that this text may hold."""
    bits = 0
    for number, entry in enumerate(FORMATS):
        if any(literal in lowered for literal in entry.literals):
            bits |= 1 << FIRST_FORMAT + number // FORMATS_A_BIT
    return bits


def _place_before_joining(text: str, place: int) -> int:
    """The index in the original text of a place in the joined text."""
    for joint in JOINT.finditer(text):
        if joint.start() >= place:
            break
        place += joint.end() - joint.start()
    return place


def _candidates(text: str, sign: int, in_test: bool, plain: bool) -> Iterator[contexts.Candidate]:
    formats = sign >> FIRST_FORMAT
    while formats:
        first = FORMATS_A_BIT * ((formats & -formats).bit_length() - 1)
        formats &= formats - 1
        for entry in FORMATS[first : first + FORMATS_A_BIT]:
            for match in entry.expression.finditer(text):
                if values.is_random(match[1] or match[0]):
                    yield entry.kind, *match.span()
    if sign & JWT:
        for match in JWT_FORMAT.finditer(text):
            if values.is_jwt(match[1], match[2]):
                yield "JSON web token", *match.span()
    if sign & KEY_IN_BASE64:
        for match in BASE64_KEY_FORMAT.finditer(text):
            if values.is_key_in_base64(match[0]):
                yield "private key", *match.span()
    if sign & ADDRESS:
        yield from contexts.in_address(text)
    if sign & HEADER:
        yield from contexts.in_header(text)
    if sign & NAME:
        yield from contexts.assigned(text, in_test=in_test, plain=plain)
    if sign & COMMAND:
        yield from contexts.in_command(text, in_test=in_test)
    if sign & CALL:
        yield from contexts.in_call(text, in_test=in_test)


def _lines(data: bytes, begin: int, count: int) -> bytes:
    end = begin
    for _ in range(count):
        end = data.find(b"\n", end) + 1
        if end == 0:
            return data[begin:]
    return data[begin:end]


def _key_block(data: bytes, line: str, begin: int, end: int, number: int) -> tuple[str | None, int]:
    """("private key", last line) if a block of key material follows the heading in this line, else (None, line)."""
    heading = BEGIN_KEY.search(line)
    if heading is None:
        return None, number
    if KEY_MATERIAL.search(line, heading.end()):
        return "private key", number
    if END_KEY.search(line, heading.end()):
        return None, number
    following = _lines(data, end + 1, LONGEST_BLOCK).decode("utf-8", "replace").split("\n") if end < len(data) else []
    if not any(KEY_MATERIAL.search(text) for text in following[:6]):
        return None, number
    for count, text in enumerate(following, 1):
        if END_KEY.search(text):
            return "private key", number + count
        if BEGIN_KEY.search(text):
            break
    last = number
    for text in following:
        last += 1
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
    literals: dict[str, int] = {
        "eyj": JWT, "private key": KEY_BLOCK, "putty-user-key": KEY_BLOCK, "openvpn static key": KEY_BLOCK,
        "://": ADDRESS, "@tcp(": ADDRESS,
        "@unix(": ADDRESS, "ls0tls1crudjti": KEY_IN_BASE64, "secret": CLUSTER,
    }  # fmt: skip
    for number, entry in enumerate(FORMATS):
        for text in entry.literals:
            literals[text] = literals.get(text, 0) | 1 << FIRST_FORMAT + number // FORMATS_A_BIT
    for texts, sign in (
        (NAME_LITERALS, NAME),
        (contexts.HEADER_LITERALS, HEADER),
        (contexts.COMMAND_LITERALS, COMMAND),
        (contexts.CALL_LITERALS, CALL),
    ):
        for text in texts:
            literals[text.lower()] = sign | literals.get(text.lower(), 0)
    alphabet = sorted(set("".join(filter(str.isascii, literals))))
    classes = np.zeros(256, np.uint8)  # class 0: in no literal
    for number, character in enumerate(alphabet, 1):
        classes[[ord(character), ord(character.upper())]] = number
    # Bytes beyond ASCII share what classes are left: a few more lines are looked at, and the table stays small.
    classes[0x80:] = len(alphabet) + 1
    for number, byte in enumerate(LEADING_BYTES, len(alphabet) + 2):
        classes[byte] = number
    following: list[dict[int, int]] = [{}]
    signs = [0]
    for text, sign in literals.items():
        state = 0
        for byte in text.encode():
            key = int(classes[byte])
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
    # States without signs first, so that one comparison distinguishes them.
    order = sorted(range(len(signs)), key=lambda state: (signs[state] != 0, state))
    place = np.empty(len(order), np.int32)
    place[order] = np.arange(len(order)) * ROW
    return Automaton(place[table[order]].ravel(), classes, np.array([signs[state] for state in order], np.int64))
