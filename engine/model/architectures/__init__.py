"""Architectures: one configuration class a family, found by the `model_type` of a `config.json`.

    architecture   what all of them have: names, blocks, parameters by name
    dense          llama, qwen2, qwen3, granite, granitemoehybrid with attention only
    mamba2         Mamba-2, also in the spelling of the original repository
    hybrids        granitemoehybrid with Mamba-2 layers, falcon_h1
    own            Mamba-1, Mamba-2 and attention over a window in any order, which only this engine knows
    reading        which class reads a `config.json`

Mamba-1 is `engine.model.config.ModelConfig`.
"""
