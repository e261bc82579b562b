"""The Adapt page: set up a run, watch it, decide what to do with the result.

    page             puts the parts together and shows those that the phase of the run calls for
    setup            before a run: presets and the base model, with
      mode_cards       what is trained: WSLA, queries and keys, LoRA, vocabulary, full
      preflight        steps, time and memory of the run, with memory_bar
      advanced_drawer  every other option
      past_runs        earlier results for this repository
    run_header       progress of the run; Pause, Resume, Stop
    board            the plots, layer_map and notes; the only part that loads pyqtgraph
    plots/           one file per plot, and what they share
    result_card      scores before and after, and what to do with the result
    interrupted      runs that a crash or a kill interrupted
    words            times and changes as text

Everything here talks to the controllers of `app.state.application.Application`; nothing knows a worker or an engine
object.
"""
