"""The page "Adapt": choose how to teach, watch it learn, decide what becomes of the result.

    page             puts the parts together and shows those that belong to the phase of the run
    setup            before a run, made of
      mode_cards       what is trained: WSLA, LoRA, vocabulary, full
      preset_row       how long, and from which model
      preflight        what the run will take, with memory_bar
      advanced_drawer  every other option, folded away
      past_runs        what this repository was adapted with before
    run_header       where the run is, and the buttons that steer it
    board            the plots, layer_map and notes; the only part that loads pyqtgraph
    plots/           one file a plot, and what they share
    result_card      before and after, and what to do with it
    interrupted      runs that a crash or a kill left behind
    words            times and changes for people

All of it reads the controllers of `app.state.application.Application` and asks them for things; nothing here knows a
worker or the engine's objects.
"""
