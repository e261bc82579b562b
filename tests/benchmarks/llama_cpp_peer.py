"""llama.cpp as a peer of `real_model.py`, run by an interpreter that has llama-cpp-python.

    python llama_cpp_peer.py FILE.gguf THREADS CONTEXT

Answers each line of standard input ("prefill" or "decode") with the seconds it took, as `real_model.py` asks for them,
and "best" with the id of the most likely next token.
"""

import ctypes
import sys
import time

import llama_cpp

PROMPT = 512


def main() -> None:
    path, threads, room = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    ignore = llama_cpp.llama_log_callback(lambda *_: None)
    llama_cpp.llama_log_set(ignore, ctypes.c_void_p(0))
    llama_cpp.llama_backend_init()
    model = llama_cpp.llama_model_load_from_file(path.encode(), llama_cpp.llama_model_default_params())
    options = llama_cpp.llama_context_default_params()
    options.n_ctx, options.n_batch, options.n_ubatch = room, PROMPT, PROMPT
    options.n_threads = options.n_threads_batch = threads
    context = llama_cpp.llama_init_from_model(model, options)
    memory = llama_cpp.llama_get_memory(context)
    vocabulary = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(model))

    def read(count: int) -> None:
        tokens = (llama_cpp.llama_token * count)(*(20 + i for i in range(count)))
        if llama_cpp.llama_decode(context, llama_cpp.llama_batch_get_one(tokens, count)):
            raise RuntimeError("llama_decode failed")
        llama_cpp.llama_synchronize(context)
        llama_cpp.llama_get_logits_ith(context, -1)

    print("ready", flush=True)
    for line in sys.stdin:
        kind, *rest = line.split()
        if kind == "best":
            scores = llama_cpp.llama_get_logits_ith(context, -1)
            print(max(range(vocabulary), key=lambda token: scores[token]), flush=True)
            continue
        if kind == "prefill":
            llama_cpp.llama_memory_clear(memory, True)
        elif kind == "start":  # a context of so many tokens for the tokens that are decoded next
            llama_cpp.llama_memory_clear(memory, True)
            for _ in range(int(rest[0]) // PROMPT):
                read(PROMPT)
        began = time.perf_counter()
        if kind != "start":
            read(PROMPT if kind == "prefill" else 1)
        print(time.perf_counter() - began, flush=True)


if __name__ == "__main__":
    main()
