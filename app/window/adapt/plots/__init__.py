"""The live plots.

    numbers     thinning, smoothing and ticks: plain NumPy
    words       numbers on axes and in read-outs
    timeline    the steps that all plots show together, and the step under the pointer
    legend      samples and words for the curves
    read_out    the box beside the pointer
    saving      a plot as a picture, its numbers as CSV
    ruler       an axis; pyqtgraph is used here and below
    plot_view   a view box between its axes, on a widget
    chart       one plot with axes, read-out, zoom and a thinned redraw
    loss rates speed memory    what each plot draws
    chart_card  a card around a plot: title, legend, menu

A plot is redrawn by the board's timer, never by an event of the run.  All zoom along the steps only; the other axis
fits itself to what is in sight.
"""
