"""`codecoil lsp` and a client that others have written: pygls, whose types refuse what is not LSP."""

from __future__ import annotations

import asyncio
import sys

from lsprotocol import types
from pygls.lsp.client import LanguageClient

from tests.app.language_server.editor import ROOT

LINE = "    quota = brew(marmalade, 9731)"
TYPED = LINE[: LINE.index("(") + 1]


def test_a_session_of_pygls(tmp_path, monkeypatch):
    folder = tmp_path / "project"
    folder.mkdir()
    for name in ("first", "second", "third"):
        (folder / f"{name}.py").write_text(f'"""The {name}."""\n\n\ndef {name}(marmalade):\n{LINE}\n    return quota\n')
    monkeypatch.chdir(ROOT)
    begun, items, code = asyncio.run(_session(folder))
    assert begun.capabilities.inline_completion_provider == types.InlineCompletionOptions()
    assert begun.capabilities.position_encoding == types.PositionEncodingKind.Utf16
    (item,) = items
    assert item.insert_text == LINE[len(TYPED) :]
    # What the editor had closed is replaced.
    assert item.range == types.Range(types.Position(1, len(TYPED)), types.Position(1, len(TYPED) + 1))
    assert code == 0


async def _session(folder):
    client = LanguageClient("a client", "1")
    await client.start_io(sys.executable, "-m", "app", "lsp", "--device", "cpu")
    utf16 = types.GeneralClientCapabilities(position_encodings=[types.PositionEncodingKind.Utf16])
    named = [types.WorkspaceFolder(folder.as_uri(), folder.name)]
    begun = await client.initialize_async(
        types.InitializeParams(types.ClientCapabilities(general=utf16), workspace_folders=named)
    )
    client.initialized(types.InitializedParams())
    uri = (folder / "new.py").as_uri()
    text = "def fourth(marmalade):\n    return quota\n"
    client.text_document_did_open(types.DidOpenTextDocumentParams(types.TextDocumentItem(uri, "python", 1, text)))
    where = types.Range(types.Position(1, 0), types.Position(1, 0))
    change = types.TextDocumentContentChangePartial(where, f"{TYPED})\n")
    document = types.VersionedTextDocumentIdentifier(2, uri)
    client.text_document_did_change(types.DidChangeTextDocumentParams(document, [change]))
    while (await client.protocol.send_request_async("codecoil/status", {})).state == "loading":
        await asyncio.sleep(0.1)
    asked = types.InlineCompletionParams(
        types.InlineCompletionContext(types.InlineCompletionTriggerKind.Invoked),
        types.TextDocumentIdentifier(uri),
        types.Position(1, len(TYPED)),
    )
    answer = await client.text_document_inline_completion_async(asked)
    await client.shutdown_async(None)
    client.exit(None)
    await client._server.wait()  # pygls has no name for it
    code = client._server.returncode
    await client.stop()
    return begun, answer.items, code
