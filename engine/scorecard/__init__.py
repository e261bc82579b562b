"""Did adaptation help?  The same code and the same cursors for every model, with confidence intervals.

`material` takes held-out code that nothing else looks at and picks cursors in it (or `replay` the lines that the newest
commits added), of no file more than its share, once for all models. `token_measures` lets a model predict every token
of that text; `line_measures` puts a simulated programmer at each cursor, who is offered a line and accepts what is
right. Every measure is a ratio of two sums over files or cursors (`intervals`): one bootstrap over files gives each its
95 % interval, and the difference of two models theirs; if that contains zero, the answer is "no difference".
`breakdown` counts by language and by file; `scorecard` puts it together.

Text is compared, never tokens: models with different tokenizers are compared in bits per byte.
"""

from engine.scorecard.breakdown import FileLines
from engine.scorecard.intervals import Difference, Measure
from engine.scorecard.material import Cursor, HeldOutText, Material, every_held_out_file, held_out_material
from engine.scorecard.scorecard import Scorecard, ScoreOptions, Subject, differences, kept_measures, score

__all__ = [
    "Cursor",
    "Difference",
    "FileLines",
    "HeldOutText",
    "Material",
    "Measure",
    "ScoreOptions",
    "Scorecard",
    "Subject",
    "differences",
    "every_held_out_file",
    "held_out_material",
    "kept_measures",
    "score",
]
