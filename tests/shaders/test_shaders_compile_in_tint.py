"""Every shader variant compiles in Tint with the default limits and no features, so it would run in Chrome too."""

import pytest
from tint import compile_errors, create_pipeline_errors
from variants import all_variants

REVERSE = """
override size: u32 = 64u;
var<workgroup> row: array<f32, size>;
@group(0) @binding(0) var<storage, read_write> x: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_id) lid: vec3u) {
    row[lid.x] = x[lid.x];
    workgroupBarrier();
    x[lid.x] = row[63u - lid.x];
}
"""
REVERSE_NON_UNIFORM = REVERSE.replace("workgroupBarrier();", "if (lid.x < 3u) { workgroupBarrier(); }")


def test_tint_accepts_a_good_shader():
    assert compile_errors(REVERSE) == []
    assert create_pipeline_errors(REVERSE) == []
    assert create_pipeline_errors(REVERSE, constants={"size": 4096}) == []


def test_tint_rejects_a_barrier_in_non_uniform_control_flow():
    (error,) = compile_errors(REVERSE_NON_UNIFORM)
    assert "'workgroupBarrier' must only be called from uniform control flow" in error
    assert create_pipeline_errors(REVERSE_NON_UNIFORM) == [error]


def test_tint_reads_all_of_a_source_with_characters_outside_ascii():
    assert compile_errors("// éé\nconst a = 1;") == []


def test_tint_rejects_more_workgroup_memory_than_the_default_limit():
    (error,) = create_pipeline_errors(REVERSE, constants={"size": 4097})
    assert "workgroup storage (16400 bytes)" in error


def test_tint_rejects_an_override_the_shader_does_not_have():
    (error,) = create_pipeline_errors(REVERSE, constants={"sise": 64})
    assert "sise" in error


@pytest.mark.parametrize("variant", all_variants(), ids=lambda variant: variant.name)
def test_shader_compiles_in_tint(variant):
    assert create_pipeline_errors(variant.source, "main", variant.constants) == []
