"""A field bound to one setting: writes it at once, follows it, and says under the field why a value is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QWidget

from app.data.settings_file import FIELDS
from app.state.settings import Settings
from app.values.limits import Number
from app.window.parts import Choice, FieldRow, Segmented


def same(value: Any) -> Any:
    """The setting as the field has it."""
    return value


class SettingRow(FieldRow):
    """`to_setting` and `from_setting` convert the unit (GiB and bytes); `check` gives words for a bad value, or "".

    The range is the setting's own, said in the field's unit.
    """

    def __init__(
        self,
        settings: Settings,
        setting: str,
        name: str,
        control: QWidget,
        help_words: str = "",
        to_setting: Callable[[Any], Any] = same,
        from_setting: Callable[[Any], Any] = same,
        check: Callable[[Any], str] | None = None,
    ) -> None:
        super().__init__(name, control, help_words)
        self._settings, self._setting = settings, setting
        self._to, self._from, self._check = to_setting, from_setting, check
        signal = control.chosen if isinstance(control, Choice | Segmented) else control.changed
        signal.connect(self.on_field_changed)
        settings.changed.connect(self.on_setting_changed)
        self.on_setting_changed(setting)

    def on_field_changed(self, value: Any) -> None:
        """Take the value, or say why not; the setting stays as it was then."""
        problem = self._range_problem(value) or (self._check(value) if self._check else "")
        self.complain(problem or self._settings.set(self._setting, self._to(value)))

    @Slot(str)
    def on_setting_changed(self, setting: str) -> None:
        if setting == self._setting:
            self.control.set_value(self._from(self._settings.value(setting)))
            self.complain("")

    def _range_problem(self, value: Any) -> str:
        limit = FIELDS[self._setting].limit
        if not isinstance(limit, Number):
            return ""
        low, high, unit = self._from(limit.low), self._from(limit.high), self.control.suffix()
        return "" if low <= value <= high else f"Choose a value from {low:,g}{unit} to {high:,g}{unit}."
