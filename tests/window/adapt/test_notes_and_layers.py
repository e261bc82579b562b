"""What is said about held-out code, and the heat map of the layers."""

from __future__ import annotations

import numpy as np
import pytest

from app.state.run_history import LayerLine
from app.window.adapt.notes import held_out_words


@pytest.mark.parametrize(
    ("losses", "words", "tone"),
    [
        ([], "", ""),
        ([4.5], "4.500", ""),
        ([4.5, 4.2, 4.0], "every evaluation", "good"),
        ([4.5, 4.0, 4.1], "step 10", "good"),
        ([4.5, 4.0, 4.1, 4.2, 4.3], "step 10, 3 evaluations ago", "warn"),
        ([4.5, 4.6], "No improvement", ""),
        ([4.5, 4.6, 4.7, 4.8], "No improvement", "warn"),
    ],
)
def test_held_out_code_in_words(losses, words, tone):
    said, how = held_out_words(np.arange(len(losses)) * 10.0, np.array(losses))
    assert words in said and how == tone


def test_a_run_on_changes_may_keep_a_later_step_than_that_of_the_lowest_loss():
    steps, losses = np.arange(5) * 10.0, np.array([4.5, 4.0, 4.1, 4.1, 4.1])
    said, tone = held_out_words(steps, losses, kept=40)
    assert "step 40" in said and tone == "good"


@pytest.fixture
def layer_map(theme, qtbot):
    from app.window.adapt.layer_map import LayerMap

    layer_map = LayerMap()
    qtbot.addWidget(layer_map)
    layer_map.resize(240, 200)
    return layer_map


def test_each_cell_is_a_layer_and_the_strongest_is_the_largest(layer_map, theme):
    lines = [LayerLine(0, 1e-4, 2e-4, 0.0), LayerLine(1, 1e-2, 4e-4, 0.5), LayerLine(2, 1e-3, 3e-4, 0.9)]
    layer_map.show_layers(lines, 40)
    image = layer_map.grab().toImage()
    tokens = theme.tokens
    at = [image.pixelColor(layer_map.cell(0, column).center().toPoint()).name() for column in range(3)]
    assert at[1] == tokens.second and len(set(at)) == 3
    dead = [image.pixelColor(layer_map.cell(2, column).center().toPoint()).name() for column in range(3)]
    assert dead[1] == dead[2] == tokens.warn != dead[0]
    place = layer_map.cell(0, 1).center()
    assert layer_map.words_at(place.x(), place.y()).startswith("Layer 2, gradient: 1.0e-02")
    assert layer_map.words_at(0, 0) == ""
    assert "dead channels 0 % to 90 %" in layer_map.accessibleName()


def test_many_layers_fit_and_a_number_that_is_none_is_marked(layer_map, theme):
    layer_map.show_layers([LayerLine(i, float("nan") if i == 5 else 1e-3, 1e-4, 0.1) for i in range(64)], 1)
    cells = [layer_map.cell(0, column) for column in range(64)]
    assert all(cell.width() >= 1 for cell in cells) and cells[-1].right() <= layer_map.width()
    image = layer_map.grab().toImage()
    assert image.pixelColor(cells[5].center().toPoint()).name() == theme.tokens.bad
    layer_map.show_layers((), 0)
    assert layer_map.accessibleName() == "Layers: not measured yet"


def test_a_mixture_has_a_band_for_each_expert(layer_map, theme):
    loads = (0.5, 0.25, 0.25, 0.0), (0.0, 0.0, 0.0, 1.0)
    layer_map.resize(240, 320)
    layer_map.show_layers([LayerLine(i, 1e-3, 1e-4, 0.1, load) for i, load in enumerate(loads)], 8)
    assert len(layer_map.rows) == 4
    image = layer_map.grab().toImage()
    first, second = (
        [image.pixelColor(layer_map.band(c, e).center().toPoint()).name() for e in range(4)] for c in (0, 1)
    )
    assert first[0] == second[3] == theme.tokens.accent
    assert first[1] == first[2] and len({first[0], first[1], first[3]}) == 3 and first[3] == second[0]
    place = layer_map.band(1, 3).center()
    assert layer_map.words_at(place.x(), place.y()).startswith("Layer 2, expert 4: 100 % (evenly: 25 %)")
    assert layer_map.band(0, 3).bottom() <= layer_map.height()
    assert "expert load 0 % to 100 %" in layer_map.accessibleName()
    layer_map.show_layers([LayerLine(0, 1e-3, 1e-4, 0.1)], 9)
    assert len(layer_map.rows) == 3
