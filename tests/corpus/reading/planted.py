"""A corpus of planted secrets and of look-alikes, made from a seed: no secret, real or made up, stands in this file.

Each sample is one small file as people write them: some ordinary lines, the line in question, some ordinary lines.
"""

from __future__ import annotations

import base64
import json
import random
import string
from dataclasses import dataclass

B62 = string.ascii_letters + string.digits
B64 = B62 + "+/"
URL64 = B62 + "-_"
HEX = "0123456789abcdef"
BASE32 = string.ascii_uppercase + "234567"
SIGNS = "!#$%^&*+=?~"


@dataclass(frozen=True)
class Sample:
    path: str
    text: str
    line: int  # where the secret is
    what: str


class Maker:
    """Random pieces, always the same ones for a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def chars(self, alphabet: str, count: int) -> str:
        return "".join(self.random.choice(alphabet) for _ in range(count))

    def pick(self, choices):
        return self.random.choice(list(choices))

    def sample(self, path: str, line: str, what: str) -> Sample:
        before = [self.pick(CODE) for _ in range(self.random.randrange(0, 12))]
        after = [self.pick(CODE) for _ in range(self.random.randrange(0, 6))]
        return Sample(path, "\n".join([*before, line, *after, ""]), len(before) + 1, what)


CODE = [
    "import os",
    "def total(items):",
    "    return sum(item.price for item in items)",
    "",
    "# the next page, if there is one",
    "for token in tokens:",
    "    if token.kind == 'NAME': yield token",
    "password = request.form['password']",
    "const key = Object.keys(options)[0];",
    "  max_tokens: 4096",
    "see https://docs.python.org/3/library/os.html#os.environ",
    "static const uint32_t k[] = {0x428a2f98, 0x71374491};",
    "assert response.status_code == 200",
    "self.secret_name = name",
    "version = '1.24.3'",
]


def token_formats(make: Maker) -> dict[str, str]:
    """One secret of every format that is known by its shape."""
    c = make.chars
    header = base64.urlsafe_b64encode(json.dumps({"alg": "HS256", "typ": "JWT"}).encode()).decode().rstrip("=")
    body = {"sub": c(string.digits, 8), "exp": 1893456000, "scope": "write"}
    payload = base64.urlsafe_b64encode(json.dumps(body).encode()).decode().rstrip("=")
    return {
        "AWS access key": "AK" + "IA" + c(BASE32, 16),
        "AWS temporary key": "AS" + "IA" + c(BASE32, 16),
        "Google API key": "AI" + "za" + c(URL64, 35),
        "Google client secret": "GOC" + "SPX-" + c(URL64, 28),
        "Google OAuth": "ya" + "29." + c(URL64, 68),
        "Azure storage": "Account" + "Key=" + c(B64, 86) + "==",
        "Azure service bus": "Shared" + "AccessKey=" + c(B64, 43) + "=",
        "Azure client secret": c(B62, 3) + make.pick("78") + "Q" + "~" + c(B62 + "_.-~", 34),
        "Azure signature": "https://x.blob.core.windows.net/c/f?sv=2022&" + "sig=" + c(B62, 43) + "%3D",
        "GitHub personal": "gh" + "p_" + c(B62, 36),
        "GitHub server": "gh" + "s_" + c(B62, 36),
        "GitHub fine-grained": "github" + "_pat_" + c(B62, 22) + "_" + c(B62, 59),
        "GitLab": "gl" + "pat-" + c(URL64, 20),
        "Slack bot": "xo" + "xb-" + c(string.digits, 12) + "-" + c(string.digits, 12) + "-" + c(B62, 24),
        "Slack user": "xo" + "xp-" + c(string.digits, 11) + "-" + c(string.digits, 11) + "-" + c(HEX, 32),
        "Slack webhook": "https://hooks.slack"
        + ".com/services/T"
        + c(BASE32, 8)
        + "/B"
        + c(BASE32, 8)
        + "/"
        + c(B62, 24),
        "Discord webhook": "https://discord" + ".com/api/webhooks/" + "9" + c(string.digits, 17) + "/" + c(URL64, 68),
        "Stripe live": "sk" + "_live_" + c(B62, 24),
        "Stripe restricted": "rk" + "_live_" + c(B62, 99),
        "Stripe webhook": "wh" + "sec_" + c(B62, 32),
        "OpenAI": "sk" + "-" + c(B62, 20) + "T3Blbk" + "FJ" + c(B62, 20),
        "OpenAI project": "sk" + "-proj-" + c(URL64, 74) + "T3Blbk" + "FJ" + c(URL64, 74),
        "Anthropic": "sk" + "-ant-api03-" + c(URL64, 93) + "AA",
        "Hugging Face": "h" + "f_" + c(string.ascii_letters, 34),
        "npm": "np" + "m_" + c(B62, 36),
        "PyPI": "py" + "pi-AgEIcHlwaS5vcmcC" + c(URL64, 120),
        "SendGrid": "S" + "G." + c(URL64, 22) + "." + c(URL64, 43),
        "DigitalOcean": "do" + "p_v1_" + c(HEX, 64),
        "Shopify": "sh" + "pat_" + c(HEX, 32),
        "Telegram": "5" + c(string.digits, 9) + ":A" + "A" + c(URL64, 33),
        "Databricks": "da" + "pi" + c(HEX, 32),
        "Docker": "dckr" + "_pat_" + c(URL64, 27),
        "Vault": "hv" + "s." + c(URL64, 90),
        "Mailgun": "key" + "-" + c(HEX, 32),
        "Grafana": "gl" + "sa_" + c(B62, 32) + "_" + c(HEX, 8),
        "JSON web token": f"{header}.{payload}." + c(URL64, 43),
    }


PLACES = [  # (path, how a value that is known by its shape stands in a file)
    ("src/client.py", "client = Client({!r})"),
    ("app/config.js", "  value: '{}',"),
    ("deploy/values.yaml", "  value: {}"),
    ("run.sh", "export VALUE={}"),
    ("Settings.java", 'private static final String VALUE = "{}";'),
    ("README.md", "then call it with `{}` as the first argument"),
    ("settings.json", '  "value": "{}",'),
    ("main.go", "const value = `{}`"),
]
ASSIGNMENTS = [  # (path, how a name is given a value)
    ("app/state/settings.py", '{name} = "{value}"'),
    ("app/state/settings.py", "    {name}: str = '{value}'"),
    ("app/state/settings.py", 'os.environ["{NAME}"] = "{value}"'),
    ("app/state/settings.py", "connect(host, {name}='{value}', timeout=3)"),
    ("web/config.ts", "export const {name} = '{value}';"),
    ("web/config.ts", '  {name}: "{value}",'),
    ("config/app.json", '  "{name}": "{value}",'),
    ("config/app.yaml", "{name}: {value}"),
    ("config/app.yml", '  {name}: "{value}"'),
    ("config/app.ini", "{name} = {value}"),
    ("config/app.properties", "service.{name}={value}"),
    ("deploy.sh", 'export {NAME}="{value}"'),
    ("deploy.sh", "export {NAME}={value}"),
    ("Dockerfile", "ENV {NAME}={value}"),
    ("main.go", '\t{name} := "{value}"'),
    ("Main.java", 'builder.{name}("{value}");'),
    ("main.rb", "{name} => '{value}',"),
    ("main.tf", '  {name} = "{value}"'),
    ("lib.rs", 'const {NAME}: &str = "{value}";'),
    ("Program.cs", 'public string {name} {{ get; set; }} = "{value}";'),
    ("index.php", "define('{NAME}', '{value}');"),
]
SECRET_NAMES = ["api_key", "secret_key", "auth_token", "access_token", "client_secret", "jwt_secret", "apiKey",
"authToken", "private_key", "encryption_key", "webhook_secret", "aws_secret_access_key",
                "session_secret"]  # fmt: skip
PASSWORD_NAMES = ["password", "db_password", "passwd", "smtp_password", "adminPassword", "redis_pwd", "DB_PASS"]


def password(make: Maker) -> str:
    """A password as people and password programs make them."""
    kind = make.random.randrange(3)
    if kind == 0:
        word = make.pick(["Summer", "Winter", "Falcon", "Dragon", "Berlin", "Monkey", "Orchid"])
        return word + make.chars(string.digits, 4) + make.pick("!#$%&*")
    if kind == 1:
        return make.chars(B62, 12) + make.chars(SIGNS, 2) + make.chars(B62, 3)
    return make.chars(B62, make.random.randrange(14, 22))


def secret_value(make: Maker) -> str:
    kind = make.random.randrange(4)
    if kind == 0:
        return make.chars(HEX, make.pick([32, 40, 64]))
    if kind == 1:
        return make.chars(B64, 43) + "="
    if kind == 2:
        return make.chars(URL64, make.random.randrange(24, 48))
    return make.chars(B62, make.random.randrange(20, 48))


def key_block(make: Maker, kind: str, lead: str = "", tail: str = "") -> str:
    lines = [
        f"-----BEGIN {kind}PRIVATE " + "KEY-----",
        *(make.chars(B64, 64) for _ in range(8)),
        make.chars(B64, 30) + "==",
    ]
    return "\n".join(f"{lead}{line}{tail}" for line in [*lines, f"-----END {kind}PRIVATE " + "KEY-----"])


def planted(seed: int = 101) -> list[Sample]:
    """Files with one secret each."""
    make = Maker(seed)
    found = []
    for _ in range(4):
        for what, value in token_formats(make).items():
            path, form = make.pick(PLACES)
            found.append(make.sample(path, form.format(value), what))
    for path, form in ASSIGNMENTS * 3:
        for names, value in ((SECRET_NAMES, secret_value(make)), (PASSWORD_NAMES, password(make))):
            name = make.pick(names)
            found.append(make.sample(path, form.format(name=name, NAME=name.upper(), value=value), "assigned value"))
    for kind in ("RSA ", "EC ", "OPENSSH ", "", "ENCRYPTED ", "DSA "):
        found.append(make.sample("notes.txt", key_block(make, kind), "private key"))
        found.append(make.sample("fixtures/key.js", key_block(make, kind, "  '", "\\n' +"), "private key"))
        escaped = key_block(make, kind).replace("\n", "\\n")
        found.append(make.sample("account.json", f'  "private_key": "{escaped}\\n",', "private key"))
    for scheme in ("postgres", "mysql", "mongodb+srv", "redis", "amqp", "https", "ftp", "postgresql+asyncpg"):
        for _ in range(3):
            secret = make.chars(B62, make.random.randrange(10, 20))
            address = (
                f"{scheme}://{make.pick(['app', 'svc', 'root', ''])}:{secret}@db{make.pick('123')}.internal.net/main"
            )
            found.append(make.sample(*(make.pick(PLACES)[0], f"url = '{address}'"), "password in a URL"))
    for _ in range(4):
        found.append(make.sample("a.sh", f'curl -H "Authorization: Bearer {make.chars(URL64, 40)}" $URL', "bearer"))
        found.append(make.sample("b.py", f"headers = {{'Authorization': 'Basic {make.chars(B62, 31)}='}}", "basic"))
        found.append(
            make.sample("c.cs", f'"Server=db;User Id=app;Password={password(make)};Encrypt=true"', "connection")
        )
        found.append(make.sample("d.md", f"    tool login --token {make.chars(B62, 32)}", "command line"))
        found.append(
            make.sample("e.py", f"get('https://api.acme.io/v1?api_key={make.chars(HEX, 32)}&page=2')", "query")
        )
        found.append(make.sample("conf/.yarnrc", f"//registry.acme.io/:_authToken={make.chars(B62, 36)}", "npmrc"))
    return found


PLACEHOLDERS = [
    "changeme", "CHANGE_ME", "xxx", "xxxxxxxxxxxxxxxxxxxxxxxx", "<your key>", "<YOUR_API_KEY>", "your-api-key-here",
    "your_secret_token", "example-token-1234567890", "test", "test-token-0001", "dummy_key_for_tests_1", "${API_KEY}",
    "{{ vault_token }}", "%(password)s", "$SECRET_TOKEN", "************", "....", "TODO",
    "replace-with-real-key-2024", "secret", "password", "password123", "Password1!", "passw0rd", "hunter2", "s3cr3t",
    "admin", "letmein", "foobar123456", "0123456789abcdef0123456789abcdef", "abcdefghijklmnopqrstuvwxyz123456",
    "1234567890", "00000000000000000000", "deadbeefdeadbeefdeadbeefdeadbeef", "sk_test_your_key_here", "sk-...",
    "INSERT_TOKEN_HERE_12345", "my-secret-token-1", "fake-access-key-123", "redacted", "null", "undefined", "none",
    "[REDACTED]", "not-a-real-key-98765", "default_value_1", "AKIA" + "IOSFODNN7EXAMPLE",
    "wJalrXUtnFEMI/K7MDENG/bPxRfiCY" + "EXAMPLEKEY", "mock-token-abc123", "sample_secret_9f", "{token}",
    "{self.token}", "***redacted***", "aaaaaaaaaaaaaaaaaaaaaaaa", "qwertyuiop123", "invalid-token-42",
]  # fmt: skip
LOOKUPS = [
    ("a.py", 'api_key = os.environ["STRIPE_API_KEY_2"]'),
    ("a.py", 'token = os.getenv("GITHUB_TOKEN_V2", "")'),
    ("a.py", "password = settings.DATABASES['default']['PASSWORD']"),
    ("a.py", "secret_key = config('SECRET_KEY_BASE64', cast=str)"),
    ("a.js", "const apiKey = process.env.NEXT_PUBLIC_API_KEY_V3;"),
    ("a.js", "  password: process.env.DB_PASSWORD || '',"),
    ("a.ts", "const token = await getToken({ req, secret: process.env.JWT_SECRET });"),
    ("a.go", 'token := os.Getenv("SLACK_BOT_TOKEN2")'),
    ("a.rb", "password = ENV.fetch('PGPASSWORD_1') { nil }"),
    ("a.yml", "  token: ${{ secrets.GITHUB_TOKEN }}"),
    ("a.yml", "  password: ${DB_PASSWORD:-}"),
    ("a.yml", "      api_key: !vault |"),
    ("a.sh", 'export TOKEN="$(vault read -field=token secret/ci2)"'),
    ("a.sh", "PASSWORD=$1"),
    ("a.tf", "  password = var.database_password_v2"),
    ("a.tf", "  token = data.aws_secretsmanager_secret_version.token1.secret_string"),
    ("Main.java", 'String password = System.getenv("DB_PASSWORD_2");'),
    ("a.php", "'password' => env('DB_PASSWORD_9', ''),"),
    ("a.cs", 'var apiKey = Configuration["Services:ApiKey2"];'),
    ("a.rs", 'let token = env::var("API_TOKEN_1").unwrap();'),
]
CODE_WITH_WORDS = [
    "token = tokenizer.decode([13, 2911, 4])",
    "password_field = forms.CharField(widget=forms.PasswordInput)",
    "if token.type == 'INTEGER_LITERAL_2': return parse_number_2(token)",
    "secret_name = 'projects/acme/secrets/db-main/versions/12'",
    "    'password_reset_subject': 'email.templates.password_reset.v2',",
    "PUBLIC_KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHb7c0ZkQ9mX3fJtTn2Lq8VdWgE5yRzPpKsUvNoBhCiA'",
    "cache_key = 'user:profile:v2:settings:2024'",
    "token_url = 'https://auth.acme.io/oauth2/v2.0/token'",
    '    "access_token_lifetime": "P30DT12H30M5S",',
    "private_key_path = '/etc/ssl/private/server-2024.key'",
    "SECRET_KEY_FILE = './run/secrets/web_key_2'",
    "api_key_header = 'X-API-Key-V2'",
    "primary_key = 'f47ac10b58cc4372a5670e02b2c3d479'",
    '<input type="password" name="password" id="login-password-2">',
    "password_regex = '^(?=.*[A-Z])(?=.*[0-9]).{8,64}$'",
    "raise ValueError('password must have 8 to 64 characters, 1 digit')",
    "    token: 'var(--color-token-primary-500)',",
    "const tokenKind2Name = { 1: 'Identifier', 2: 'NumericLiteral' };",
    "label: 'settings.security.apiKey.description2',",
    "auth_token = create_access_token(identity=user.id, expires=3600)",
    "def test_password(): assert check_password('abc', hash_password('abc'))",
    "password_hash = '$2b$12$KIXQ4r9Z8p1uYw3sV5tE7uJq2mN6oB0aC4dF8gH1iL3kM5nP7rS9e'",
    "url = 'http://user:pass@localhost:8080/'",
    "url = 'postgres://postgres:postgres@localhost:5432/test'",
    "url = f'mysql://{user}:{password}@{host}/{name}'",
    "url = 'https://USER:PASSWORD@example.com'",
    "url = 'redis://:${REDIS_PASSWORD}@cache:6379/0'",
    "url = 'https://<user>:<token>@git.acme.io/x.git'",
    "git@github.com:acme/tool.git",
    "if '-----BEGIN RSA PRIVATE " + "KEY-----' in text: raise ValueError",
    "headers = {'Authorization': f'Bearer {token}'}",
    "Authorization: Bearer <token>",
    "# Bearer authentication-scheme-identifier is described in RFC 6750",
    "basic understanding of reverse-engineering",
    '"tokens": ["[CLS]", "hello", "[SEP]"],',
    "EOS_TOKEN = '<|endoftext|>'",
    "csrf_token_name = 'csrfmiddlewaretoken'",
    "sk-estimator-container-doc-link-fitted-2",
    "X-Amz-Security-Token: see the documentation, section 4.2.1",
    "continuation_token: 'next-page-cursor-000012'",
]


def look_alikes(seed: int = 102) -> list[Sample]:
    """Files with something that looks like a secret and is none."""
    make = Maker(seed)
    c = make.chars

    def uuid() -> str:
        return "-".join(c(HEX, n) for n in (8, 4, 4, 4, 12))

    found = []
    for i, value in enumerate(PLACEHOLDERS):
        for path, form in (ASSIGNMENTS[(i * 5 + k) % len(ASSIGNMENTS)] for k in range(3)):
            name = make.pick(SECRET_NAMES + PASSWORD_NAMES)
            found.append(
                make.sample(path, form.format(name=name, NAME=name.upper(), value=value), f"placeholder {value}")
            )
    for path, line in LOOKUPS * 2:
        found.append(make.sample(path, line, "look-up"))
    for line in CODE_WITH_WORDS:
        for path in ("app/main.py", "web/main.ts"):
            found.append(make.sample(path, line, "code"))
    makers = {
        "integrity": ("x.json", lambda: f'      "integrity": "sha512-{c(B64, 86)}==",'),
        "resolved": ("x.json",
            lambda: f'"resolved": "https://registry.example.org/token-types/-/t-4.2.1.tgz#{c(HEX, 40)}",'),
        "go.sum": ("go.txt", lambda: f"github.com/acme/token v1.2.3/go.mod h1:{c(B64, 43)}="),
        "hashes": ("req.txt", lambda: f"requests==2.31.0 --hash=sha256:{c(HEX, 64)}"),
        "poetry": ("x.toml", lambda: f'    {{file = "secretstorage-3.3.tar.gz", hash = "sha256:{c(HEX, 64)}"}},'),
        "uuid": ("a.py",
            lambda: f"{make.pick(['id', 'user_id', 'tenant', 'token_id', 'api_key_id', 'token'])} = '{uuid()}'"),
        "uuid in yaml": ("a.yml", lambda: f"{make.pick(['id', 'client_id', 'secret_id', 'correlation'])}: {uuid()}"),
        "commit": ("a.yml", lambda: f"  - uses: actions/checkout@{c(HEX, 40)}"),
        "revision": ("a.py", lambda: f"{make.pick(['commit', 'revision', 'rev', 'sha'])} = '{c(HEX, 40)}'"),
        "checksum": ("a.py",
            lambda: f"{make.pick(['md5', 'checksum', 'etag', 'token_hash', 'digest'])} = '{c(HEX, 32)}'"),
        "image": ("a.css", lambda: f"  background: url(data:image/png;base64,iVBORw0KGgo{c(B64, 300)}==);"),
        "image in code": ("a.py", lambda: f"ICON = '{c(B64, 120)}=='"),
        "test data": ("tests/test_a.py", lambda: f"assert encode(b'{c(B62, 24)}') == '{c(B64, 32)}'"),
        "fixture": ("tests/data.json", lambda: f'  "name": "{c(B62, 16)}", "value": "{c(HEX, 24)}",'),
        "array": ("a.c", lambda: "  " + ", ".join(f"0x{c(HEX, 8)}" for _ in range(6)) + ","),
        "version": ("a.py", lambda: f"__version__ = '2.{c('123456789', 1)}.0.dev20240{c('1234567', 1)}+g{c(HEX, 9)}'"),
        "certificate": ("a.txt",
            lambda: f"-----BEGIN CERTIFICATE-----\n{c(B64, 64)}\n{c(B64, 64)}\n-----END CERTIFICATE-----"),
        "public key": ("a.txt", lambda: f"-----BEGIN PUBLIC KEY-----\n{c(B64, 64)}\n-----END PUBLIC KEY-----"),
        "asset": ("a.html",
            lambda: f'<script src="/static/main.{c(HEX, 20)}.js" integrity="sha384-{c(B64, 64)}"></script>'),
        "url": ("a.md", lambda: f"see https://acme.io/docs/{c(B62, 22)}/access-token?ref={c(B62, 12)}"),
        "cursor": ("a.json",
            lambda: f'"next_page_token_prefix": "page-{c(string.digits, 6)}-of-{c(string.digits, 6)}"'),
        "public": ("a.ts", lambda: f"  publicKey: '{c(B64, 43)}=',"),
    }  # fmt: skip
    for what, (path, line) in makers.items():
        for _ in range(8):
            found.append(make.sample(path, line(), what))
    return found
