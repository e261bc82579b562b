"""The loopback server: completions for people's own editors, by the protocols that their plugins already speak.

    editor ─▶ listening ─▶ handler ─▶ rules ─▶ routes ─▶ protocols ─▶ engine.generate.service
              (127.0.0.1,  (HTTP)    (who may   (which     (each plugin's fields
               ::1 only)              ask)       answer)     in and out)

    listening    the two sockets, their threads, and the port
    handler      one connection: reading within limits, answering, noticing that the client has left
    rules        what is refused before anything is read: the one place for security
    access       the token and the port, in a file of the data folder that only its owner can read
    routes       which request goes where             waiting_client   one client that waits for an answer
    protocols    llama.cpp, OpenAI, Mistral and Tabby, and the templates in their prompts
    recorded     the last requests, for the window    editor_snippets  what to paste into each editor
    status       the folder, the model, the memory and the training, for our own clients
    folder       a folder that is read, watched and remembered without a window, for `codecoil serve`

Nothing here loads, fetches or writes anything on behalf of a client, and no text of a request is ever logged.
"""
