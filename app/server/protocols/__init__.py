"""What each plugin sends and what it reads, translated to `wanted.Wanted` and back.  No sockets, no model.

wanted          a request in our own terms, and the checks that all protocols share
llama           llama.cpp: `/infill` and `/completion` (llama.vim, llama.vscode, ProxyAI)
openai          `/v1/completions` (Zed, minuet, Continue), `/v1/fim/completions` (Codestral's) and Tabby's segments
fim_templates   prompts in which a client has put prefix and suffix between markers
shapes          answers: compact JSON on one line, and server-sent events
"""
