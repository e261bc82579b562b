"""The pages of the rail: a word and an icon each, and the class that is loaded when the page is first shown.

A page is one `Page` subclass, made with the Application object.  To add one, add its line here.
"""

from __future__ import annotations

import importlib
import importlib.util
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from app.state.application import Application
    from app.window.parts import Page


@dataclass(frozen=True)
class PageEntry:
    """One line of the rail; `module` and `name` are of its class, `later` is what that loads once the page is made."""

    title: str
    icon: str
    module: str
    name: str
    later: tuple[str, ...] = ()  # as `preloading.load` takes them

    @property
    def is_there(self) -> bool:
        """Whether this build has the page."""
        package = self.module.rpartition(".")[0]
        return importlib.util.find_spec(package) is not None and importlib.util.find_spec(self.module) is not None

    def make(self, application: Application) -> Page:
        """Load and make the page."""
        return getattr(importlib.import_module(self.module), self.name)(application)


REPOSITORY, ADAPT, COMPLETE, CHECKPOINTS, SETTINGS = "Repository", "Adapt", "Complete", "Checkpoints", "Settings"
DEVICE, ABOUT = "device", "about"  # parts of the settings that other pages lead to

PAGES = (
    PageEntry(REPOSITORY, "repository", "app.window.repository.page", "RepositoryPage"),
    PageEntry(ADAPT, "adapt", "app.window.adapt.page", "AdaptPage", ("app.window.adapt.board", "engine.train.options")),
    PageEntry(
        COMPLETE, "complete", "app.window.complete.page", "CompletePage", ("pygments.lexers.python:PythonLexer",)
    ),
    PageEntry(
        *(CHECKPOINTS, "checkpoints", "app.window.checkpoints.page", "CheckpointsPage"),
        ("app.window.checkpoints.curves", "engine.checkpoints.formats.exporting"),
    ),
    PageEntry(SETTINGS, "settings", "app.window.settings.page", "SettingsPage", ("psutil", "email.parser")),
)
