"""The live plots.

    numbers     thinning, smoothing and ticks: plain NumPy
    words       numbers on axes and in read-outs as text
    timeline    the range of steps that all plots share, and the step under the pointer
    legend      a swatch and a name for each curve
    read_out    the box beside the pointer
    saving      a plot as PNG, its numbers as CSV
    ruler       an axis; pyqtgraph is used here and below
    plot_view   a view box with its axes, as a widget
    chart       one plot with axes, read-out and zoom, redrawn from thinned data
    loss rates speed memory    what each plot draws
    chart_card  a card around a plot: title, legend, menu

A plot is redrawn by the board's timer, never by an event of the run.  Zoom is along the steps only; the other axis
adjusts to what is visible.
"""
