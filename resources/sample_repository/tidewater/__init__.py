"""Tidewater plans a small harbour."""

VERSION = "2.3.0"
