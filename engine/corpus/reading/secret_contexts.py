"""Secrets with no recognisable format, found by their context: assignments, URLs, headers, commands, calls.

Each context is an expression that finds a candidate in a line, or in a line and its continuation; `secret_values`
decides whether the candidate is a secret.  Most functions yield (kind, begin, end), the candidate's span in the text.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator

from engine.corpus.reading import secret_values as values
from engine.corpus.reading.secret_names import named_kind, names_in, says_secret

Candidate = tuple[str, int, int]

# ── assignments ─────────────────────────────────────────────────────────────────────────────────────────────────────

# After the name: the closing quote or index, and the operator that assigns the value.
AFTER = r"(?:\\{0,3}[\"'`]|&quot;)?(?:\s*\[\w*\]|\s?\)|\])*\s*"
GIVES = (
    r"(?P<op>:\s*[\w.&'\[\]<>|?* ]{1,30}?\s*=(?![=>])|(?i:\bas)\s+[\w.]+\s*=|\{\s*get;\s*(?:\w+;\s*)*\}\s*=|:="
    r"|\|\|=|\?\?=|\?=|\+=|=>|<-|->|[=!]==?|=|::|\?:|:|,(?!\s*\n)|\(|\{|\|\||\?\?|\bor\b|\bis\b:?|(?=\s*[bruLN@]{0,2}[\"'`]))"
)
WRAPPED = (
    r"\s*(?:\\\r?\n\s*)?(?:[A-Za-z_$][\w.]{0,40}\s*(?:\+|\.\.?)\s*(?=[\"']))?(?:[bruLNf@$]{1,2}(?=[\"'`])|new\s+[\w.]+\(\s*|[\w.:]{0,30}(?:[sS]tr|[sS]tring|bytes|from|of|Some|b64decode|atob"
    r"|[sS]ecret\w*|[kK]ey|[pP]assword)\(\s*[bruf]?|[\w.]{0,30}(?i:env|fetch)\w{0,12}\(\s*[\"'][\w.-]+[\"']\s*,\s*|\[\]byte\(\s*|[\[(]\s*[bruf]?)?"
)
VALUE = (
    r"(?P<q>\\{0,3}(?:\"{3}|'{3}|[\"'`])|&quot;)(?P<value>(?:(?!(?P=q))(?:\\.|[^\n\\])|(?<=\w)''(?=\w)){5,512}?)(?P=q)"
)
QUOTED = re.compile(AFTER + GIVES + WRAPPED + VALUE)
PLAIN = re.compile(
    r"[\"'`]?(?:\s*(?P<op>:=|=>|::|[:=\uff1a—–]\*{0,2})"
    r"[ \t]*(?:!!str[ \t]+|[|>][+-]?[ \t]*\r?\n\s*|\\\r?\n\s*)?|[ \t]+(?:is[ \t]+|[05][ \t]+)?(?=\S*\d))"
    r"`?(?P<value>[^\s\"'`,;<>(){}\[\]|]{6,512})(?=$|[\s\"'`,;&}|)<])",
    re.MULTILINE,
)
TO_LINE_END = re.compile(
    r"[ \t]*(?P<op>:=|[:=])[ \t]*(?P<value>[^\s\"'`\[{(|>&*!]\S{5,300})[ \t]*(?:[#;][^\n]*)?$", re.MULTILINE
)
IN_CONNECTION = re.compile(r"\s?=\s?(?P<value>[^\s;\"'`]{6,200}?)(?=;)")
ELEMENT = re.compile(
    r"[\w.]*[\"']?(?:\s[^<>\n]*)?>\s*(?:<(?i:value|string|text)>)?(?:<!\[CDATA\[)?(?P<value>[^<>\s{][^<>\s]{4,300})(?:\]\]>)?\s*</"
    r"|\w*</(?:key|name)>\s*<(?:string|value)>(?P<value2>[^<>\s]{5,300})</"
)
PAIR = re.compile(
    r"(?i)[\w.]*\\?[\"']?\s*[,;:=]?\s*[{(]?\s*(?:-\s+)?(?:\\?[\"']?(?:type|description|noecho|sensitive|secure)\b[^\n]*\n\s*){0,3}\\?[\"']?\b(?:value|val|default(?:Value)?|content|plaintext)\\?[\"']?"
    r"\s*(?:=>|[:=]|\()\s*(?P<q>\\?[\"']?)(?P<value>[^\s\"'<>\\]{5,300})(?P=q)"
)
DEFAULT = re.compile(r'"\s*\{(?:[^{}]|\{[^{}]*\})*?\bdefault\s*=\s*"(?P<value>[^"\n]+)"')
BESIDE = re.compile(r"\s*=\s*[\"'][^\"'\n]*[\"']\s*,\s*[\"'](?P<value>[^\"'\n]{5,200})[\"']\s*$", re.MULTILINE)
CELL = re.compile(r"[\"'`*]*\s*\|\s*`?(?P<value>[^\s|`]{6,200})`?\s*\|")
IDENTIFIER = re.compile(r"^[A-Za-z_][\w.]*$")
# Operators that leave no doubt that what follows is the value and not, say, another argument.
DEFINE = re.compile(r"[ \t]*#[ \t]*define[ \t]+\w*$")
ASSIGNS = re.compile(r"=$|^:$|=>|:=|<-|^[=!]=|\?[?:]|\|\||\bis\b")


def assigned(text: str, *, in_test: bool, plain: bool) -> Iterator[Candidate]:
    """Values assigned to a name that suggests a secret.  `plain`: the file's values are not quoted."""
    for begin, at, name in names_in(text):
        quoted = _in_quotes(text, begin)
        if (match := QUOTED.match(text, at)) and (match["op"] or name.lower() not in ("pass", "auth", "pw")):
            sure = bool(ASSIGNS.search(match["op"])) or bool(DEFINE.match(text[text.rfind("\n", 0, begin) + 1 : begin]))
            if kind := named_kind(name, match["value"], in_test=in_test, wordy=sure):
                yield kind, *match.span("value")
        if match := PLAIN.match(text, at):
            free = plain or name.startswith("-")
            value, given = match["value"], match["op"] is not None
            literal = quoted or not IDENTIFIER.match(value) or _is_bare_token(value) or COMMENT.search(text[:begin])
            if free or (given and literal):
                wordy = given and (plain or quoted)
                value = LINE_ENDS.sub("", value) if quoted else value
                if kind := named_kind(name, value, in_test=in_test, wordy=wordy, quoted=False):
                    yield kind, *match.span("value")
        if (match := NEARBY.match(text, at)) and _is_unmistakable(match["value"], in_test):
            yield "secret", *match.span("value")
        for tail, applies in (
            (TO_LINE_END, plain),
            (IN_CONNECTION, (plain or quoted) and ";" in text),
            (ELEMENT, ">" in text),
            (PAIR, True),
            (DEFAULT, "variable" in text),
            (CELL, plain and "|" in text),
            (BESIDE, "," in text[:begin]),
        ):
            if applies and (match := tail.match(text, at)):
                group = "value" if match["value"] else "value2"
                wordy = tail not in (CELL, IN_CONNECTION, BESIDE)
                if kind := named_kind(name, match[group], in_test=in_test, wordy=wordy, quoted=tail is not TO_LINE_END):
                    yield kind, *match.span(group)


LINE_ENDS = re.compile(r"(?:\\[nrt])+$")  # as a notebook has them in its text
COMMENT = re.compile(r"(?:^|\s)(?:#|//|--|/?\*|<!--|;|(?i:rem))\s[^\n]*$")


def _is_bare_token(value: str) -> bool:
    """True for a token, in a comment for example, that only its digits distinguish from an identifier."""
    return value.isalnum() and sum(map(str.isdigit, value)) >= 3 and values.is_token(value, in_test=True)


def _is_unmistakable(value: str, in_test: bool) -> bool:
    """True for a long token of mixed case and digits without any word in it: neither a hash nor an identifier."""
    mixed = values.classes(value.replace("-", "").replace("_", "")) >= 3 and sum(map(str.isdigit, value)) >= 3
    return mixed and not in_test and values.is_token(value, in_test=True) and not values.LONG_WORDS.search(value)


NEARBY = re.compile(r"[^\n]{0,60}?(?<![\w/+-])[\"'`](?P<value>[A-Za-z0-9+/_.~=-]{20,200})[\"'`]")


def _in_quotes(text: str, place: int) -> bool:
    """True if this place is inside quotes, judging by its line alone."""
    begin = text.rfind("\n", 0, place) + 1
    return any(text.count(mark, begin, place) % 2 for mark in "\"'`")


# ── addresses ───────────────────────────────────────────────────────────────────────────────────────────────────────

ADDRESS = re.compile(r"://(?P<user>[^\s/:'\"<>`]{0,80}):(?P<value>[^\s'\"<>`]{3,160}?)@(?P<host>[\w.\[\]{}$%-]+)")
TOKEN_ADDRESS = re.compile(r"https?://(?P<value>[A-Za-z0-9_-]{20,})@(?P<host>[\w.-]+)")
QUERY = re.compile(r"[?&](?:key|auth|sid|appid)=(?P<value>[\w.~%+/-]{20,200})(?=$|[\s&\"'`<>)#])")
ESCAPED = re.compile(r"%{1,2}([2-7][0-9A-Fa-f])(?![A-Z_]+%)")
DSN = re.compile(r"(?P<user>[\w.-]+):(?P<value>[^\s\"'`]{5,80})@(?:tcp|unix|udp)\(")


def in_address(text: str) -> Iterator[Candidate]:
    for match in ADDRESS.finditer(text):
        password = ESCAPED.sub(lambda found: chr(int(found[1], 16)), match["value"])
        if values.is_url_password(match["user"], password, match["host"]):
            yield "password in a URL", *match.span("value")
    for match in TOKEN_ADDRESS.finditer(text):
        if "sentry" not in match["host"] and values.is_token(match["value"]):
            yield "password in a URL", *match.span("value")
    for match in DSN.finditer(text):
        if values.is_url_password(match["user"], match["value"], ""):
            yield "password in a URL", *match.span("value")


# ── headers ─────────────────────────────────────────────────────────────────────────────────────────────────────────

HEADER_LITERALS = ("authorization", "basic ", "cookie", "?key=", "&key=", "?auth=", "&auth=", "?sid=", "&sid=",
    "?appid=", "&appid=")  # fmt: skip
AUTHORIZATION = re.compile(
    r"(?i)authorization(?!\w)\\?[\"']?\s*[\]:,=)]*\s*\\?[\"']?(?:(?P<scheme>[a-z-]{2,20})\s+)?(?P<value>[^\s\"'`,;<>\\]{12,})"
)
BASIC = re.compile(r"(?i)\bbasic (?P<value>[A-Za-z0-9+/_-]{12,}={0,2})")


COOKIE = re.compile(
    r"(?i)cookie\\?[\"']?\s*[\]:,=(]+\s*\\?[\"']?[^\n\"']*?\b[\w.-]*(?:sess\w*|sid|auth\w*|token|jwt)=(?P<value>[^\s;\"'\\]{16,})"
)


def in_header(text: str) -> Iterator[Candidate]:
    for match in AUTHORIZATION.finditer(text):
        value = match["value"]
        opaque = len(value) >= 16 and ":" not in (values.from_base64(value) or "")
        if values.is_basic(value) or (opaque and values.is_token(value)):
            yield "bearer token", *match.span("value")
    for match in QUERY.finditer(text):
        if values.is_token(match["value"]):
            yield "key", *match.span("value")
    for match in COOKIE.finditer(text):
        if values.is_token(match["value"]):
            yield "session cookie", *match.span("value")
    for match in BASIC.finditer(text):
        value = match["value"]
        opaque = len(value) >= 20 and re.search(r"\d", value) and ":" not in (values.from_base64(value) or "")
        if values.is_basic(value) or (opaque and values.is_token(value)):
            yield "password", *match.span("value")


# ── commands ────────────────────────────────────────────────────────────────────────────────────────────────────────

ARGUMENT = r"(?:\\?\"(?P<double>[^\"\n]{4,200}?)\\?\"|'(?P<single>[^'\n]{4,200})'|(?P<bare>(?!-)[^\s\"'`|&;<>]{4,200}))"
REST = r"[^\n|;]*?\s"


def _command(literals: str, expression: str) -> tuple[tuple[str, ...], re.Pattern[str]]:
    return tuple(literals.split(",")), re.compile(expression.replace("ARGUMENT", ARGUMENT).replace("REST", REST))


COMMANDS = (
    _command("mysql,mariadb", r"\bm(?:ysql|ariadb)\w*\bREST-p(?![\s=])ARGUMENT"),
    _command("sshpass", r"\bsshpass\s+(?:-v\s+)?-p\s*ARGUMENT"),
    _command(
        " -p", r"\s(?:-u|-U|-l|--user(?:name)?|--login)[ =]?[\"']?[\w.@\\-]+[\"']?\s(?:REST)?-(?:pw?|P)[ =]?ARGUMENT"
    ),
    _command(" login,-pw ", r"\b(?:login\bREST-p|(?:plink|pscp|psftp)\bREST-pw)\s+ARGUMENT"),
    _command(
        "sqlcmd,osql,mosquitto,ipmitool,zip ", r"\b(?:sqlcmd|osql|mosquitto_\w+|ipmitool|(?:un)?zip)\bREST-P\s*ARGUMENT"
    ),
    _command("redis-cli", r"\bredis-cli\bREST(?:-a|--pass)[ =]ARGUMENT"),
    _command("ldap", r"\bldap\w+\bREST-w\s*ARGUMENT"),
    _command("htpasswd", r"\bhtpasswd\s+-\w*b\w*\s+(?:\S+\s+)?\S+\s+ARGUMENT"),
    _command("pass:", r"\bpass:ARGUMENT"),
    _command(
        "chpasswd",
        r"(?:\bchpasswd\b[^\n]*<<<?[^\n]*?|^chpasswd:[^\n]*\n(?:[ \t]+[^\n]*\n)*?[ \t]+list:[ \t]*[|>]?-?)"
        r"[\s\"'-]*[\w.-]+:(?P<bare>[^\s\"'|:]{4,})",
    ),
    _command("chpasswd", r"echo\s+(?:-\w+\s+)?[\"']?[\w.-]+:(?P<bare>[^\s\"'|]{4,})[\"']?\s*\|\s*(?:sudo\s+)?chpasswd"),
    _command("net us", r"(?i)\bnet\s+use\b[^\n]*/user:\S+\s+ARGUMENT"),
    _command("net us", r"(?i)\bnet\s+user\s+\S+\s+ARGUMENT\s+/"),
    _command("rabbitmqctl", r"\brabbitmqctl\b[^\n]*\b(?:add_user|change_password)\s+\S+\s+ARGUMENT"),
    _command(
        "sqlplus,sqlldr,expdp,impdp,rman target",
        r"\b(?:sqlplus|sqlldr|expdp|impdp|rman)\b[^\n]*?\s[\"']?\w+/(?P<bare>[^\s@\"'/]{4,})@",
    ),
    _command("thin:", r"\bthin:[\w.-]+/(?P<bare>[^\s@\"'/]{4,})@"),
    _command("oracle", r"(?i)\w*oracle[\w.]*connect\(\s*[\"'][\w.$-]+/(?P<bare>[^\s@\"'/]{4,})@[\w.-]+"),
    _command(
        "signtool,psexec,schtasks,wmic", r"(?i)\b(?:signtool|psexec|schtasks|wmic)\bREST[/-]r?p(?:assword:)?\s*ARGUMENT"
    ),
    _command("wpa_passphrase", r"\bwpa_passphrase\s+\S+\s+ARGUMENT"),
    _command("useradd,usermod", r"\buser(?:add|mod)\bREST(?:-p|--password)[ =]ARGUMENT"),
    _command("--stdin,-stdin", r"\b(?:echo|printf)\s+(?:-\w+\s+|[\"']%s(?:\\n)?[\"']\s+)?ARGUMENT\s*\|[^\n]*-stdin\b"),
    _command("masterauth,enable secret", r"\b(?:masterauth|enable secret)\s+(?:0\s+)?ARGUMENT"),
    _command("rootpw", r"\brootpw\s+(?:--\w+\s+)+ARGUMENT"),
    _command("password_hash", r"\{\{\s*(?=[\"'])ARGUMENT\s*\|\s*password_hash"),
    _command("rar a ", r"\brar\s+a\bREST-h?p(?!\s)ARGUMENT"),
    _command("isakmp key", r"\bisakmp key (?:[06] )?ARGUMENT"),
    _command("snmp-server comm", r"\bsnmp-server community ARGUMENT"),
    _command(
        "assword:",
        r"(?i)\bexpect\b[^\n]*(?:assword|passphrase)[^\n]*\{?\s*\n?\s*send(?:_user)?\s+(?:--\s+)?\"(?P<double>[^\"\n\\]{4,200})(?:\\[rn])*\"",
    ),
    _command("7z", r"\b7z\w?\bREST-p(?!\s)ARGUMENT"),
    _command(" /p:, /pass:", r"\s/p(?:ass)?:ARGUMENT"),
    _command("securestring", r"(?i)ConvertTo-SecureString\s+(?:-\w+\s+)*?ARGUMENT"),
    _command(
        "echo ", r"\becho\s+(?:-\w+\s+)?ARGUMENT\s*\|\s*(?:sudo\s+-\w*S|\S+\s[^\n]*--(?:password-stdin|with-token))"
    ),
    _command("<<<", r"\bsudo\s+-\w*S[^\n]*<<<\s*ARGUMENT"),
    _command("smbclient,rpcclient", r"\b(?:smbclient|rpcclient)\bREST-U\s*[\"']?[^\s%\"']+%(?P<bare>[^\s\"']{4,})"),
    _command("sp_addlogin", r"(?i)\bsp_addlogin\s+N?'[^'\n]*'\s*,\s*N?ARGUMENT"),
    _command("lftp", r"\blftp\bREST-u\s*[\"']?[^\s,\"']+,(?P<bare>[^\s\"']{4,})"),
    _command("identified", r"(?i)\bidentified\s+(?:with\s+\S+\s+)?by\s+(?!password\b)(?=[\"'])ARGUMENT"),
    _command(
        "identified", r"(?i)\b(?:user|grant|role)\b[^\n]*\bidentified\s+(?:with\s+\S+\s+)?by\s+(?!password\b)ARGUMENT"
    ),
)
USER_AND_PASSWORD = re.compile(
    rf"\b(?:curl|wget|https?|xh|aria2c)\b[^\n|;]*?\s(?:-u|-a|-U|--(?:proxy-)?user|--auth)(?:=|\s*){ARGUMENT}"
)
INSERT = re.compile(
    r"(?is)\binsert\s+into\s+[\w.`\"\[\]]+\s*\((?P<columns>[^()]*)\)\s*values\s*(?P<rows>ROW(?:\s*,\s*ROW)*)".replace(
        "ROW", r"\((?:'(?:[^']|'')*'|[^()'])*\)"
    )
)
ROW = re.compile(r"\((?P<row>(?:'(?:[^']|'')*'|[^()'])*)\)")
FIELD = re.compile(r"\s*(?:N?'(?P<text>(?:[^']|'')*)'|[^,']*)\s*(?:,|$)")
COMMAND_LITERALS = tuple(
    {literal for literals, _ in COMMANDS for literal in literals}
    | {"curl", "wget", " -u ", " -a ", "--user", "insert into"}
)


def in_command(text: str, *, in_test: bool) -> Iterator[Candidate]:
    """Passwords in the options and arguments of commands, and in SQL."""
    lowered = text.lower()
    for literals, expression in COMMANDS:
        if any(literal.lower() in lowered for literal in literals):
            for match in expression.finditer(text):
                group = _argument(match)
                if values.is_password(match[group], in_test=in_test):
                    yield "password", *match.span(group)
    for match in USER_AND_PASSWORD.finditer(text):
        group = _argument(match)
        user, _, password = match[group].partition(":")
        if values.is_url_password(user, password, ""):
            yield "password", *match.span(group)
    for match in INSERT.finditer(text):
        columns = [column.strip(" \t\n`\"'[]") for column in match["columns"].split(",")]
        secret = {column for column in columns if says_secret(column)}
        for row in ROW.finditer(text, *match.span("rows")) if secret else ():
            begin = row.start("row")
            for column, field in zip(columns, FIELD.finditer(row["row"]), strict=False):
                if field["text"] and column in secret and (kind := named_kind(column, field["text"], in_test=in_test)):
                    yield kind, begin + field.start("text"), begin + field.end("text")


def _argument(match: re.Match[str]) -> str:
    """The group that matched of those in ARGUMENT."""
    return next(name for name in ("double", "single", "bare") if match.groupdict().get(name))


# ── calls ───────────────────────────────────────────────────────────────────────────────────────────────────────────

CALL_LITERALS = (
    "auth=(", "auth = (", "auth(", "login(", "signwith(", "credential(", "credentials(",
    "passwordauthentication(", "authenticate(", "mysqli", "_connect(", "getconnection(", "pdo(", "connect(", "jwt.",
    "createhmac(", "hmac.new(", "securitykey(", "signingkey(", "hmacsha", "cookieparser(", "fernet(", "keygrip(",
    "tochararray(", "getbytes(", "secretkeyspec(", "b64encode(", "buffer.from(", "btoa(", "base64_encode(",
    "wifi.begin(", "wifimulti.begin(", "send_keys(", "sendkeys(",
    "b64decode(", "atob(", "base64_decode(", "frombase64string(",
)  # fmt: skip
TEXT = r"[bruf@]{0,2}(?P<q>[\"'`])(?P<value>(?:(?!(?P=q))(?:\\.|[^\n\\])){5,300})(?P=q)"
CALLS = (
    re.compile(
        r"(?i)(?:\bauth\s*=\s*\(|(?:\w*auth|login|credentials?|passwordauthentication|authenticate)\()\s*"
        rf"(?:(?:[\"'][^\"'\n]{{0,80}}[\"']|[\w.]+)\s*,\s*){{1,3}}{TEXT}\s*\)"
    ),
    re.compile(
        rf"(?i)(?:mysqli|_connect|getconnection|pdo|connect)\((?:[^,()]|\([^()]*\)){{1,300}},\s*[\"'][\w.@-]+[\"']\s*,\s*{TEXT}"
    ),
    re.compile(rf"(?i)\bjwt\.(?:sign|encode|decode|verify)\(\s*(?:\{{[^{{}}]*\}}|[^,(){{}}]+)\s*,\s*{TEXT}"),
    re.compile(
        rf"(?i)(?:createhmac|hmac\.new|cookieparser|fernet|keygrip|securitykey|signingkey|hmacsha\w*|signwith)\(\s*"
        rf"(?:[\w.]+\(\s*)?(?:[\"']?[\w.]+[\"']?\s*,\s*)?\[?\s*{TEXT}"
    ),
    re.compile(rf"(?i)\b(?:wifi\w*\.begin|(?:wlan|sta_if|nic)\.connect)\(\s*[\"'][^\"'\n]{{1,64}}[\"']\s*,\s*{TEXT}"),
    re.compile(rf"(?i)passw\w*[\"'][^\n]{{0,40}}\.send_?keys\(\s*{TEXT}"),
    re.compile(rf"{TEXT}\.toCharArray\("),
    re.compile(rf"(?i)(?:\bkey\w*\s*=\s*|secretkeyspec\(\s*){TEXT}\.getbytes\("),
)


ENCODED_USER = re.compile(
    r"(?i)(?:b64encode|buffer\.from|btoa|base64_encode)\(\s*b?(?P<q>[\"'`])(?P<user>[\w.@-]+):(?P<value>[^\n\"'`]{5,200})(?P=q)"
)


DECODED_USER = re.compile(
    r"(?i)(?:b64decode|atob|base64_decode|frombase64string)\(\s*b?[\"'`](?P<value>[A-Za-z0-9+/_-]{12,}={0,2})[\"'`]"
)


def in_call(text: str, *, in_test: bool) -> Iterator[Candidate]:
    """Passwords and keys passed as positional arguments."""
    for expression in CALLS:
        for match in expression.finditer(text):
            value = match["value"]
            if values.is_token(value, in_test=in_test) or values.is_password(value, in_test=in_test, wordy=not in_test):
                yield "password", *match.span("value")
    for match in ENCODED_USER.finditer(text):
        if values.is_password(match["value"], in_test=in_test):
            yield "password", *match.span("value")
    for match in DECODED_USER.finditer(text):
        if not in_test and values.is_basic(match["value"]):
            yield "password", *match.span("value")


# ── cluster secrets ─────────────────────────────────────────────────────────────────────────────────────────────────

CLUSTER_SECRET = re.compile(r"^[ \t]*[\"']?kind[\"']?:[ \t]*[\"']?Secret[\"']?[ \t]*,?$", re.MULTILINE)
DATA = re.compile(r"^(?P<indent>[ \t]*)(?P<what>data|stringData):[ \t]*$")
ENTRY = re.compile(r"^(?P<indent>[ \t]+)(?P<name>[\w.-]+):[ \t]+[\"']?(?P<value>[^\s\"'|>][^\s\"']*)[\"']?[ \t]*$")


def cluster_secret_lines(lines: list[str]) -> Iterator[int]:
    """The lines with values of a Kubernetes Secret, whatever their names are: being in one makes them secret."""
    what = ""
    for at, line in enumerate(lines):
        entry = ENTRY.match(line) if what else None
        if heading := DATA.match(line):
            what = heading["what"]
        elif entry is None and line.strip() and not line.startswith((" ", "\t")):
            what = ""
        elif entry is not None:
            value = entry["value"] if what == "stringData" else values.from_base64(entry["value"]) or ""
            if "PRIVATE KEY" in value or '"auths"' in value or values.is_password(value) or values.is_token(value):
                yield at


# ── tables ──────────────────────────────────────────────────────────────────────────────────────────────────────────

LONGEST_ROW = 20_000


def table_secret_lines(lines: list[str], *, in_test: bool) -> Iterator[tuple[int, str]]:
    """(line, kind) of the rows with a secret in a column whose heading says so; line 0 has the headings."""
    separator = max(",;\t", key=lines[0].count)
    headings = [heading.strip().replace(" ", "_") for heading in _cells(lines[0], separator)]
    columns = [(place, name) for place, name in enumerate(headings) if says_secret(name)]
    for at, line in enumerate(lines[1:], 1) if columns and len(headings) > 1 else ():
        row = _cells(line, separator)
        for place, name in columns:
            if place < len(row) and (kind := named_kind(name, row[place].strip(), in_test=in_test)):
                yield at, kind
                break


def _cells(line: str, separator: str) -> list[str]:
    # The reader refuses a carriage return inside a line, and a cell that is longer than any secret.
    return next(csv.reader([line[:LONGEST_ROW].replace("\r", " ")], delimiter=separator), [])
