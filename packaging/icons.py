"""Renders the program's icon from icon.svg in the formats that desktops need:  python packaging/icons.py FOLDER

    codecoil.ico     Windows
    codecoil.icns    macOS
    NxN/codecoil.png and scalable/codecoil.svg, for the icon folder of a Linux desktop

Both containers hold plain PNGs; their headers are written here, so that each can be made on any system.  Needs Qt, so
it runs in an environment with the program's libraries.
"""

from __future__ import annotations

import os
import shutil
import struct
import sys
from pathlib import Path

DRAWING = Path(__file__).with_name("icon.svg")
ICO_SIZES = (16, 20, 24, 32, 40, 48, 64, 128, 256)
ICNS_SIZES = {  # by macOS type; two types of the same size are for two screen densities
    b"icp4": 16,
    b"icp5": 32,
    b"ic11": 32,
    b"ic12": 64,
    b"ic07": 128,
    b"ic08": 256,
    b"ic13": 256,
    b"ic09": 512,
    b"ic14": 512,
    b"ic10": 1024,
}
PNG_SIZES = (16, 24, 32, 48, 64, 128, 256, 512)


def picture(size: int) -> bytes:
    """The icon as a PNG of size x size pixels."""
    from PySide6.QtCore import QBuffer, QByteArray, QIODevice
    from PySide6.QtGui import QImage, QPainter
    from PySide6.QtSvg import QSvgRenderer

    image = QImage(size, size, QImage.Format.Format_ARGB32)
    image.fill(0)
    painter = QPainter(image)
    QSvgRenderer(str(DRAWING)).render(painter)
    painter.end()
    store = QByteArray()
    buffer = QBuffer(store)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    image.save(buffer, "PNG")
    return bytes(store.data())


def ico(pictures: dict[int, bytes]) -> bytes:
    """A Windows icon: a directory with 16 bytes per picture, then the pictures.  256 is written as 0."""
    offset = 6 + 16 * len(pictures)
    directory = struct.pack("<HHH", 0, 1, len(pictures))
    for size, png in pictures.items():
        directory += struct.pack("<BBBBHHII", size % 256, size % 256, 0, 0, 1, 32, len(png), offset)
        offset += len(png)
    return directory + b"".join(pictures.values())


def icns(pictures: dict[bytes, bytes]) -> bytes:
    """A macOS icon: chunks of a type, a length that counts itself, and a picture."""
    chunks = b"".join(kind + struct.pack(">I", 8 + len(png)) + png for kind, png in pictures.items())
    return b"icns" + struct.pack(">I", 8 + len(chunks)) + chunks


def draw(folder: Path) -> None:
    """Write all of them into `folder`."""
    sizes = {*ICO_SIZES, *ICNS_SIZES.values(), *PNG_SIZES}
    drawn = {size: picture(size) for size in sorted(sizes)}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "codecoil.ico").write_bytes(ico({size: drawn[size] for size in ICO_SIZES}))
    (folder / "codecoil.icns").write_bytes(icns({kind: drawn[size] for kind, size in ICNS_SIZES.items()}))
    for size in PNG_SIZES:
        place = folder / f"{size}x{size}" / "codecoil.png"
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(drawn[size])
    place = folder / "scalable" / "codecoil.svg"
    place.parent.mkdir(exist_ok=True)
    shutil.copyfile(DRAWING, place)


if __name__ == "__main__":
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    draw(Path(sys.argv[1]))
