"""Text to tokens and back: tokenizers of our own and of others, special tokens, tokens kept on disk."""
