"""Two checkpoints compared or merged, and one packed into fewer bits."""
