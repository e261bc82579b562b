"""Two checkpoints compared or merged, and one packed into fewer bits.

compare, merge    how far two models are apart; a blend of their weights
sides             one of the two, and whether they fit together
number_formats    the table of precisions             packed_models    models in few bits that give float32 back
precision_table   what each precision costs           spans            long arrays in pieces, on all cores
"""
