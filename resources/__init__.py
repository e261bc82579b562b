"""What ships beside the code, read through `importlib.resources`; no code of the program lives here.

fonts/              Inter and JetBrains Mono, with their licences
icons/              our own SVG icons and the program's mark
help/               the pages of the help, one Markdown file each
pictures/           the window as the README shows it
memory/             how the memory and a base model are mixed: numbers fitted on the tuning packages
sample_repository/  Tidewater, a small project to try everything on
handoff/            what `codecoil handoff` puts into its folder: train.py, requirements, words
starter/            the starter model: weights, tokenizer, its card and the licences of what it learned from
"""
