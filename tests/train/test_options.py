"""Options: every one has words and a range, and what is out of range is refused by name."""

from dataclasses import fields

import pytest

from engine.errors import ConfigError
from engine.model.modes import MODES
from engine.train.options import (
    EARLY_EVALUATION,
    OPTIONS,
    PASSES_OVER_CHANGES,
    PRESETS,
    RATES,
    TUNED_WEIGHTS,
    TrainingOptions,
    preset,
)

RANGES = {name: info for name, info in OPTIONS.items() if not info.choices}
OUT_OF_RANGE = [(name, info.low - 1) for name, info in RANGES.items()]
OUT_OF_RANGE += [(name, info.high * 2 + 1) for name, info in RANGES.items()]


@pytest.mark.parametrize(("name", "value"), OUT_OF_RANGE)
def test_an_option_out_of_range_is_named_with_its_value_and_range(name, value):
    with pytest.raises(ConfigError) as refused:
        TrainingOptions(**{name: int(value) if RANGES[name].whole else value})
    said = str(refused.value)
    assert said.startswith(f"{name} is ") and said.endswith(f"from {RANGES[name].range_in_words}.")


def test_ranges_are_told_in_digits_that_can_be_read():
    found = [RANGES[name].range_in_words for name in ("steps", "duty_cycle", "max_gradient_norm", "epsilon")]
    assert found == ["0 to 10,000,000", "0.1 to 1", "0 to 1,000,000", "1e-12 to 0.01"]


@pytest.mark.parametrize(
    ("name", "value"), [("steps", 3.5), ("seed", True), ("fim_share", "half"), ("learning_rate", float("nan"))]
)
def test_an_option_of_another_kind_is_refused(name, value):
    with pytest.raises(ConfigError, match=f"{name} is "):
        TrainingOptions(**{name: value})


def test_every_option_has_words_and_a_default_that_is_allowed():
    assert list(OPTIONS) and set(OPTIONS) == {field.name for field in fields(TrainingOptions)}
    for name, info in OPTIONS.items():
        info.check(name, info.default)
        assert info.label and info.help.endswith(".") and info.default == getattr(TrainingOptions(), name)
        assert bool(info.choices) != (info.low is not None and info.high is not None)
        assert not info.zero or info.low == 0


def test_options_that_do_not_exist_or_do_not_fit_are_named():
    with pytest.raises(ConfigError, match="no option pace"):
        TrainingOptions().changed(pace=1)
    with pytest.raises(ConfigError, match="mode is 'quick'; it must be one of: full, wsla, qk, lora"):
        TrainingOptions(mode="quick")
    with pytest.raises(ConfigError, match="schedule is 'slow'; it must be one of"):
        TrainingOptions(schedule="slow")
    with pytest.raises(ConfigError, match=r"micro_batch is 3; it must divide batch_size \(8\)"):
        TrainingOptions(batch_size=8, micro_batch=3)
    with pytest.raises(ConfigError, match="no preset 'fast'"):
        preset("fast")


def test_something_has_to_end_a_run():
    with pytest.raises(ConfigError, match="steps is 0, and neither epochs nor minutes"):
        TrainingOptions(steps=0)
    TrainingOptions(steps=0, epochs=1.5)
    TrainingOptions(steps=0, minutes=0.1)


@pytest.mark.parametrize("steps", [1, 7, 10, 12, 19, 150, 999])
@pytest.mark.parametrize("more", [{}, {"evaluations": 25}, {"evaluate_every": 4}])
def test_evaluations_are_as_many_as_promised(steps, more):
    options = TrainingOptions(steps=steps, **more)
    at = [step for step in range(1, steps + 1) if options.evaluates_at(step)]
    assert at[-1] == steps
    if "evaluate_every" in more:
        assert at == [*range(4, steps, 4), steps]
    else:
        early = steps > 2 * EARLY_EVALUATION * options.evaluations
        assert len(at) == min(options.evaluations, steps) + early and (not early or at[0] == EARLY_EVALUATION)
    for step in range(1, steps + 1):
        assert options.evaluations_from(step) == sum(each >= step for each in at)


def test_a_long_preset_has_something_to_show_early():
    for name in ("balanced", "thorough"):
        assert next(step for step in range(1, 999) if PRESETS[name].evaluates_at(step)) == EARLY_EVALUATION


@pytest.mark.parametrize("mode", ["lora", "merged"])
def test_adapting_to_changes_keeps_the_mode_of_the_checkpoint_and_what_was_chosen(mode):
    options = TrainingOptions(mode="full", minutes=3.0)
    changes = options.for_changes(mode)
    assert (changes.steps, changes.minutes, changes.epochs) == (0, 0.0, PASSES_OVER_CHANGES)
    assert changes.mode == ("lora" if mode == "lora" else "full")  # a merge has no mode of its own
    assert options.for_changes(mode, {"mode", "minutes"}) == options


def test_an_interval_holds_where_only_the_time_ends_the_run():
    options = TrainingOptions(steps=0, minutes=5.0, evaluate_every=50)
    assert [step for step in range(1, 201) if options.evaluates_at(step)] == [50, 100, 150, 200]


def test_presets_evaluate_at_least_ten_times():
    assert all(options.evaluations >= 10 and options.steps >= 100 for options in PRESETS.values())


@pytest.mark.parametrize("mode", MODES)
def test_a_rate_that_is_not_set_follows_the_mode(mode):
    options = PRESETS["quick"].changed(mode=mode, warm_up=0, schedule="constant")
    assert options.peak_rate == RATES[mode] > 0
    assert options.rate_at(1) == RATES[mode]
    assert options.changed(learning_rate=1e-4).rate_at(1) == 1e-4


def test_a_larger_model_goes_gentler():
    quick = PRESETS["quick"]
    assert quick.peak_rate_for(TUNED_WEIGHTS // 10) == quick.peak_rate_for(TUNED_WEIGHTS) == quick.peak_rate
    assert quick.changed(mode="lora").peak_rate_for(134_515_008) == pytest.approx(2.6e-3, rel=0.01)
    larger = quick.peak_rate_for(9 * TUNED_WEIGHTS)
    assert larger < quick.peak_rate / 2
    assert quick.changed(steps=4 * quick.steps).peak_rate_for(9 * TUNED_WEIGHTS) == pytest.approx(larger / 2)
    assert quick.changed(learning_rate=1e-2).peak_rate_for(100 * TUNED_WEIGHTS) == 1e-2


def test_a_long_run_goes_gentler():
    quick = PRESETS["quick"]
    assert quick.changed(steps=10).peak_rate == quick.peak_rate
    assert quick.changed(steps=4 * quick.steps).peak_rate == pytest.approx(quick.peak_rate / 2)
    assert quick.changed(steps=0, minutes=1.0).peak_rate == quick.peak_rate
    assert quick.changed(steps=0, minutes=20.0).peak_rate < quick.changed(steps=0, minutes=10.0).peak_rate
    assert quick.changed(steps=9000, learning_rate=1e-2).peak_rate == 1e-2
    assert PRESETS["thorough"].peak_rate < PRESETS["balanced"].peak_rate < quick.peak_rate
