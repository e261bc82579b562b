"""The colours by what they are for, in dark and in light; everything that is painted uses these.  No Qt."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Tokens:
    """One scheme.  Text is in ink, mute or a `_text` colour (4.5:1 on every surface); plain hues are for shapes."""

    name: str
    background: str  # behind cards
    panel: str  # cards, rail, header
    raised: str  # chips, hover, selection
    pressed: str  # a raised control held down
    line: str  # 1 px borders, table rules, plot grid
    ink: str  # text
    mute: str  # labels
    dim: str  # axes, what is off
    accent: str  # the one primary action, progress, "good"
    accent_hover: str
    accent_text: str
    on_accent: str  # text on the accent
    second: str  # training loss, links, weights, the focus ring
    second_text: str
    third: str  # optimiser, gradient norm
    warn: str  # learning rate, step-0 line, cautions
    warn_text: str
    bad: str  # ceiling, errors
    bad_text: str
    ghost: str  # suggestions


DARK = Tokens(
    name="dark",
    background="#14161b",
    panel="#1b1e25",
    raised="#222630",
    pressed="#2c313c",
    line="#2c313c",
    ink="#e6e8ee",
    mute="#9aa3b2",
    dim="#6b7484",
    accent="#4fb286",
    accent_hover="#5fc296",
    accent_text="#4fb286",
    on_accent="#0d1813",
    second="#5b9cf0",
    second_text="#6ea8f2",
    third="#a58be0",
    warn="#e0a84e",
    warn_text="#e0a84e",
    bad="#e06c6c",
    bad_text="#e88080",
    ghost="#858fa0",
)

LIGHT = Tokens(
    name="light",
    background="#f5f6f8",
    panel="#ffffff",
    raised="#f0f2f5",
    pressed="#e4e8ed",
    line="#dfe3e9",
    ink="#1c2128",
    mute="#5b6572",
    dim="#8b95a3",
    accent="#1c8059",
    accent_hover="#176f4c",
    accent_text="#17734e",
    on_accent="#ffffff",
    second="#2f6fd0",
    second_text="#2a64bd",
    third="#7250c4",
    warn="#a66a00",
    warn_text="#875600",
    bad="#c23d3d",
    bad_text="#b53535",
    ghost="#646e7c",
)


def contrast(one: str, other: str) -> float:
    """The WCAG contrast ratio of two #rrggbb colours: 1 to 21."""

    def luminance(colour: str) -> float:
        channels = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)
