"""The file formats of other programs, into the checkpoint store and out of it.

    folder in Hugging Face format  ◀──▶  hugging_face  ──┐
    .gguf (llama.cpp, Ollama)      ◀──▶  gguf_export, gguf_import (gguf_header)
    .bin (MBJS, the forerunner)    ───▶  mbjs          ──┼──  parameters by Hugging Face name  ──  store
    adapter folder (PEFT)          ◀───  adapter       ──┤
    .coil (one file, one folder)   ◀──▶  bundle        ──┘  (files as they are, with their manifest)

    importing, exporting   which of them a path or a wish means, into the store and out of it
    imported, output       what every import gives; what is written appears whole or not at all
    gguf_vocabulary        a tokenizer as llama.cpp has it

What is read is an `Imported`: a configuration, parameters that are read one at a time, and a tokenizer. What is written
goes to a temporary sibling first and takes its name when it is whole (`output`). Nothing here changes a checkpoint.
"""
