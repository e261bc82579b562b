"""Secrets: what is found of planted ones, what is left alone of look-alikes, and how lines are masked."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.corpus.reading.secrets import find_secrets, mask_lines, scan, secret_file_name
from tests.corpus.reading.look_alike_contexts import look_alikes_in_places
from tests.corpus.reading.planted import CODE, Maker, key_block, look_alikes, planted, token_formats
from tests.corpus.reading.planted_contexts import PLACES, filled, fillings, in_places
from tests.corpus.reading.planted_words import not_words, words, words_in_places

RECALL = 0.97
FALSE_ALARMS = 0.01


def test_recall_on_planted_secrets(capsys):
    samples = planted()
    missed = [
        sample for sample in samples if sample.line not in [line for line, _ in find_secrets(sample.path, sample.text)]
    ]
    recall = 1 - len(missed) / len(samples)
    with capsys.disabled():
        print(f"\nsecrets: {len(samples)} planted, recall {recall:.1%}, missed {dict(Counter(s.what for s in missed))}")
    assert len(samples) >= 200
    assert recall >= RECALL


def test_false_alarms_on_look_alikes(capsys):
    samples = look_alikes()
    alarmed = [sample for sample in samples if find_secrets(sample.path, sample.text)]
    share = len(alarmed) / len(samples)
    with capsys.disabled():
        print(
            f"\nsecrets: {len(samples)} look-alikes, false alarms {share:.1%} {dict(Counter(s.what for s in alarmed))}"
        )
    assert len(samples) >= 400
    assert share <= FALSE_ALARMS


@pytest.mark.parametrize("seed", range(20, 23))
def test_bounds_hold_for_other_secrets(seed):
    """The patterns were not fitted to the one corpus that is reported."""
    samples, likes = planted(seed), [*look_alikes(seed), *look_alikes_in_places(seed)]
    found = sum(sample.line in [line for line, _ in find_secrets(sample.path, sample.text)] for sample in samples)
    assert found >= RECALL * len(samples)
    assert sum(bool(find_secrets(like.path, like.text)) for like in likes) <= FALSE_ALARMS * len(likes)


@pytest.mark.parametrize("seed", [103, 30, 31])
def test_secrets_are_found_wherever_people_leave_them(seed):
    """Connection strings, cluster configuration, XML, switches of commands, SQL, defines, headers, calls, parts."""
    samples = in_places(seed)
    missed = [(sample.path, sample.what) for sample in samples if not find_secrets(sample.path, sample.text)]
    assert len(samples) >= 500
    assert len(missed) <= (1 - RECALL) * len(samples), missed


@pytest.mark.parametrize("group", PLACES)
def test_no_kind_of_place_is_forgotten(group):
    """In the recall over all of them, one kind more or less would hardly show."""
    samples = in_places(50, 6, [group])
    missed = Counter(sample.what for sample in samples if not find_secrets(sample.path, sample.text))
    assert missed.total() <= (1 - RECALL) * len(samples), missed


@pytest.mark.parametrize("seed", [105, 40, 41])
def test_passwords_made_up_from_words_are_found_where_the_place_says_password(seed):
    samples = words_in_places(seed)
    missed = [(sample.path, sample.what) for sample in samples if not find_secrets(sample.path, sample.text)]
    assert len(samples) >= 300
    assert len(missed) <= (1 - RECALL) * len(samples), missed


@pytest.mark.parametrize("seed", [106, 42])
def test_names_labels_and_encrypted_values_are_no_passwords(seed):
    samples = not_words(seed)
    alarmed = [(sample.path, sample.what) for sample in samples if find_secrets(sample.path, sample.text)]
    assert len(samples) >= 60
    assert alarmed == []


def test_look_alikes_in_the_same_places_are_left_alone():
    samples = look_alikes_in_places()
    alarmed = [(sample.path, sample.what) for sample in samples if find_secrets(sample.path, sample.text)]
    assert len(samples) >= 250
    assert len(alarmed) <= FALSE_ALARMS * len(samples), alarmed


@pytest.mark.parametrize(
    ("path", "form", "lines"),
    [
        ("a.py", "x = 1\nAPI_KEY = (\n    '<<half>>'\n    '<<half>>'\n)\nlast = 2", (3, 4)),
        ("a.js", "const secret = '<<half>>' +\n  '<<half>>';\nlast()", (1, 2)),
        ("a.yml", "env:\n- name: DB_PASSWORD\n  value: <<token>>\nlast: 1", (3, 3)),
        ("a.yml", "kind: Secret\nmetadata:\n  name: web\nstringData:\n  mailer: <<token>>\n---\nlast: 1", (5, 5)),
        ("a.yml", "stringData:\n  mailer: <<token>>\nkind: Secret\nlast: 1", (2, 2)),
    ],
)
def test_all_lines_of_a_value_are_masked_and_no_other(path, form, lines):
    make = Maker(9)
    text = re.sub(r"<<(\w+)>>", lambda found: fillings(make)[found[1]], form)
    (found,) = scan(path, text.encode())
    assert (found.line, found.last) == lines


def test_every_row_of_a_table_with_a_password_column_is_found():
    rows = "\n".join(f"Site {n},https://s{n}.acme.io,bob,{words(Maker(n))}" for n in range(3, 6))
    text = f"name,url,username,password\nnone,https://s.acme.io,bob,\n{rows}\n"
    assert find_secrets("export.csv", text) == [(line, "password") for line in (3, 4, 5)]
    assert find_secrets("export.csv", f'name,password\n{"a" * 200_000}\rb,"\0\n{rows}') == []
    assert find_secrets("export.csv", "token,count\nthe_token_2,4821\nMain-View_2,7\n") == []


@pytest.mark.parametrize(
    ("path", "form"),
    [
        ("wifi.h", '#define API_SECRET "<<human>>"'),  # nothing but a space between the name and the value
        ("wifi.h", '#  define WIFI_PASSWORD "<<human>>"'),
        ("core-site.xml", "<property><name>db.password</name><value><<pw>></value></property>"),
        ("Info.plist", "<key>ClientSecret</key>\n<string><<token>></string>"),
    ],
)
def test_names_and_values_that_only_their_form_connects(path, form):
    texts = [filled(form, Maker(seed)) for seed in range(20)]
    assert [text for text in texts if not find_secrets(path, text)] == []


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.yml", "db_password: arn:aws:ssm:eu-west-1:123456789012:parameter/prod/db4Xk29Lq\n"),
        ("a.yml", "valueFrom: arn:aws:secretsmanager:eu-west-1:123456789012:secret:prod/db-Xk29Lq\n"),
        ("a.tf", 'secret_arn = "arn:aws:secretsmanager:us-east-1:123456789012:secret:my-app/api-key-a1B2c3"\n'),
        ("a.py", 'url = f"postgres://{user}:{quote(config.DB2_Password)}@{host}/shop"\n'),
    ],
)
def test_references_are_no_secrets(path, text):
    assert find_secrets(path, text) == []


def test_a_secret_before_the_values_of_a_cluster_secret_is_found_too():
    first, second = (Maker(seed).chars("abcdefghjkmnpqrstuvwxyz23456789ABCDEFGH", 40) for seed in (5, 6))
    text = f"kind: Secret\nmetadata:\n  annotations:\n    api_token: {first}\nstringData:\n  mailer: {second}\n"
    assert [line for line, _ in find_secrets("a.yml", text)] == [4, 6]


def test_only_the_planted_line_is_found():
    for sample in planted():
        assert [line for line, _ in find_secrets(sample.path, sample.text)] in ([sample.line], [])


def test_ordinary_code_is_left_alone():
    assert find_secrets("a.py", "\n".join(CODE)) == []


def test_kinds_are_words_for_people():
    kinds = {what: find_secrets("a.py", f"call('{value}')\n") for what, value in token_formats(Maker(1)).items()}
    assert kinds["AWS access key"] == [(1, "AWS access key")]
    assert kinds["GitHub fine-grained"] == [(1, "GitHub token")]
    assert kinds["JSON web token"] == [(1, "JSON web token")]
    assert all(found for found in kinds.values())


def test_a_key_block_is_one_finding_over_all_its_lines():
    block = key_block(Maker(2), "RSA ")
    text = f"first\n{block}\nlast\n"
    (found,) = scan("a.txt", text.encode())
    assert (found.line, found.last, found.kind) == (2, 1 + block.count("\n") + 1, "private key")
    masked = mask_lines(text, range(found.line, found.last + 1))
    assert masked.split() == ["first", "last"]
    assert masked.count("\n") == text.count("\n")


def test_a_key_block_without_its_end():
    block = key_block(Maker(2), "").rsplit("\n", 1)[0]
    (found,) = scan("a.txt", f"{block}\n\ndef f(): pass\n".encode())
    assert found.last <= block.count("\n") + 2


def test_fingerprints_tell_lines_apart_and_do_not_change_with_indentation():
    a, b = (Maker(seed).chars("abcdefghjkmnpqrstuvwxyz23456789ABCDEFGH", 40) for seed in (5, 6))
    one, same, other = (
        scan("a.py", text.encode())[0] for text in (f'token = "{a}"', f'   token = "{a}"\r', f'token = "{b}"')
    )
    assert one.fingerprint == same.fingerprint != other.fingerprint
    assert a not in one.fingerprint


def test_lines_that_the_project_itself_allows():
    value = Maker(5).chars("abcdefghjkmnpqrstuvwxyz23456789ABCDEFGH", 40)
    assert find_secrets("a.py", f'token = "{value}"  # pragma: allowlist secret\n') == []


@pytest.mark.parametrize(
    "path",
    [".env", ".env.local", "prod.env", "server.pem", "deploy/id_rsa", ".aws/config", "x/.ssh/known_hosts", ".npmrc",
     ".pypirc", ".netrc", "cert.p12", "tls.key", "app.keystore", "terraform.tfstate", "credentials.json", "SERVER.PEM",
     ".git-credentials"],
)  # fmt: skip
def test_secret_file_names(path):
    assert secret_file_name(path)


@pytest.mark.parametrize(
    "path",
    ["env.py", ".env.example", ".env.sample", "id_rsa.pub", "keys.py", "monkey.py", "environment.yml", "pem.go",
     "key", "src/env/a.py", "docs/credentials.md", "secrets.py", "aws/config.py", ".env.template", "ssh/config.rs"],
)  # fmt: skip
def test_innocent_file_names(path):
    assert secret_file_name(path) is None


@given(st.text(), st.data())
def test_masking_keeps_every_other_line(text, data):
    parts = text.split("\n")
    lines = data.draw(st.sets(st.integers(1, len(parts))))
    masked = mask_lines(text, sorted(lines)).split("\n")
    assert len(masked) == len(parts)
    for number, (before, after) in enumerate(zip(parts, masked, strict=True), 1):
        assert after.strip("\r") == "" if number in lines else after == before


def test_masking_keeps_windows_line_ends():
    assert mask_lines("a\r\nb\r\nc\r\n", [2]) == "a\r\n\r\nc\r\n"


@given(st.text())
def test_no_text_is_too_odd(text):
    find_secrets("a.env", text)


def test_long_lines_take_no_longer_than_their_length():
    """Every expression is asked of lines that begin like a secret, over and over, and never become one."""
    for piece in (
        "token=",
        'password: "',
        "https://a:",
        "eyJhbGciOi.",
        "Bearer ",
        "api_key_",
        "sk-",
        "-----BEGIN PRIVATE KEY-----",
        "mysql -p ",
        " -u x -p ",
        "kind: Secret\n",
        "kind: Secret\ndata:\n a: b1\n",
        'variable "password" { a {',
        "insert into a (b) values (",
        "name: password\n",
        "'a1' +\n",
        "connect(a,",
    ):
        find_secrets("a.env", piece * (200_000 // len(piece)))


def test_the_corpus_holds_no_secret_itself():
    """Nobody's scanner should alarm at this repository."""
    for name in ("planted.py", "planted_contexts.py", "look_alike_contexts.py"):
        source = Path(__file__).with_name(name).read_text(encoding="utf-8")
        assert find_secrets(name, source) == []
