"""One conversation: what an editor gets for what it sends."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from app.language_server.asking import Suggestion
from app.language_server.protocol import ErrorCode, name_in, path_of


def at(line: int, character: int, end: int | None = None) -> dict:
    end = character if end is None else end
    return {"start": {"line": line, "character": character}, "end": {"line": line, "character": end}}


def opened(server, folder, text: str, **options):
    server.editor.begin(folder, **options)
    return server.editor.open(folder / "a.py", text)


def test_it_says_what_it_can_do(played, tmp_path):
    result = played().editor.begin(tmp_path)
    capabilities = result["capabilities"]
    assert result["serverInfo"]["name"] == "codecoil"
    assert capabilities["inlineCompletionProvider"] == {}
    assert capabilities["textDocumentSync"] == {"openClose": True, "change": 2}
    assert capabilities["workspace"]["workspaceFolders"] == {"supported": True, "changeNotifications": True}
    assert capabilities["positionEncoding"] == "utf-16"


@pytest.mark.parametrize(
    ("offered", "agreed"),
    [
        (["utf-8", "utf-16"], "utf-8"),
        (["ucs-2", "utf-32"], "utf-32"),
        (["ebcdic"], "utf-16"),
        ([7, "utf-16"], "utf-16"),
    ],
)
def test_the_client_chooses_the_encoding_of_columns(played, tmp_path, offered, agreed):
    result = played().editor.begin(tmp_path, encodings=offered)
    assert result["capabilities"]["positionEncoding"] == agreed


def test_a_completion_is_inserted_at_the_cursor(played, tmp_path):
    server = played("total = 1\n    return")
    uri = opened(server, tmp_path, "import os\r\n😀 = \r\nend\r\n")
    (item,) = server.editor.answer(server.editor.complete(uri, 1, 5))["result"]["items"]
    assert item == {"insertText": "total = 1\n    return", "range": at(1, 5)}
    (question,) = server.source.questions
    assert (question.prefix, question.suffix) == ("import os\n😀 = ", "\nend\n")
    assert question.path == tmp_path / "a.py" and not question.is_invoked


def test_columns_count_what_was_agreed_on(played, tmp_path):
    server = played()
    uri = opened(server, tmp_path, "é😀 = ", encodings=["utf-8"])
    server.editor.answer(server.editor.complete(uri, 0, 9))
    assert server.source.questions[0].prefix == "é😀 = "


def test_unsaved_changes_are_part_of_the_question(played, tmp_path):
    server = played()
    uri = opened(server, tmp_path, "a = 1\r\nb = 2\r\n")
    server.editor.change(uri, {"range": at(1, 0, 1), "text": "😀"}, {"range": at(1, 2), "text": "c"})
    server.editor.answer(server.editor.complete(uri, 1, 3))
    server.editor.change(uri, {"text": "new"})
    server.editor.answer(server.editor.complete(uri, 0, 3, invoked=True))
    first, second = server.source.questions
    assert (first.prefix, first.suffix) == ("a = 1\n😀c", " = 2\n")
    assert (second.prefix, second.suffix) == ("new", "") and second.is_invoked


def test_edits_of_other_files_go_along_but_not_those_of_the_file_itself(played, tmp_path):
    server = played()
    uri = opened(server, tmp_path, "a = 1\n")
    other = server.editor.open(tmp_path / "b.py", "one\ntwo\n")
    server.editor.change(other, {"range": at(1, 0), "text": "changed "})
    server.editor.change(uri, {"range": at(0, 0), "text": "x"})
    server.editor.answer(server.editor.complete(uri, 0, 1))
    (chunk,) = server.source.questions[0].edited
    assert chunk.path == tmp_path / "b.py" and chunk.text == "one\nchanged two\n"


def test_what_is_selected_in_the_list_is_where_the_item_begins(played, tmp_path):
    server = played("_values(x)")
    uri = opened(server, tmp_path, "n = sor)\n")
    selected = {"range": at(0, 4, 7), "text": "sorted"}
    id = server.editor.complete(uri, 0, 7, selectedCompletionInfo=selected)
    (item,) = server.editor.answer(id)["result"]["items"]
    assert item == {"insertText": "sorted_values(x)", "range": at(0, 4, 7)}
    (question,) = server.source.questions
    assert (question.prefix, question.suffix) == ("n = sorted", ")\n") and not question.can_replace


def test_an_item_covers_the_brackets_that_it_replaces(played, tmp_path):
    server = played(", c):", replaces=1)
    uri = opened(server, tmp_path, "# 😀\nfor a in zip(b)\n")
    (item,) = server.editor.answer(server.editor.complete(uri, 1, 14))["result"]["items"]
    assert item == {"insertText": ", c):", "range": at(1, 14, 15)}
    assert server.source.questions[0].can_replace


def test_nothing_to_insert_is_an_empty_list(played, tmp_path):
    server = played("")
    uri = opened(server, tmp_path, "x")
    selected = {"range": at(0, 0, 1), "text": "xylophone"}
    assert server.editor.answer(server.editor.complete(uri, 0, 1))["result"] == {"items": []}
    id = server.editor.complete(uri, 0, 1, selectedCompletionInfo=selected)
    assert server.editor.answer(id)["result"] == {"items": []}


def test_cancelling_reaches_the_source_and_the_answer_is_dropped(played, tmp_path):
    server = played(None)
    uri = opened(server, tmp_path, "x")
    id = server.editor.complete(uri, 0, 1)
    server.editor.notify("$/cancelRequest", {"id": id})
    assert server.editor.answer(id)["error"]["code"] == ErrorCode.REQUEST_CANCELLED
    assert server.source.cancelled == server.source.questions
    server.source.waiting[0](Suggestion("too late"))
    server.editor.result("codecoil/status")
    assert server.editor.unasked == []
    server.editor.notify("$/cancelRequest", {"id": "unknown"})
    server.editor.notify("$/cancelRequest", {"id": [1]})
    assert server.editor.result("codecoil/status")


def test_the_newest_request_wins(played, tmp_path):
    server = played(None)
    uri = opened(server, tmp_path, "xy")
    first, second = server.editor.complete(uri, 0, 1), server.editor.complete(uri, 0, 2)
    assert server.editor.answer(first)["result"] == {"items": []}
    assert server.source.cancelled == server.source.questions[:1]
    server.source.waiting[0](Suggestion("old"))
    server.source.waiting[1](Suggestion("new"))
    assert server.editor.answer(second)["result"]["items"][0]["insertText"] == "new"
    assert server.editor.unasked == []


def test_each_folder_has_its_own_source_and_a_stray_file_the_first(played, tmp_path):
    outer, inner, other = tmp_path / "outer", tmp_path / "outer" / "inner", tmp_path / "other"
    server = played()
    editor = server.editor
    editor.begin(outer, inner)
    for path in (inner / "a.py", outer / "b.py", other / "c.py"):
        uri = editor.open(path, "x")
        editor.answer(editor.complete(uri, 0, 1))
    asked = {folder: [each.path for each in source.questions] for folder, source in server.sources.items()}
    assert asked == {inner: [inner / "a.py"], outer: [outer / "b.py", other / "c.py"]}


def test_folders_come_and_go(played, tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    server = played()
    editor = server.editor
    editor.begin(first)
    uri = editor.open(first / "a.py", "x")
    event = {"added": [{"uri": second.as_uri(), "name": "s"}], "removed": [{"uri": first.as_uri(), "name": "f"}]}
    editor.notify("workspace/didChangeWorkspaceFolders", {"event": event})
    editor.answer(editor.complete(uri, 0, 1))
    assert server.sources[first].has_ended and not server.sources[second].has_ended
    assert [each.path for each in server.sources[second].questions] == [first / "a.py"]


def test_a_file_in_no_folder_is_completed_without_one(played, tmp_path):
    server = played()
    server.editor.begin()
    uri = server.editor.open(tmp_path / "a.py", "x")
    assert server.editor.answer(server.editor.complete(uri, 0, 1))["result"]["items"]
    assert list(server.sources) == [None]


def test_a_lost_source_is_replaced_at_the_next_question(played, tmp_path):
    server = played()
    uri = opened(server, tmp_path, "x")
    server.editor.answer(server.editor.complete(uri, 0, 1))
    old = server.source
    server.lost(old)
    server.editor.answer(server.editor.complete(uri, 0, 1))
    assert server.source is not old and old.has_ended and server.source.questions


def test_the_status_is_told_on_request_and_to_those_who_want_it(played, tmp_path):
    server = played()
    server.editor.begin(tmp_path)
    assert server.editor.result("codecoil/status") is None
    assert server.editor.result("codecoil/status", []) is None  # as an empty table of Lua arrives
    server.editor.open(tmp_path / "a.py", "")
    status = server.editor.result("codecoil/status", {"textDocument": {"uri": (tmp_path / "a.py").as_uri()}})
    assert status["model"] == "played" and status["memory"]["files"] == 3 and status["state"] == "ready"
    server.changed()
    server.editor.result("codecoil/status")
    assert server.editor.unasked == []
    willing = played()
    uri = opened(willing, tmp_path, "", initializationOptions={"statusChanged": True})
    willing.editor.answer(willing.editor.complete(uri, 0, 0))
    willing.changed()
    willing.editor.result("codecoil/status")
    (told,) = willing.editor.unasked
    assert told["method"] == "codecoil/statusChanged" and told["params"]["model"] == "played"


# ---- what is not as it should be


def test_what_is_unknown_is_refused_or_ignored(played, tmp_path):
    server = played()
    editor = server.editor
    assert editor.error("textDocument/inlineCompletion", {}) == ErrorCode.NOT_INITIALIZED
    editor.notify("textDocument/didOpen", {"textDocument": {"uri": "file:///early.py", "text": ""}})
    editor.begin(tmp_path)
    assert editor.error("textDocument/hover", {}) == ErrorCode.METHOD_NOT_FOUND
    assert editor.error("initialize", {}) == ErrorCode.INVALID_REQUEST
    editor.notify("$/setTrace", {"value": "off"})
    editor.notify("made/up", [1, 2])
    editor.send(id=99, result=None)
    assert editor.result("codecoil/status") is None
    assert editor.unasked == [] and server.sources == {}


@pytest.mark.parametrize(
    "params",
    [
        None,
        {"textDocument": {"uri": 7}},
        {"textDocument": {"uri": "file:///not-open.py"}, "position": {"line": 0, "character": 0}},
        {"textDocument": {"uri": "U"}, "position": {"line": -1, "character": 0}},
        {"textDocument": {"uri": "U"}, "position": {"line": 0, "character": True}},
        {"textDocument": {"uri": "U"}, "position": {"line": 0, "character": 2**40}},
        {"textDocument": {"uri": "U"}, "position": {"line": 0, "character": 0}, "context": "typed"},
        [1],
    ],
)
def test_wrong_parameters_are_refused_and_the_next_request_is_answered(played, tmp_path, params):
    server = played()
    uri = opened(server, tmp_path, "x")
    if isinstance(params, dict) and params["textDocument"]["uri"] == "U":
        params["textDocument"]["uri"] = uri
    assert server.editor.error("textDocument/inlineCompletion", params) == ErrorCode.INVALID_PARAMS
    assert server.editor.answer(server.editor.complete(uri, 0, 1))["result"]["items"]


def test_half_of_a_wrong_change_is_not_applied(played, tmp_path):
    server = played()
    uri = opened(server, tmp_path, "x")
    server.editor.change(uri, {"range": at(0, 0), "text": "a"}, {"range": {"start": 0}, "text": "b"})
    server.editor.change("file:///other.py", {"text": "ignored"})
    server.editor.answer(server.editor.complete(uri, 0, 1))
    assert server.source.questions[0].prefix == "x"


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"Content-Length: 5\r\n\r\n{bad}", ErrorCode.PARSE_ERROR),
        (b"What?\r\n\r\n", ErrorCode.PARSE_ERROR),
        (b"Content-Length: 4\r\n\r\n[{}]", ErrorCode.INVALID_REQUEST),
        (b'Content-Length: 23\r\n\r\n{"id":null,"method":""} ', ErrorCode.INVALID_REQUEST),
        (b'Content-Length: 10\r\n\r\n{"id": {}}', ErrorCode.INVALID_REQUEST),
    ],
)
def test_a_malformed_message_does_not_end_the_conversation(played, tmp_path, data, code):
    server = played()
    uri = opened(server, tmp_path, "x")
    server.editor.write(data)
    assert server.editor.answer(None)["error"]["code"] == code
    assert server.editor.answer(server.editor.complete(uri, 0, 1))["result"]["items"]


def test_a_defect_is_an_error_and_the_next_request_is_answered(played, tmp_path, monkeypatch):
    server = played()
    uri = opened(server, tmp_path, "x")
    server.editor.answer(server.editor.complete(uri, 0, 1))
    with monkeypatch.context() as patch:
        patch.setattr(server.source, "ask", lambda *_: 1 / 0)
        assert server.editor.answer(server.editor.complete(uri, 0, 1))["error"]["code"] == ErrorCode.INTERNAL_ERROR
    assert server.editor.answer(server.editor.complete(uri, 0, 1))["result"]["items"]


# ---- the end


def test_shutdown_then_exit_ends_it_well(played, tmp_path):
    server = played(None)
    uri = opened(server, tmp_path, "x")
    id = server.editor.complete(uri, 0, 1)
    assert server.editor.result("shutdown") is None
    assert server.editor.answer(id)["error"]["code"] == ErrorCode.REQUEST_CANCELLED
    assert server.editor.error("codecoil/status") == ErrorCode.INVALID_REQUEST
    server.editor.notify("exit")
    assert server.wait() == 0 and server.source.has_ended


def test_exit_without_shutdown_is_no_good_end(played, tmp_path):
    server = played()
    opened(server, tmp_path, "x")
    server.editor.notify("exit")
    assert server.wait() == 1 and server.source.has_ended


def test_it_ends_with_the_editors_process(played, tmp_path, monkeypatch):
    monkeypatch.setattr("app.language_server.parent.LOOK_EVERY", 0.05)
    parent = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    server = played()
    server.editor.begin(tmp_path, processId=parent.pid)
    assert server.editor.result("codecoil/status") is None
    parent.communicate()
    assert server.wait() == 1


# ---- addresses


@pytest.mark.skipif(os.name == "nt", reason="paths have another shape there")
@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///home/a%20b/%C3%A9.py", "/home/a b/é.py"),
        ("file://localhost/x/../y.py", "/y.py"),
        ("file://elsewhere/x.py", None),
        ("untitled:Untitled-1", None),
        ("vscode-remote://ssh/x.py", None),
        ("file:///a%00b", None),
        ("file://[broken", None),
        ("", None),
    ],
)
def test_only_files_of_this_machine_have_a_path(uri, path):
    found = path_of(uri)
    assert (str(found) if found is not None else None) == path


@pytest.mark.parametrize(
    ("uri", "name"), [("untitled:new.py", "new.py"), ("vscode-remote://ssh/dir/x%20y.rs", "x y.rs"), ("", "untitled")]
)
def test_other_texts_are_called_by_the_end_of_their_address(uri, name):
    assert name_in(uri).name == name
