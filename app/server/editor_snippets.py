"""What to paste into each editor's settings: this server's address and token for plugins that ask a server, the command
for editors that start a language server."""

from __future__ import annotations

import json
from dataclasses import dataclass

MODEL = "codecoil"


@dataclass(frozen=True)
class Snippet:
    """`where`: where it belongs; `text`: what to paste there."""

    key: str
    editor: str
    where: str
    text: str


def snippets(url: str, token: str) -> tuple[Snippet, ...]:
    """The most used first."""
    return (
        Snippet("vim", "Vim, Neovim", "llama.vim: in your vimrc, before the plugin is loaded", _vim(url, token)),
        Snippet("vscode", "VS Code", "llama-vscode: in settings.json", _vscode(url, token)),
        Snippet("zed", "Zed", "In settings.json; the key goes into the provider's API key field", _zed(url, token)),
        Snippet("minuet", "minuet", "minuet-ai.nvim: in its setup", _minuet(url, token)),
        Snippet("jetbrains", "JetBrains", "ProxyAI: a custom OpenAI provider for completions", _proxy_ai(url, token)),
        Snippet("continue", "Continue", "In config.yaml", _continue(url, token)),
    )


def language_server_snippets() -> tuple[Snippet, ...]:
    """With neither address nor token: the editor starts `codecoil lsp`, and that finds the server if there is one."""
    return (
        Snippet("neovim", "Neovim 0.12", "In init.lua", NEOVIM),
        Snippet("emacs", "Emacs, lsp-mode", "In your init file; lsp-mode 10 or newer", EMACS),
        Snippet("coc", "coc.nvim", "In coc-settings.json", COC),
    )


NEOVIM = """\
vim.lsp.config('codecoil', {
  cmd = { 'codecoil', 'lsp' },
  root_markers = { '.git', '.hg', 'pyproject.toml', 'package.json', 'Cargo.toml', 'go.mod' },
})
vim.lsp.enable('codecoil')
vim.lsp.inline_completion.enable()
vim.keymap.set('i', '<Tab>', function()
  if not vim.lsp.inline_completion.get() then return '<Tab>' end
end, { expr = true, desc = 'Accept the suggestion' })"""

EMACS = """\
(with-eval-after-load 'lsp-mode
  (require 'lsp-inline-completion)
  (setq lsp-inline-completion-idle-delay 0.2)
  (lsp-register-client
   (make-lsp-client :new-connection (lsp-stdio-connection '("codecoil" "lsp"))
                    :activation-fn (lambda (&rest _) (derived-mode-p 'prog-mode))
                    :add-on? t
                    :server-id 'codecoil))
  (define-key lsp-inline-completion-active-map (kbd "TAB") #'lsp-inline-completion-accept)
  (define-key lsp-inline-completion-active-map (kbd "<tab>") #'lsp-inline-completion-accept))
(add-hook 'prog-mode-hook #'lsp-deferred)"""

COC = """\
{
  "languageserver": {
    "codecoil": {
      "command": "codecoil",
      "args": ["lsp"],
      "filetypes": ["*"],
      "rootPatterns": [".git/", ".hg/", "pyproject.toml", "package.json", "Cargo.toml", "go.mod"]
    }
  }
}"""


def _vim(url: str, token: str) -> str:
    return f"""let g:llama_config = {{
  \\ 'endpoint_fim': '{url}/infill',
  \\ 'api_key': '{token}',
  \\ 'show_info': 0 }}"""


def _vscode(url: str, token: str) -> str:
    settings = {
        "llama-vscode.endpoint": url,
        "llama-vscode.api_key": token,
        "llama-vscode.ask_install_llamacpp": False,
        "llama-vscode.rag_enabled": False,
    }
    return json.dumps(settings, indent=2)[2:-2]  # its lines, to be put among others


def _zed(url: str, token: str) -> str:
    provider = {
        "api_url": f"{url}/v1/completions",
        "model": MODEL,
        "prompt_format": "qwen",
        "max_output_tokens": 64,
    }
    content = {"provider": "open_ai_compatible_api", "open_ai_compatible_api": provider}
    key = f"// API key: {token}\n"
    return f'{key}"edit_predictions": {json.dumps(content, indent=2)}'


def _minuet(url: str, token: str) -> str:
    return f"""require('minuet').setup {{
  provider = 'openai_fim_compatible',
  n_completions = 1,
  provider_options = {{
    openai_fim_compatible = {{
      name = 'Codecoil',
      model = '{MODEL}',
      end_point = '{url}/v1/completions',
      api_key = function() return '{token}' end,
      stream = true,
    }},
  }},
}}"""


def _proxy_ai(url: str, token: str) -> str:
    body = {"model": MODEL, "prompt": "$PREFIX", "suffix": "$SUFFIX", "max_tokens": 128}
    return f"URL: {url}/v1/completions\nHeader Authorization: Bearer {token}\nBody: {json.dumps(body)}"


def _continue(url: str, token: str) -> str:
    return f"""models:
  - name: Codecoil
    provider: mistral
    apiBase: {url}/v1/
    apiKey: {token}
    model: codestral-codecoil
    roles: [autocomplete]"""
