"""What to paste into each editor's settings, with this server's address and token."""

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
