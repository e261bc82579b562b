"""In place of PyInstaller's own hook: local sockets only, so no plugin and no OpenSSL."""

from contents import wanted_plugins
from PyInstaller.utils.hooks.qt import add_qt6_dependencies

hiddenimports, binaries, datas = add_qt6_dependencies(__file__)
binaries = list(wanted_plugins(binaries))
