"""Processes that scan a repository until somebody kills them: `killed_scan.py ROOT DATA`, used as `killed_writer`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[3]), str(Path(__file__).parent)]

from sources import opened, tokenizer  # noqa: E402

if __name__ == "__main__":
    root, data = map(Path, sys.argv[1:3])
    tokenizer()
    for _ in sys.stdin:
        child = os.fork()
        if child == 0:
            try:
                opened(root, data).scan()
            finally:
                os._exit(0)
        print(child, flush=True)
        _, status = os.waitpid(child, 0)
        print("killed" if os.WIFSIGNALED(status) else "finished", flush=True)
