"""The completion service: requests of many clients, answered one at a time in the thread that owns the models.

    window ─┐                                          ┌ file_finding    which file the text is from
    HTTP  ──┼─▶ waiting ─▶ service ─▶ completer ─▶ ────┤ anchoring       what stands before and after the window
    LSP   ──┘   (newest of a client wins)              └ indentation     of a line whose own was not sent
                     asking: a request, and its answer

A client asks from any thread and hears pieces and one answer. Whoever owns the models' thread calls
`CompletionService.answer_waiting`: a loop of its own, a Qt thread between two training steps, or a measurement between
two batches. An editor comes before a warm-up, and both before a comparison. No window, no sockets.
"""
