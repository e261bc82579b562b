"""Names that suggest that their value is a secret: db_password, STRIPE_API_KEY, clientSecret.

`names_in` finds them in a line, `named_kind` judges a value by the name that it was given.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from engine.corpus.reading import secret_values as values


def _words(text: str) -> list[str]:
    return text.split()


# Literals by which a line with such a name is found at all; short words only where something may follow that assigns.
NAME_LITERALS = (
    *_words(
        """secret token bearer passwd password passphrase passcode passwort kennwort pwd pswd credential creds pepper
        _key -key api_key apikey api-key accesskey privatekey key" key' key= key: key> key( pass" pass'
        pass= pass: pass> pass( pass] _pass -pass requirepass pw" pw' pw= pw: bindpw rootpw authtok login=
        login: psk= psk: psk" auth" auth' auth= auth: salt" salt' salt= salt: salt> mnemonic seed_phrase"""
    ),
    # The word in other languages.
    *_words("senha contrase mot_de_passe motdepasse wachtwoord losenord salasana passord adgangskode"),
    *_words("haslo heslo parola jelszo sifre clave= clave: clave\" clave' mdp= mdp: mdp\" mdp' lozinka kodeord"),
    *_words("kata_sandi katasandi mat_khau matkhau κωδικός סיסמה psksecret"),
    "mdp =", 'psk "', "psk '",
    "mot de passe", "clave =", "lösenord", "hasło", "şifre", "jelszó",
    "пароль", "密码", "密碼", "パスワード", "비밀번호",
    "key =", "pass =", "pass ", "pass\t", "pass`", "pw =", "pw ", "auth =", "salt =",
)  # fmt: skip
# "Password" in other languages.
FOREIGN = (
    "senha|contrase(?:ñ|n|ny)a|mots?[ _-]?de[ _-]?passe|wachtwoord|l[öo]senord|salasana|passord|adgangskode|has[łl]o"
    "|heslo|(?<![a-z])mdp(?![a-z])|lozinka|kodeord|kata_?sandi|mat_?khau|κωδικός|סיסמה|(?<![a-z])parola|jelsz[óo]|(?<![a-z])[şs]ifre|(?<![a-z])clave(?![a-z])|пароль|密码|密碼|パスワード|비밀번호"
)
FOREIGN_START = (
    "senha|contras|mots?[ _-]?de|wacht|l[öo]sen|salas|adgang|has[łl]|hesl|parola|jelsz|[şŞs]ifr|clave|[Пп]аро|ПАРО|密"
    "|パスワ|비밀|mdp|lozin|kodeo|kata|mat_?kh|κωδ|סיסמ"
)
# The words by which a name says what it is given; "pass", "pw", "key" and "auth" are also parts of other words.
WORDS = re.compile(
    rf"{FOREIGN_START}|secret|token|bearer|psk(?!e)|mnemonic|seed|kennwort|login|pas|psw|pss|pwd|pw|cred|pepper|key"
    "|auth|salt"
)
_NOT_PASS = _words("by com tres over sur under buy high low band all render sub pre post multi first second")
_KEY_BEFORE = _words("api access private auth encryption signing account master license secret validation decryption")
SPELLED_APART = re.compile(rf"(?i)\b(?:{'|'.join(_KEY_BEFORE)}|activation|auth\w+) $")
IN_ARN = re.compile(r"(?<!\w)arn:[\w:-]{1,100}:$")  # "...:secret:name" is the reference to a secret


def _after(words: list[str]) -> str:
    return "|".join(f"(?<={word})" for word in words)


WORD = (
    rf"(?:{FOREIGN}|secret|token|bearer|passw(?:or)?d|passwort|kennwort|passphrase|passcode|pa?ss?wr?d|pwd|authtok(?!e)"
    r"|pepper|mnemonic|seed_?phrase"
    rf"|{''.join(f'(?<!{word})' for word in _NOT_PASS)}pass(?![a-z])|cred(?:ential)?s?(?![a-z])|psk(?![a-z])"
    r"|(?<=[._])login(?=[=:]|$)"
    rf"|(?:(?<=[_-])|{_after([word + '.' for word in _KEY_BEFORE])}|{_after(_KEY_BEFORE)})key|(?-i:(?<=[a-z0-9])Key)"
    r"|(?:(?<![a-z])|(?<=bind)|(?<=root))pw(?![a-z])|(?:(?<![a-z])|(?<=basic))auth(?![a-z])"
    r"|(?:(?<=[_-])|(?<=hash)|(?<![a-z]))salt(?![a-z]))"
)
SECRET_WORD = re.compile(rf"(?i){WORD}")
NAME_FROM_WORD = re.compile(rf"(?i){WORD}[\w-]*")
PASSWORD_NAME = re.compile(
    rf"(?i){FOREIGN}|passw(?:or)?[dt]|kennwort|passphrase|passcode|pa?ss?wr?d|pwd|authtok(?!e)|pass(?![a-z])|psk$|psksecret"
    r"|(?:(?<![a-z])|(?<=bind)|(?<=root))pw(?![a-z])"
)
# Names that only say the words: what they are given is no secret.
INNOCENT_NAME = re.compile(
    r"""(?ix) public | (?<!hash_)(?<!hash)hash(?!_?salt) | sha\d+ | digest | checksum | finger_?print | etag | integrity
    | encrypted | (?:high|low|band|all)_?pass(?![a-z])
    | (?:boarding|ski|mountain|day|season|bus|train|rail|travel|festival|event|gate|hall|lap|pit|battle|visitor|fast
      |week|month\w*|annual|city|museum|concert|parking|depth|shadow|forward|bloom|blur|lighting|compiler|opt\w*|lower\w*
      |analysis|fusion|rewrite|codegen|cleanup|single|two)_?pass(?:es)?$ | (?:recv|trusted|host)[_-]?keys?
    | (?:client|user|account|app)_?id$
    | (?-i:(?:^|[_.-])(?:is|has|use|no|show|toggle|validate|check|verify|forgot)(?:_|(?=[A-Z])))
    | (?:key|token|secret|credential|password|passwd|passphrase|pwd|pass|auth)s?[_-]?
      (?:id|name|type|len|length|size|path|file|url|uri|endpoint|expir\w*|ttl|count|index|field|label|title|prefix|suffix
      |pattern|regex|format|header|param\w*|arn|class|kind|pair|version|ref|refs|selector|input|hint|reset|policy|rule
      |min\w*|max\w*|strength|validator|last|changed|error|message|msg|text|placeholder|prompt|description|help|column
      |provider|method|mode|scheme|code|store|manager|service|handler|helper|util|required|enabled|algorithm|alg|usage
      |env|var|variable|environment|bytes|bits|iv|rotation|location|dir|folder|host|port|icon|form|view|page|screen
      |template|locale|confirm\w*|mismatch|toggle|visible\w*|style|color|colour|map|list|set|array|code|status|state
      |padding|spec|schema|model|option\w*|setting\w*|config\w*|source|origin|audience|issuer|scope|group|role|policy
      |event)s?\d*$
    | (?:primary|foreign|cache|sort|partition|unique|index|map|dict|object|row|group|hot|sub|lookup|state|config|i18n
      |lang|storage|query|translation|parent|child|idempotency|s3|blob|file|redis|route|site|publishable|anon|pk|host
      |known|range|shard|routing|registry|column|field|property|attr\w*|label|message|locale|meta|json|ssh_host|event
      |react|component|item|entry|menu|tab|node|element|min|max|left|right|next|prev\w*|first|last|press|down|up)_?key
    | max_?tokens? | tokeniz | csrf | xsrf | authenticity | key_?vault | (?:^|[_.-])tokens$
    | (?:page|next|continuation|sync|cursor)_?token
    | (?:start|end|begin|eos|bos|pad|unk|sep|mask|cls|special|stop|image)_?token
    | key[_-]?(?:stroke|board|frame|word)"""
)
# Of what may follow the word in a name, what leaves it that name: passwordProd, api_key_2.  Anything else after a
# capital makes it another one: PasswordField, keyMeshing.
STAYS = re.compile(
    r"""(?ix) ^[s_-]*\d*$ | ^[_-]?(?:base|prod\w*|dev\w*|stag\w*|live|main|master|primary|secondary|default|value
    |str(?:ing)?|plain|raw|b64|base64|hex|old|new|current|us|eu|qa|uat|ci|db|data|v?\d+)[_-]?\d*$ | ^[_-]\w"""
)


def names_in(text: str) -> Iterator[tuple[int, int, str]]:
    """(begin, end, name) of every name in the first line of a text that suggests a secret."""
    lowered = text.lower() if text.isascii() else "".join(c.lower() if c.isascii() else c for c in text)
    end = text.find("\n")
    at = 0
    for word in WORDS.finditer(lowered, 0, end if end >= 0 else len(text)):
        if word.start() < at or (found := NAME_FROM_WORD.match(text, word.start())) is None:
            continue
        begin, at = found.span()
        first = max(begin - 64, 0)
        while begin > first and (text[begin - 1].isalnum() or text[begin - 1] in "_.$-"):
            begin -= 1
        if (
            begin == word.start()
            and text[begin - 1 : begin] == " "
            and (before := SPELLED_APART.search(text, 0, begin))
        ):
            begin = before.start()  # "access key: ..." in prose
        if says_secret(name := text[begin:at].replace(" ", "_")) and not IN_ARN.search(text, 0, begin):
            yield begin, at, name


@lru_cache(maxsize=4096)
def says_secret(name: str) -> bool:
    """True if the name suggests that its value, if it has a real one, is a secret."""
    if INNOCENT_NAME.search(name.replace("-", "_")):
        return False
    words = list(SECRET_WORD.finditer(name))
    return any(STAYS.search(name[word.end() :]) for word in (words[0], words[-1])) if words else False


def named_kind(name: str, value: str, *, in_test: bool, wordy: bool = True, quoted: bool = True) -> str | None:
    """The kind of secret that a value assigned to this name is; None if it is not a secret."""
    lowered = name.lower()
    if value.lower() in (lowered, lowered.rpartition(".")[2]):
        return None
    if "mnemonic" in lowered or "phrase" in lowered:
        words = value.split()
        if len(words) in (12, 15, 18, 21, 24) and len(set(words)) >= 10 and all(word.isalpha() for word in words):
            return "wallet seed"
    if PASSWORD_NAME.search(name):
        return "password" if values.is_password(value, in_test=in_test, wordy=wordy) else None
    if lowered.endswith("auth"):
        user, colon, password = value.partition(":")
        if values.is_basic(value) or (colon and values.is_url_password(user, password, "")):
            return "password"
    if values.UUID.match(value):
        names_it = re.search(r"(?i)(?:api[_-]?key|secret|(?:access|auth|api|bearer|secret)[_-]?token)$", name)
        return "key" if names_it and not in_test else None
    if values.is_basic(value):
        return "password"
    human = quoted and wordy and re.search(r"(?i)secret(?:\w*key)?$|(?:jwt|sign\w*)_?key$|salt$|pepper$", name)
    if not values.is_token(value, in_test=in_test) and not (
        human and not in_test and len(value) >= 8 and values.is_password(value)
    ):
        return None
    if "aws" in lowered and "secret" in lowered:
        return "AWS secret key"
    for word in ("token", "secret", "credential", "key"):
        if word in lowered:
            return word
    return "secret"
