"""In place of PyInstaller's own hook: without translations, since every word of the program is its own."""

from PyInstaller.utils.hooks.qt import add_qt6_dependencies

hiddenimports, binaries, _translations = add_qt6_dependencies(__file__)
datas = []
