"""The model: its shape, its parameters, its forward pass, its files."""
