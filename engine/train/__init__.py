"""Training: from a batch of tokens to better weights."""
