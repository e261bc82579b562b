"""Architectures: one configuration class a family, found by the `model_type` of a `config.json`.

    architecture   what all of them have: names, blocks, parameters by name
    dense          llama, qwen2, qwen3, granite, granitemoehybrid with attention only
    reading        which class reads a `config.json`

Mamba-1 is `engine.model.config.ModelConfig`.
"""
