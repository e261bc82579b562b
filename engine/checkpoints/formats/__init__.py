"""The formats that people use, at the border of the checkpoint store.

    folder in Hugging Face format  ◀──▶  hugging_face  ──┐
    .gguf (llama.cpp, Ollama)      ◀───  gguf_export   ──┤
    .bin (MBJS, the forerunner)    ───▶  mbjs          ──┼──  parameters by Hugging Face name  ──  store
    adapter folder (PEFT)          ◀───  adapter       ──┤
    .coil (one file, one folder)   ◀──▶  bundle        ──┘  (files as they are, with their manifest)

What is read is an `Imported`: a configuration, parameters that are read one at a time, and a tokenizer. What is written
goes to a temporary sibling first and takes its name when it is whole (`output`). Nothing here changes a checkpoint.
"""
