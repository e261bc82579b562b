"""Decides whether a value is a secret: tells random values and passwords from words and placeholders.

It looks only at a piece of text and the name it is assigned to; `secret_contexts` finds such pieces in a file.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
from collections import Counter
from itertools import pairwise


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Something that is filled in, looked up, or says itself that it is nothing.
TEMPLATE = re.compile(
    r"""(?x) \$\{ | \$\( | \{\{ | \}\} | \#\{ | <% | %[A-Za-z_]\w+% | ^%[sdvq]$ | %[0-9.]*[sdrfx](?!\w) | %\(\w+\)s
    | (?<![A-Za-z0-9])\$[A-Za-z_]{4,} | \$[A-Z_]{2,} | \$\w*(?i:pass|pw|token|secret|key|user|name|host|port)
    | ^\$\w+$ | \{[\w.]*[a-z_]{3,}[\w.!:]*\} | ^\{\w*\}$ | <[A-Za-z][\w\ .:/-]+> | ^<.*>$ | ^\[[\w\ -]+\]$ | ^__\w+__$
    | @@\w+@@ | ^Ag[A-D][A-Za-z0-9+/]{30} | ^@[\w.+-]+/ | ^@Microsoft | ^\+?"""
    r"""(?:environ|getenv|process\.env|os\.|env[.:(]|vault[:/]|arn:|data:|https?:|file:|urn:|op://|ref\+|kms:|gs://|s3://
    |projects/|ENC[\[(]|\{cipher\}|ssh-|/[a-z]+/|\.{1,2}/|~/|n/a$|-----BEGIN|[A-Z]:\\) | process\.env | os\.environ
    | secretKeyRef | ^\d{4}-\d\d-\d\dT | ^\#[0-9a-fA-F]{3,8}$ | ^:\w+$ | ^\w*\([^()]*\)$ | ^[A-Za-z_][\w.]{2,}\(.*\)$"""
)
# Encrypted where it stands: SOPS, jasypt, Spring, Ansible, Vault's transit engine, Rails.
ENCRYPTED = re.compile(r"^(?:ENC[\[(]|\{cipher\}|\$ANSIBLE_VAULT|!vault|vault:v\d+:|enc:v?\d*:|AQ[IE]CAH|\{AES\})")
HASH = re.compile(
    r"""(?ix) ^\$(?:2[abxy]|argon2\w*|[156y]|s0|pbkdf2[\w-]*|scrypt)\$ | ^\{(?:S?SHA|CRYPT|MD5|ARGON2|BCRYPT|PBKDF2)
    | ^(?:sha\d+|md5|bcrypt|scrypt|crypt|h1)[-:$] | ^pbkdf2 | ^argon2 | ^\*[0-9A-F]{40}$
    | ^SCRAM-SHA | ^md5[0-9a-f]{32}$"""
)
# Any of these says that the value is not a real one.
MARKS = re.compile(
    r"""(?ix) example | placeholder | change[_-]?(?:me|this|it) | redact | dummy | lorem | x{4,} | \*{3,} | \.{3} | …
    | your[_\W] | [_\W]your | ^your[a-z] | insert[_-] | replace[_-]?(?:me|with|this) | not[_-]?(?:a[_-]?)?real | fixme
    | (?<![a-z])(?:fake|todo|sample)(?![a-z]) | [_-]here$ | deadbeef | cafebabe | feedface | hunter2
    | correct.?horse | keyboard.?cat"""
)
# Words of which made-up values are made.  What is left when they are taken away decides.
DUMMY_WORDS = _set(
    """a abc abcd abcdef access account admin administrator alice an api apikey app asd asdf asdfgh asdfghjkl auth
    authorization bad bar basic baz bearer bob bogus by cafe client code config correct cred credential
    credentials custom data database db dead default demo dev development doe dummy empty enter env error
    expired fail fake field foo foobar for from generated good guest hash hello hidden hint host id in input
    invalid is it jane john jwt key keys label letmein local localhost login long masked master me missing mock
    msg mustermann my mypass mysecret mysql name new no none not null of old only or pass passphrase passw
    passwd password passwort placeholder postgres private public pw pwd qux qwer qwert qwerty qwertyuiop random
    real redis removed root safe sample secret secrets secure security set sha shared signing some string strong
    stub super sure temp test tester testing tests text the this tmp to token tokens top undefined unset user
    username val valid value very weak welcome with word world wrong yes you your zxcv zxcvbn"""
)
LONGEST_DUMMY = max(map(len, DUMMY_WORDS))
LEET = str.maketrans("013457@$!", "oieastasi")
SAYS_TEST = re.compile(
    r"(?i)(?<![a-z])(?:test|tests|testing|tester|demo|mock|stub|dev|local|foo|bar|baz|fixture)(?![a-z])"
)
UUID = re.compile(r"(?i)^\{?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\}?$")
LETTERS_IN_A_ROW = re.compile(r"[a-z]{3,}")
LETTERS = re.compile(r"[A-Za-z]+")
CAMEL_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
LONG_WORDS = re.compile(r"[A-Z]?[a-z]{4,}|[A-Z]{5,}")
PIECES = re.compile(r"[-_./:@+=~|\\\s,&!#*?%]+")
WORD = re.compile(
    r"^(?:[a-z]{1,24}|[A-Z]{1,24}|[A-Z]?[a-z]+(?:[A-Z][a-z]+)*|v?\d{1,4}|(?:[a-z]+|[A-Z]+|[A-Z]?[a-z]+(?:[A-Z][a-z]+)*)\d{1,4})$"
)
STRONG_SIGN = re.compile(r"[^\w\-./:\\=]")  # one that no name has
CODE = re.compile(
    r"""(?x) \\[bdswDSW] | 0-9 | a-zA | A-Za | \[\^?\w-\w | \(\?[:=!<]
    | ^[A-Za-z_]\w*(?:(?:::|->)[A-Za-z_]\w*)+(?:\(\))?$
    | => | ^\)\.\w+\( | \w\[\w*\]$ | ^[\d.,:+eE-]+$ | ^\#\w+[-.]\w | ^\.\w[\w-]+$ | ^0x[0-9a-fA-F]{1,16}$
    | ^application/ | ^[a-z]+/[a-z.+-]+$"""
)
FILE_NAME = re.compile(
    r"(?i)^[\w./@-]+\.(?:py|jsx?|tsx?|json|ya?ml|txt|md|html?|css|pem|key|crt|cer|xml|png|svg|sh|sql|go|java|rb|php|com|org|net|io)$"
)
NAMES_A_SECRET = _set("password passwd pwd pass token secret key field input label login form credential")
# Words of names, versions and types: with one of them, words and a number are more likely a name than a password.
NAMES_A_THING = _set(
    """string text char varchar type base base64 sha utf ascii latin step version option page value enum class object
    button style column table row section chapter item index part phase stage level group node server service client
    module layer block panel dialog screen widget window windows view state map mesh depth shadow prepass min max length
    size count code error issue ticket arg linux ubuntu debian python java http https tls ssl aes
    rsa rev build release beta alpha rc figure example test user admin id"""
)
VERSION = re.compile(r"(?i)(?:^|[-_/ a-z])v?\d+(?:\.\d+)+(?:[-_.](?:alpha|beta|rc|dev|post)\d*)?$")
MAIL_ADDRESS = re.compile(r"^[\w.+-]+@[\w-]+(?:\.[\w-]+)+$")
ACCOUNT_ADDRESS = re.compile(r"^0x[0-9a-fA-F]{40}$")  # of a contract or an account on a chain: public
FEWEST_DIGITS = 12  # of a password of digits alone
# Known to be public: examples in the documentation of those who give the tokens out.
JWT_EXAMPLES = ("1234567890", "John Doe", "Jane Doe", "example")


def entropy(value: str) -> float:
    """Bits per character, by how often each character occurs."""
    n = len(value)
    return -sum(count / n * math.log2(count / n) for count in Counter(value).values()) if n else 0.0


def is_random(value: str) -> bool:
    """True if the variable part of a known format is not a placeholder: enough different characters, no sequence."""
    if entropy(value) < min(3.0, 0.7 * math.log2(len(value))) or _counts_up(value):
        return False
    return not re.search(
        r"(?i)example|xxxx|placeholder|redact|your|changeme|dummy|(?<![a-z])fake|test_?key|0000000|sample", value
    )


def is_placeholder(value: str) -> bool:
    """True for a value that is a blank to fill in, a reference, a hash, or an obvious example."""
    if ENCRYPTED.match(value) or value.startswith("arn:"):
        return True
    if _is_strong(value, 24) and len({c for c in value if not c.isalnum()}) >= 6:
        return False  # in so much noise anything may stand
    if TEMPLATE.search(value) or HASH.search(value) or MARKS.search(value) or _counts_up(value):
        return True
    return _is_made_of_dummies(value)


def _counts_up(value: str) -> bool:
    """True for 0123456789abcdef, aaaaaaaa, a1b2c3d4e5 and the like: most characters follow from the ones before."""
    if len(value) < 6:
        return len(set(value)) <= 2
    codes = [ord(c) for c in value.lower()]
    n = len(codes)
    steps = sum(abs(b - a) <= 1 or (a, b) in ((57, 97), (57, 48), (102, 48)) for a, b in pairwise(codes))
    skips = sum(abs(b - a) == 1 for a, b in zip(codes, codes[2:], strict=False))
    return steps >= 0.6 * (n - 1) or skips >= 0.7 * (n - 2) or len(set(codes)) <= max(2, n // 12)


def _is_made_of_dummies(value: str) -> bool:
    """True for `my-secret-token-1` and `Test1234!`: only placeholder words and a few digits."""
    digits = "".join(filter(str.isdigit, value))
    if len(digits) > 4 and not _counts_up(digits):
        return False
    for text in (value.lower(), value.lower().translate(LEET)):
        letters = LETTERS.findall(text)
        total = sum(map(len, letters))
        if total and sum(map(_dummy_letters, letters)) >= total - (1 if total > 6 else 0):
            return True
    found = SAYS_TEST.search(value)
    return found is not None and not _is_strong(value[: found.start()] + value[found.end() :], 16)


def _dummy_letters(word: str) -> int:
    """How many letters of a word are covered by dummy words, end to end, at best."""
    best = [0] * (len(word) + 1)
    for end in range(1, len(word) + 1):
        best[end] = best[end - 1]
        for begin in range(max(0, end - LONGEST_DUMMY), end):
            if word[begin:end] in DUMMY_WORDS:
                best[end] = max(best[end], best[begin] + end - begin)
    return best[-1]


def classes(value: str) -> int:
    """How many of lower case, upper case, digits and signs occur."""
    return (
        any(c.islower() for c in value)
        + any(c.isupper() for c in value)
        + any(c.isdigit() for c in value)
        + any(not c.isalnum() for c in value)
    )


def is_password(value: str, *, in_test: bool = False, wordy: bool = True) -> bool:
    """True if a value in the place of a password is one, and not an identifier, a sentence or a placeholder.

    `wordy`: one made of words and digits counts (`walnut-harbour-482`), as people think them up.
    """
    if wordy and not in_test and value.isdigit():
        return len(value) >= FEWEST_DIGITS and len(set(value)) >= 6 and not _counts_up(value)
    if not 6 <= len(value) <= 200 or value.isdigit() or is_placeholder(value) or CODE.search(value):
        return False
    if not any(map(str.isalpha, value)) or FILE_NAME.match(value):
        return False
    if not value.isascii() and sum(not c.isascii() for c in value) > len(value) // 4:
        return False  # words of a language that puts no spaces between them
    if any(map(str.isspace, value)):
        return _is_noise(value) or (not in_test and _is_passphrase(value))
    if value.isalpha():
        return len(value) >= 10 and _is_shuffled(value)
    if in_test and (len(value) < 8 or entropy(value) < 3.2 or _all_words(value)):
        return False
    if _all_words(value):
        return _is_wordy_password(value, wordy)
    if classes(value) >= 3 and (any(map(str.isdigit, value)) or STRONG_SIGN.search(value)):
        return len(value) >= (6 if wordy and classes(value) == 4 else 7)
    return len(value) >= 8 and entropy(value) >= 2.7 and (any(map(str.isdigit, value)) or _is_shuffled(value))


def _is_wordy_password(value: str, wordy: bool) -> bool:
    """Words with digits and symbols ("Falcon2931!", "walnut-harbour-482"), not identifiers ("login-password-2").

    Mixed case with digits and symbols is enough; anything less counts only where a password is expected (`wordy`).
    """
    pieces = {word.lower() for word in CAMEL_WORDS.findall(value)}
    digits = sum(map(str.isdigit, value))
    strong = STRONG_SIGN.search(value) is not None
    mixed = any(map(str.islower, value)) and any(map(str.isupper, value))
    if not pieces.isdisjoint(NAMES_A_SECRET) or re.search(r"(?i)passw|secret|token|credential", value):
        return False
    if digits == 0 or VERSION.search(value) or MAIL_ADDRESS.match(value) or re.search(r"[/\\]\w|\w=\w", value):
        return False
    if mixed and not value.isalnum() and pieces.isdisjoint(NAMES_A_THING):
        return len(value) >= (8 if not wordy else 6 if strong else 7)
    if len(value) < 8 or not (wordy or strong):
        return False
    ordinary = not pieces.isdisjoint(NAMES_A_THING | DUMMY_WORDS)
    if re.search(r"[.:]\w", value) and (ordinary or digits < 2 or value.count(".") > 1 or ":" in value):
        return False
    if strong or digits >= 2:
        return True
    return not ordinary and (
        (mixed and value[0].isupper()) or (value.islower() and min(map(len, pieces)) >= 3 and not value.isalnum())
    )


def _is_passphrase(value: str) -> bool:
    """Four or more words with a number among them, and nothing of a sentence."""
    words = value.split()
    plain = all(word.isalnum() for word in words)
    return 4 <= len(words) <= 10 and plain and value.islower() and any(map(str.isdigit, value))


def is_token(value: str, *, in_test: bool = False) -> bool:
    """A token is long, of many different characters, and not made of words."""
    bare = value.rstrip("=")
    if is_placeholder(value) or CODE.search(value) or UUID.match(value) or FILE_NAME.match(value):
        return False
    if ACCOUNT_ADDRESS.match(value) or not value.isascii():
        return False
    if any(map(str.isspace, bare)):
        return _is_noise(bare)
    if len(bare) < (20 if in_test else 16):
        return not in_test and _is_strong(bare, 12) and classes(bare) >= 3 and not _all_words(bare)
    if re.search(r"[()\[\]{}|\\^;?<>]|::|->|=>|\$\w", bare):
        return _is_strong(bare, 20)
    if re.fullmatch(r"[0-9a-f]+|[0-9A-F]+", bare):
        return len(bare) >= 20 and entropy(bare) >= 3.0 and not bare.isdigit()
    if _all_words(value):
        return False
    if bare.isalpha():
        return _is_shuffled(bare)
    if bare.isdigit() or re.fullmatch(r"[\d.,:eE+-]+", bare):
        return False
    if sum(map(str.isdigit, bare)) < 2 and not _is_shuffled("".join(filter(str.isalpha, bare))):
        return False
    if sum(map(len, LONG_WORDS.findall(bare))) > 0.6 * len(bare):
        return False
    return entropy(bare) >= (3.6 if in_test else 3.2)


def _is_strong(value: str, least: int) -> bool:
    """True for a long value of all character classes with hardly a word in it."""
    if len(value) < least or entropy(value) < min(3.4, 0.9 * math.log2(len(value))) or sum(map(str.isdigit, value)) < 2:
        return False
    return sum(map(len, LONG_WORDS.findall(value))) <= 0.35 * len(value)


def _is_noise(value: str) -> bool:
    """True for a long value of all character classes including spaces, such as WordPress's generated keys."""
    return _is_strong(value, 40) and len({c for c in value if not c.isalnum()}) >= 8


def _is_shuffled(letters: str) -> bool:
    """True if the case of letters keeps changing: identifiers have runs of three or more lower-case letters."""
    if len(letters) >= 20 and classes(letters) == 2 and sum(c in "aeiouAEIOU" for c in letters) < 0.27 * len(letters):
        return True  # words have more vowels
    changes = sum(a.isupper() != b.isupper() for a, b in pairwise(letters))
    in_rows = sum(map(len, LETTERS_IN_A_ROW.findall(letters)))
    return changes >= 0.25 * len(letters) and in_rows < 0.5 * len(letters) and entropy(letters) >= 3.0


def _all_words(value: str) -> bool:
    """True if the value is words, names and short numbers with signs between: my-access-token-2, auth.form.label."""
    pieces = [piece for piece in PIECES.split(value) if piece]
    return len(pieces) > 0 and all(WORD.match(piece) for piece in pieces)


def is_jwt(header: str, payload: str) -> bool:
    """True if both parts are JSON as in a real token, and it is not the well-known example from the documentation."""
    try:
        head, body = (json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))) for part in (header, payload))
    except (ValueError, RecursionError):
        return False
    if not isinstance(head, dict) or not isinstance(body, dict) or not {"alg", "enc", "typ"} & head.keys():
        return False
    words = json.dumps(body)
    return not any(example in words for example in JWT_EXAMPLES)


def from_base64(value: str) -> str | None:
    """The text that is written in base64; None if that is not what it is."""
    try:
        return base64.b64decode(value + "=" * (-len(value) % 4), validate=True).decode("utf-8")
    except (binascii.Error, ValueError):
        return None


def is_basic(value: str) -> bool:
    """True if a value is base64 of user:password, as in an HTTP header or a container registry's configuration."""
    text = from_base64(value)
    if text is None or not text.isprintable() or ":" not in text:
        return False
    user, _, password = text.partition(":")
    return is_url_password(user, password, "")


def is_key_in_base64(value: str) -> bool:
    """True if a value is a private key in base64."""
    return b"PRIVATE KEY" in base64.b64decode(value[: len(value) // 4 * 4][:256])


def is_url_password(user: str, password: str, host: str) -> bool:
    """True if the part of a URL between ":" and "@" is a real password."""
    lowered = password.lower()
    if password.startswith("{") and password.endswith("}"):  # computed where the address is put together
        return False
    if is_placeholder(password) or lowered in {user.lower(), "guest", "postgres"} or password.isdigit():
        return False
    if re.search(r"(^|[.@])example\.(com|org|net)$", host) or re.match(r"\d{1,5}(?:/|$)", password):
        return False
    if len(password) < 6:
        return False
    if any(map(str.isdigit, password)):
        return True
    return (len(password) >= 10 and _is_shuffled(password)) or (
        len(password) >= 8 and not password.isalpha() and not _all_words(password) and "[" not in password
    )
