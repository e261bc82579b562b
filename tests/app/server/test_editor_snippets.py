"""What to paste: the help page shows what the program prints."""

from __future__ import annotations

import json
from importlib import resources

import pytest

from app.command_line import main
from app.server.editor_snippets import language_server_snippets


@pytest.mark.parametrize("snippet", language_server_snippets(), ids=lambda snippet: snippet.key)
def test_the_help_has_what_the_command_prints(snippet, capsys):
    help = resources.files("resources").joinpath("help", "editors.md").read_text(encoding="utf-8")
    assert main(["lsp", "--editor", snippet.key]) == 0
    assert snippet.text in help and snippet.text in capsys.readouterr().out


def test_they_are_well_formed():
    texts = {snippet.key: snippet.text for snippet in language_server_snippets()}
    server = json.loads(texts["coc"])["languageserver"]["codecoil"]
    assert [server["command"], *server["args"]] == ["codecoil", "lsp"]
    for key in ("neovim", "emacs"):
        assert all(texts[key].count(a) == texts[key].count(b) for a, b in ("()", "{}"))
