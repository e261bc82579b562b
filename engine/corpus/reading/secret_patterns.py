"""What secrets look like: file names, token formats, and the difference between a random value and words.

Data and small judgements only; `secrets` does the searching. A format has a literal by which a line is found at all and
an expression that decides; both are kept narrow, since a false alarm costs the user a line of code.
"""

from __future__ import annotations

import base64
import json
import math
import re
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of secret that is known by its shape.  Group 1, if there is one, is the part that must look random."""

    kind: str
    literals: tuple[str, ...]
    expression: re.Pattern[str]


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _format(kind: str, literals: str, expression: str) -> Format:
    return Format(kind, _words(literals), re.compile(expression))


B = r"(?<![A-Za-z0-9_])"  # nothing before ...
E = r"(?![A-Za-z0-9_])"  # ... and nothing after that would make it another word

FORMATS = (
    _format("AWS access key", "akia asia abia acca", rf"{B}(?:AKIA|ASIA|ABIA|ACCA)([A-Z0-9]{{16}}){E}"),
    _format("Google API key", "aiza", rf"{B}AIza([0-9A-Za-z_-]{{35}})(?![0-9A-Za-z_-])"),
    _format("Google OAuth token", "ya29. gocspx-", rf"{B}(?:ya29\.([0-9A-Za-z_-]{{20,}})|GOCSPX-[0-9A-Za-z_-]{{28}})"),
    _format("Azure key", "accountkey=", r"(?i:accountkey)=([A-Za-z0-9+/]{86}==)"),
    _format("Azure key", "sharedaccesskey=", r"(?i:sharedaccesskey)=([A-Za-z0-9+/]{43}=)"),
    _format(
        "Azure client secret", "q~", r"(?<![A-Za-z0-9_~.-])([A-Za-z0-9_~.]{3}\dQ~[A-Za-z0-9_~.-]{31,34})(?![\w~.-])"
    ),
    _format("Azure signature", "sig=", r"[?&;]sig=([A-Za-z0-9%/+]{43,}(?:%3[Dd]|=))"),
    _format("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", rf"{B}gh[pousr]_([A-Za-z0-9]{{36,251}}){E}"),
    _format("GitHub token", "github_pat_", rf"{B}github_pat_([A-Za-z0-9_]{{60,90}}){E}"),
    _format(
        "GitLab token",
        "glpat- glptt- gldt- glrt- glft- glsoat- glcbt- gloas- glagent-",
        rf"{B}gl(?:pat|ptt|dt|rt|ft|soat|cbt|oas|agent)-([A-Za-z0-9_.-]{{20,}})",
    ),
    _format(
        "Slack token", "xoxb- xoxa- xoxp- xoxr- xoxs- xoxe", rf"{B}xox[abeprs](?:\.xox[bp])?-([0-9A-Za-z-]{{20,}})"
    ),
    _format("Slack token", "xapp-", rf"{B}xapp-\d-([0-9A-Za-z-]{{20,}})"),
    _format("Slack webhook", "hooks.slack.com", r"hooks\.slack\.com/(?:services|workflows)/(T\w{7,}/\w{8,}/\w{16,})"),
    _format("Discord webhook", "/api/webhooks/", r"discord(?:app)?\.com/api/webhooks/\d{17,20}/([\w-]{60,})"),
    _format("Stripe key", "sk_live_ rk_live_ sk_test_ rk_test_", rf"{B}[sr]k_(?:live|test)_([A-Za-z0-9]{{16,120}}){E}"),
    _format("Stripe webhook secret", "whsec_", rf"{B}whsec_([A-Za-z0-9+/=]{{24,}})"),
    _format("Anthropic key", "sk-ant-", rf"{B}sk-ant-(?:[a-z]+\d+-)?([A-Za-z0-9_-]{{40,}})"),
    _format("OpenAI key", "sk-proj- sk-svcacct- sk-admin-", rf"{B}sk-(?:proj|svcacct|admin)-([A-Za-z0-9_-]{{40,}})"),
    _format("OpenAI key", "sk-", r"(?<![\w-])sk-([A-Za-z0-9]{32,64})(?![\w-])"),
    _format("Hugging Face token", "hf_", rf"{B}hf_([A-Za-z0-9]{{34,40}}){E}"),
    _format("npm token", "npm_", rf"{B}npm_([A-Za-z0-9]{{36}}){E}"),
    _format("PyPI token", "pypi-ag", rf"{B}pypi-(Ag[A-Za-z0-9_-]{{50,}})"),
    _format("SendGrid key", "sg.", rf"{B}SG\.([\w-]{{20,24}}\.[\w-]{{39,50}})(?![\w-])"),
    _format("DigitalOcean token", "_v1_", rf"{B}do[opr]_v1_([a-f0-9]{{64}}){E}"),
    _format("Shopify token", "shpat_ shpca_ shppa_ shpss_", rf"{B}shp(?:at|ca|pa|ss)_([a-fA-F0-9]{{32}}){E}"),
    _format("Telegram token", ":aa", r"(?<![\w:])\d{8,10}:(AA[\w-]{33})(?![\w-])"),
    _format("Databricks token", "dapi", rf"{B}dapi([a-f0-9]{{32}})(?:-\d)?{E}"),
    _format("Docker token", "dckr_pat_", rf"{B}dckr_pat_([\w-]{{27,}})"),
    _format("Vault token", "hvs. hvb.", rf"{B}hv[sb]\.([\w-]{{24,}})"),
    _format("Mailgun key", "key-", rf"{B}key-([0-9a-f]{{32}}){E}"),
    _format("Mailchimp key", "-us", rf"{B}([0-9a-f]{{32}})-us\d{{1,2}}{E}"),
    _format("Grafana token", "glsa_ glc_", rf"{B}gl(?:sa|c)_([A-Za-z0-9+/=_]{{32,}})"),
    _format("New Relic key", "nrak-", rf"{B}NRAK-([A-Z0-9]{{27}}){E}"),
    _format("Atlassian token", "atatt3", rf"{B}ATATT3([A-Za-z0-9_=-]{{60,}})"),
    _format("Linear key", "lin_api_", rf"{B}lin_api_([A-Za-z0-9]{{40}}){E}"),
    _format("age key", "age-secret-key-", rf"{B}(?i:AGE-SECRET-KEY)-1([A-Z0-9]{{58}}){E}"),
    _format("bearer token", "bearer basic", r"(?:[Bb]earer|[Bb]asic) (?=\S*\d)([A-Za-z0-9_.+/=~-]{20,})"),
)
JWT = re.compile(r"(?<![\w-])(eyJ[A-Za-z0-9_-]{8,})\.(eyJ[A-Za-z0-9_-]{8,})\.([A-Za-z0-9_-]{16,})")
BEGIN_KEY = re.compile(r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----|PuTTY-User-Key-File-\d")
END_KEY = re.compile(r"-----END |Private-MAC:")
URL_PASSWORD = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{1,24}://([^\s/:@'\"<>`]{0,80}):([^\s/@'\"<>`]{3,120})@([\w.\[\]-]+)")

# The end of a name, how it is given its value, and the value.  The name's beginning is looked for only after all that.
NAME_WORDS = _words(
    """secret token passwd password passphrase pwd api_key apikey api-key access_key accesskey access-key private_key
    privatekey auth_key authkey encryption_key encryptionkey signing_key signingkey account_key accountkey license_key
    licensekey master_key masterkey secretkey credential _key _pass"""
)
NAME = (
    r"(?:secret|token|passw(?:or)?d|passphrase|pwd|credentials?|_key|_pass"
    r"|(?:api|access|private|auth|encryption|signing|account|master|license|secret)[_-]?key)"
)
ASSIGNED_QUOTED = re.compile(
    rf"(?i)({NAME}[\w-]*)[\"'`]?[\])]?\s*"
    r"(?::\s*[\w.&'\[\]| ]{1,24}?\s*=(?!=)|\{ ?get; ?(?:\w+; ?)?\}\s*=|:=|=>|(?<![=!<>])=(?!=)|:|,|\()\s*"
    r"(?:[bru]{1,2}|@|new\s+\w+\(|String\()?([\"'`])([^\"'`\s]{6,512})\2"
)
ASSIGNED_PLAIN = re.compile(
    rf"(?i)({NAME}[\w-]*)(?:\s*[:=]\s*|\s+(?=\S*\d))([^\s\"'`,;<>(){{}}\[\]]{{8,512}})"
    r"(?=$|[\s\"'`,;&}])"
)

# Names that only say the words: what they are given is no secret.
INNOCENT_NAME = re.compile(
    r"""(?ix) public | hash | sha\d* | digest | checksum | finger_?print | etag | integrity
    | (client|user|account|app)_?id$
    | (key|token|secret|credential)s?_?(id|name|type|len|length|size|path|file|url|uri|endpoint|expir\w*|ttl|count|index
      |field|label|title|prefix|suffix|pattern|regex|format|header|param\w*|arn|class|kind|pair|version)s?$
    | (primary|foreign|cache|sort|partition|unique|index|map|dict|object|row|group|hot|sub|lookup|state|config|i18n|lang
      |storage|query|translation|parent|child|idempotency|s3|blob|file|redis|route|site|publishable|anon|pk)_?key
    | max_?tokens? | tokeniz | ^tokens$ | (page|next|continuation)_?token | csrf_?token_?name
    | (start|end|begin|eos|bos|pad|unk|sep|mask|cls|special)_?token
    | password_?(field|label|input|hint|reset|policy|rule|regex|min|max|strength|validator|last|changed|expir)"""
)


PLACEHOLDER = re.compile(
    r"""(?ix) example | change[_-]?(me|this|it) | placeholder | [_-]here$ | x{4,} | \*{3,} | \.{3} | [<>] | \$\{ | \{\{
    | \{\w*\} | %\(\w+\)s | ^%\w+%?$ | %[sd](\W|$) | ^\$\w | \$\( | fixme | dummy | sample | redact | insert | replace
    | (?<![a-z])(foo|test|demo|todo|fake|mock|mask|null|your|some|my)(?![a-z]) | foobar | not[_-]?(a[_-]?)?real
    | undefined
    | default | lorem | ^bar | ^baz | hunter2 | correct.?horse | passw[o0]rd | p@ssw | p@55w | secret | letmein | qwert
    | asdf | admin | invalid | expired | wrong | bogus | ^none | ^true$ | ^false$ | deadbeef | cafebabe | ^n/a
    | -----BEGIN | environ | getenv | process\.env | vault: | ^arn: | ^data: | ^https?: | ^file: | ^urn: | ^ssh-
    | ^/[a-z]+/ | ^\./ | ^~/ | ^\# | ^@ | ^\$2[aby]\$ | ^\{(SSHA|SHA|CRYPT) | ^(sha\d+|md5)[-:$] | ^pbkdf2 | ^argon
    | ^\d{4}-\d\d-\d\dT"""
)
UUID = re.compile(r"(?i)^\{?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\}?$")
SEQUENCES = tuple(
    text[i : i + 6]
    for line in ("0123456789", "1234567890", "abcdefghijklmnopqrstuvwxyz", "0123456789abcdef", "abcdef0123456789",
                 "9876543210", "zyxwvutsrqponmlkjihgfedcba", "fedcba9876543210", "qwertyuiop", "asdfghjkl",
                 "abc123def456", "a1b2c3d4e5f6g7h8", "1a2b3c4d5e6f7g8h", "112233445566", "aabbccddeeff", "123123123")
    for text in (line,) for i in range(len(line) - 5)
)  # fmt: skip
LETTERS_IN_A_ROW = re.compile(r"[a-z]{3,}")
PIECES = re.compile(r"[-_./:@+=~|\\]+")
WORD = re.compile(r"^(?:[a-z]{1,24}|[A-Z]{1,24}|[A-Z]?[a-z]+(?:[A-Z][a-z]+)*|v?\d{1,4}|[A-Za-z]{1,20}\d{1,4})$")
CODE_SIGNS = re.compile(r"[()\[\]{}|\\^;?]|::|->|=>|\$\w")
WORD_END = re.compile(r"(?i)(password|passwd|passphrase|pwd|_pass)")

# Known to be public: examples in the documentation of those who give the tokens out.
JWT_EXAMPLES = ("1234567890", "John Doe", "Jane Doe", "example")


def entropy(value: str) -> float:
    """Bits per character, by how often each character occurs."""
    n = len(value)
    return -sum(count / n * math.log2(count / n) for count in Counter(value).values()) if n else 0.0


def is_random(value: str) -> bool:
    """True if the variable part of a known format is no placeholder: enough different characters, no counting up."""
    lowered = value.lower()
    if entropy(value) < min(3.0, 0.7 * math.log2(len(value))):
        return False
    if any(run in lowered for run in SEQUENCES):
        return False
    return not re.search(
        r"(?i)example|xxxx|placeholder|redact|your|changeme|dummy|fake|test_?key|0000000|sample", value
    )


def assigned_kind(name: str, value: str, *, in_test: bool) -> str | None:
    """The kind of secret that a value is if it was given to this name; None if it is none."""
    if INNOCENT_NAME.search(name) or PLACEHOLDER.search(value) or UUID.match(value):
        return None
    lowered = value.lower()
    if any(run in lowered for run in SEQUENCES) or lowered == name.lower():
        return None
    if WORD_END.search(name):
        return "password" if _is_password(value, in_test) else None
    if not _is_token(value, in_test):
        return None
    lowered = name.lower()
    if "aws" in lowered and "secret" in lowered:
        return "AWS secret key"
    for word, kind in (("token", "token"), ("secret", "secret"), ("credential", "credential"), ("key", "key")):
        if word in lowered:
            return kind
    return "secret"


def _classes(value: str) -> int:
    """How many of lower case, upper case, digits and signs occur."""
    return (
        any(c.islower() for c in value)
        + any(c.isupper() for c in value)
        + any(c.isdigit() for c in value)
        + any(not c.isalnum() for c in value)
    )


def _is_password(value: str, in_test: bool) -> bool:
    """A password has characters of several kinds, and is not a name in code."""
    if len(value) < 8 or len(value) > 128 or value.isdigit():
        return False
    if value.isalpha():
        return len(value) >= 10 and _is_shuffled(value)
    if _all_words(value) or re.search(r"\w\(|\w\.\w+\.\w|::|->|\\[bdswnx]|\[\^?\w-\w", value):
        return False
    if in_test and entropy(value) < 3.2:
        return False
    return _classes(value) >= 3 or (len(value) >= 12 and _classes(value) >= 2 and entropy(value) >= 3.2)


def _is_token(value: str, in_test: bool) -> bool:
    """A token is long, of many different characters, and not made of words."""
    bare = value.rstrip("=")
    if len(bare) < (20 if in_test else 16) or CODE_SIGNS.search(value):
        return False
    if re.fullmatch(r"[0-9a-f]+|[0-9A-F]+", bare):
        return len(bare) >= 20 and entropy(bare) >= 3.0 and not bare.isdigit()
    if _all_words(value):
        return False
    if bare.isalpha():
        return _is_shuffled(bare)
    digits = sum(c.isdigit() for c in bare)
    if bare.isdigit() or re.fullmatch(r"[\d.,:eE+-]+", bare):
        return False
    if digits < 2 and not _is_shuffled("".join(filter(str.isalpha, bare))):
        return False
    return entropy(bare) >= (3.6 if in_test else 3.2)


def _is_shuffled(letters: str) -> bool:
    """True for letters whose case changes all the time: in names small letters come three and more in a row."""
    changes = sum(a.isupper() != b.isupper() for a, b in pairwise(letters))
    in_rows = sum(map(len, LETTERS_IN_A_ROW.findall(letters)))
    return changes >= 0.25 * len(letters) and in_rows < 0.5 * len(letters) and entropy(letters) >= 3.0


def _all_words(value: str) -> bool:
    """True if the value is words, names and short numbers with signs between: my-access-token-2, auth.form.label."""
    pieces = [piece for piece in PIECES.split(value) if piece]
    return len(pieces) > 0 and all(WORD.match(piece) for piece in pieces)


def is_jwt(header: str, payload: str) -> bool:
    """True if both parts are JSON as in a real token, and it is not the example that every documentation shows."""
    try:
        head, body = (json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))) for part in (header, payload))
    except (ValueError, RecursionError):
        return False
    if not isinstance(head, dict) or not isinstance(body, dict) or not {"alg", "enc", "typ"} & head.keys():
        return False
    words = json.dumps(body)
    return not any(example in words for example in JWT_EXAMPLES)


def is_url_password(user: str, password: str, host: str) -> bool:
    """True if the part between ":" and "@" of an address is somebody's password."""
    lowered = password.lower()
    if PLACEHOLDER.search(password) or lowered in {user.lower(), "pass", "guest", "root", "postgres", "user"}:
        return False
    if CODE_SIGNS.search(password) or password.isdigit() or re.search(r"(^|\.)example\.(com|org|net)$", host):
        return False
    return len(password) >= 6 and (not password.isalpha() or (len(password) >= 10 and _is_shuffled(password)))
