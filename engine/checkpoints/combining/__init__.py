"""Two checkpoints compared or merged, and one packed into fewer bits.

compare, merge    how far two models are apart; a blend of their weights
sides             one of the two, and whether they fit together
packed_models     parameters in few bits               precision_table  what each precision costs
number_formats    the precisions by name: scalar_formats, block_formats, group_formats
"""
