"""What a person reads.  Lines of text made from records."""
