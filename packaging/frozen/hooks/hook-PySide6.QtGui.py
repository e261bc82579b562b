"""In place of PyInstaller's own hook: the module with the plugins that contents.py keeps."""

from contents import wanted_plugins
from PyInstaller.utils.hooks.qt import add_qt6_dependencies

hiddenimports, binaries, datas = add_qt6_dependencies(__file__)
binaries = list(wanted_plugins(binaries))
