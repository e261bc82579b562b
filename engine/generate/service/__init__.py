"""The completion service: requests of many clients, answered one at a time in the thread that owns the models.

    window ─┐
    HTTP  ──┼─▶ waiting ─▶ service ─▶ placing ─▶ completer ─▶ pieces, answer
    LSP   ──┘   (newest of a client wins)

    asking         a request and its answer          waiting        requests in line, and who listens
    service        answers them one by one           indentation    of a blank line whose own was not sent
    closing        what the editor has closed behind the cursor
    placing        where a client is: file_finding says which file the text is from, anchoring what stands around it

A client asks from any thread and hears pieces and one answer. Whoever owns the models' thread calls
`CompletionService.answer_waiting`: a loop of its own, a Qt thread in the middle of a training step, or a measurement
between two batches. An editor comes before a warm-up, and both before a comparison. No window, no sockets.
"""
