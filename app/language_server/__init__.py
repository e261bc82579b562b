"""The language server: inline completions (LSP 3.18) for editors that start a server themselves.

    editor ─▶ serving ─▶ messages ─▶ session ─▶ documents      what is open, unsaved text and all
    (pipes)      ▲       (framing)      │
                 └─ outbox ◀────────────┴─▶ workspace ─▶ running_program   the program, if it has the folder open
                                                      └▶ own_folder        this process, if not

    serving     the two pipes, and the end        parent      ends with the editor, however that ended
    messages    bytes to messages and back        outbox      one thread writes, and nobody waits for it
    session     one conversation                  protocol    parameters, strictly read, and errors
    documents   the open files                    edits       which of their lines were edited lately
    positions   lines, and columns in UTF-16      asking      what is asked, and the status
    workspace   which folder a file belongs to, and who completes for it

JSON-RPC is spoken here without a library: of LSP this needs nine messages.
"""
