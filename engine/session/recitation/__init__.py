"""How much of a repository the weights of a checkpoint recite, without the repository memory.

    rare_lines   the lines of a repository that occur once and hold words that occur nowhere else
    canaries     random lines that a run can be asked to plant in what it learns
    asking       a model: does it recite a line, and how does a canary rank
    audit        asks a checkpoint and its base for both, and counts

What is recited by heart can be extracted by whoever gets the weights. The figures are kept with the checkpoint
(`engine/checkpoints/store/recitation.py`), the lines themselves are only shown.
"""
