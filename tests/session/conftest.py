"""The devices that these tests run on, and a small repository."""

import pytest

from tests.devices.opened import *  # noqa: F403  (fixtures)

FUNCTION = '''
def {name}_{i}(items, limit={i}):
    """Sum of the first {i} {name}."""
    total = 0
    for item in items[:limit]:
        total += item.{name}
    return total

'''


@pytest.fixture
def repository(tmp_path):
    """Nine files of code that resembles itself, so that there is something to learn."""
    folder = tmp_path / "shop"
    folder.mkdir()
    for name in ("price", "weight", "stock", "age", "rank", "size", "cost", "tax", "share"):
        text = f'"""Sums of {name}."""\n' + "".join(FUNCTION.format(name=name, i=i) for i in range(1, 12))
        (folder / f"{name}.py").write_text(text)
    return folder
