"""Completion: from a prompt to a stream of tokens, on the device that holds the model.

    ids ─▶ Decoder.read ─▶ logits ─▶ sampling ─▶ token ─▶ Decoder.step ─▶ logits ─▶ ...
             │   ▲                                             (one token, whatever came before)
    snapshot │   │ restore
             ▼   │
          recurrent state: for each layer the last inputs of its convolution and the state of its scan

    decoder                         one sequence's state, and what moves it on: read, step, greedy, draw
    programs                        the forward pass over some tokens as kernel calls, from a state to a state
    snapshot, contexts              places to come back to; caches of other texts, saved on the host
    quantised                       the weights that they read: the model's own, or copies in 16 or 8 bits
    prompt, context, healing        from a cursor to tokens, framed as in training; what is typed is written again
    prefix_states, text_tokens      states and tokens kept between requests, so that typing costs only what is new
    options                         what can be set, with its range and its words
    reading_ahead, few_scores       tokens that may be wrong, read together; a few numbers come back
    foresight                       what the memory guesses, checked with what the model says
    drawing                         tokens drawn on the device, eight a submit, where waiting costs more than computing
    precision, decode_losses        how many bits the weights are read in, and what was measured with each
    writing, sampling, stops        which token, by model and memory, and when to end
    word_guard                      a half-typed word becomes a name that exists
    loops, trimming                 what is not shown: the same over again, and what stands after the cursor already
    offering                        a whole line, the best of a few drafts, or silence:
    fitting_in, ranking, chance         whether it fits there, which is the best, and how likely it is to be taken
    fits                            the numbers of mixture and chance that go with a base
    completer, completion_run, requests  all of these together: a request in, a stream of text out
    warming                         completions that nobody has asked for, so that nothing is compiled for the first one
    service/                        many clients, one model: window, command line and editors ask here

A Mamba model keeps all that it has read in a state of fixed size, so a token costs the same after ten tokens and after
a hundred thousand, and a place in a text to come back to is a copy of a few hundred kilobytes.

Where the memory helps, tokens that it expects are read together with the one that is certain, and checked afterwards
(`foresight`): two tokens a pass on real code and more, which is what counts where each pass is waited for. On the CPU a
suggestion of the starter takes as long as with single tokens, because several rows cost more than one.
"""
