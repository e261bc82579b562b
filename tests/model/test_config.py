"""Configurations: what is read, what is written back, and what is refused by name."""

import pytest

from engine.errors import ConfigError
from engine.model.config import PRESETS, ModelConfig, preset

MAMBA_130M = {
    "model_type": "mamba",
    "architectures": ["MambaForCausalLM"],
    "hidden_size": 768,
    "num_hidden_layers": 24,
    "state_size": 16,
    "intermediate_size": 1536,
    "conv_kernel": 4,
    "expand": 2,
    "time_step_rank": 48,
    "time_step_min": 0.001,
    "time_step_max": 0.1,
    "time_step_floor": 1e-4,
    "time_step_scale": 1.0,
    "time_step_init_scheme": "random",
    "layer_norm_epsilon": 1e-5,
    "vocab_size": 50280,
    "use_bias": False,
    "use_conv_bias": True,
    "hidden_act": "silu",
    "residual_in_fp32": True,
    "rescale_prenorm_residual": False,
    "initializer_range": 0.1,
    "bos_token_id": 0,
    "eos_token_id": 0,
    "pad_token_id": 0,
    "torch_dtype": "float32",
    "transformers_version": "4.39.0.dev0",
    "use_cache": True,
}
# As the folders have it that were converted from the original repository.
LEGACY_BESIDE = {
    "d_model": 768,
    "d_inner": 1536,
    "n_layer": 24,
    "ssm_cfg": {},
    "rms_norm": True,
    "fused_add_norm": True,
    "pad_vocab_size_multiple": 8,
}


def test_mamba_130m_has_the_parameters_that_it_is_known_to_have():
    config = ModelConfig.from_hugging_face(MAMBA_130M)
    assert config.parameter_count == 129_135_360
    shapes = config.parameter_shapes()
    mixer = "backbone.layers.23.mixer."
    assert shapes["backbone.embeddings.weight"] == (50280, 768)
    assert shapes[mixer + "in_proj.weight"] == (3072, 768)
    assert shapes[mixer + "conv1d.weight"] == (1536, 1, 4)
    assert shapes[mixer + "x_proj.weight"] == (80, 1536)
    assert shapes[mixer + "dt_proj.weight"] == (1536, 48)
    assert shapes[mixer + "A_log"] == (1536, 16)
    assert shapes[mixer + "out_proj.weight"] == (768, 1536)
    assert "lm_head.weight" not in shapes


def test_presets_have_computed_sizes():
    sizes = {name: (preset(name).hidden_size, preset(name).num_hidden_layers) for name in PRESETS}
    assert sizes == {"nano": (128, 4), "small": (256, 6), "medium": (512, 8), "large": (768, 12)}
    assert round(preset("small").parameter_count / 1e6, 2) == 4.73
    assert preset("small", 1000).parameter_count == preset("small").parameter_count - 7192 * 256
    with pytest.raises(ConfigError, match=r"'huge'.*nano, small, medium, large"):
        preset("huge")


@pytest.mark.parametrize(
    "keys",
    [
        MAMBA_130M,
        MAMBA_130M | LEGACY_BESIDE,
        {"d_model": 64, "n_layer": 3, "vocab_size": 50277, "ssm_cfg": {"d_state": 8}, "pad_vocab_size_multiple": 8},
        {"hidden_size": 40, "time_step_rank": "auto", "tie_word_embeddings": False, "use_bias": True},
        {"hidden_act": "swish"},
    ],
)
def test_a_configuration_written_and_read_again_is_the_same(keys):
    config = ModelConfig.from_hugging_face(keys)
    written = config.to_hugging_face()
    assert written["model_type"] == "mamba"
    again = ModelConfig.from_hugging_face(written)
    assert again.to_hugging_face() == written
    assert again.parameter_shapes() == config.parameter_shapes()
    described = {key: value for key, value in keys.items() if key in ("bos_token_id", "transformers_version")}
    assert {key: written[key] for key in described} == described


def test_sizes_that_are_left_out_are_computed():
    config = ModelConfig.from_hugging_face({"hidden_size": 40, "expand": 3, "time_step_rank": "auto"})
    assert (config.intermediate_size, config.time_step_rank) == (120, 3)


def test_keys_of_the_original_repository_are_translated():
    keys = {
        "d_model": 64,
        "n_layer": 3,
        "vocab_size": 50277,
        "pad_vocab_size_multiple": 8,
        "ssm_cfg": {"d_state": 8, "d_conv": 3, "expand": 3, "dt_rank": 5},
    }
    config = ModelConfig.from_hugging_face(keys)
    assert (config.hidden_size, config.num_hidden_layers, config.vocab_size) == (64, 3, 50280)
    assert (config.state_size, config.conv_kernel, config.expand, config.time_step_rank) == (8, 3, 3, 5)
    assert ModelConfig.from_hugging_face(MAMBA_130M | LEGACY_BESIDE).parameter_count == 129_135_360


@pytest.mark.parametrize(
    ("keys", "named"),
    [
        ({"sliding_window": 4, "num_experts": 8}, "num_experts, sliding_window"),
        ({"quantization_config": {"bits": 4}}, "quantization_config"),
        ({"model_type": "mamba2"}, "model_type is 'mamba2'"),
        ({"model_type": "falcon_mamba"}, "model_type is 'falcon_mamba'"),
        ({"hidden_act": "gelu"}, "hidden_act is 'gelu'"),
        ({"rms_norm": False}, "rms_norm is False"),
        ({"hidden_size": 0}, "hidden_size is 0"),
        ({"hidden_size": -8}, "hidden_size is -8"),
        ({"hidden_size": 12.5}, r"hidden_size is 12\.5"),
        ({"hidden_size": True}, "hidden_size is True"),
        ({"hidden_size": "256"}, "hidden_size is '256'"),
        ({"num_hidden_layers": None}, "num_hidden_layers is None"),
        ({"vocab_size": 0}, "vocab_size is 0"),
        ({"state_size": 0}, "state_size is 0"),
        ({"conv_kernel": 0}, "conv_kernel is 0"),
        ({"expand": 1.5}, r"expand is 1\.5"),
        ({"time_step_rank": "large"}, "time_step_rank is 'large'"),
        ({"time_step_rank": -1}, "time_step_rank is -1"),
        ({"layer_norm_epsilon": 0}, "layer_norm_epsilon is 0"),
        ({"layer_norm_epsilon": float("nan")}, "layer_norm_epsilon is nan"),
        ({"layer_norm_epsilon": "small"}, "layer_norm_epsilon is 'small'"),
        ({"time_step_min": 0.2, "time_step_max": 0.1}, "time_step_min"),
        ({"time_step_min": "low"}, "time_step_min"),
        ({"time_step_floor": None}, "time_step_floor"),
        ({"use_bias": "no"}, "use_bias"),
        ({"use_conv_bias": None}, "use_conv_bias"),
        ({"tie_word_embeddings": "false"}, "tie_word_embeddings"),
        ({"d_model": 64, "hidden_size": 128}, "d_model is 64 but hidden_size is 128"),
        ({"ssm_cfg": {"layer": "Mamba2"}}, "layer"),
        ({"ssm_cfg": {"d_state": 8}, "state_size": 16}, "d_state"),
        ({"pad_vocab_size_multiple": 0, "vocab_size": 100}, "pad_vocab_size_multiple"),
        ({"pad_vocab_size_multiple": 8, "vocab_size": "100"}, "vocab_size"),
    ],
    ids=str,
)
def test_what_would_change_the_result_is_refused_by_name(keys, named):
    with pytest.raises(ConfigError, match=named):
        ModelConfig.from_hugging_face(keys)


def test_an_ssm_cfg_that_is_no_object_is_refused_by_name():
    with pytest.raises(ConfigError, match="ssm_cfg is 3"):
        ModelConfig.from_hugging_face({"ssm_cfg": 3})
