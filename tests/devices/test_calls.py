"""The two ways to call wgpu: the same results, the same faults, and the public one where the other is not possible."""

import logging

import numpy as np
import pytest
import wgpu

import engine
from engine.devices.webgpu import low_level_calls
from engine.devices.webgpu.calls import CHECK_EACH_CALL, Copy, Dispatch, PublicCalls, calls_of
from engine.devices.webgpu.launch import PARAMETER_BYTES, Launch
from engine.devices.webgpu.low_level_calls import KEPT_STAGING, LowLevelCalls
from engine.generate.decoder import Decoder
from engine.model.step import AdamW
from tests.model.tiny import TINY, batch

WAYS = {"public": PublicCalls, "low_level": LowLevelCalls}


@pytest.fixture(params=WAYS)
def calls(request, fresh_webgpu):
    """A device's calls in one of the two ways."""
    fresh_webgpu.calls = WAYS[request.param](fresh_webgpu.gpu)
    return fresh_webgpu.calls


def test_training_and_decoding_have_the_same_bits(fresh_webgpu):
    def everything(way):
        fresh_webgpu.calls = way(fresh_webgpu.gpu)
        model = engine.create_model(TINY, seed=1, device=fresh_webgpu)
        step = model.training_step("full", 2, 5)
        results = [step.run(batch(2, 6), AdamW(), number) for number in range(1, 7)]
        found = [np.array([result().loss for result in results])]
        decoder = Decoder(model)
        found += [decoder.read([3, 1, 2]), decoder.greedy(11, 4), *decoder.read_top([5], 7)]
        found += list(model.parameters.values())
        decoder.close()
        step.close()
        model.close()
        return found

    first, second = (everything(way) for way in WAYS.values())
    assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


def test_bytes_come_back_as_they_were_written(calls, fresh_webgpu):
    for size in (4, 12, KEPT_STAGING, KEPT_STAGING + 4):
        buffer = fresh_webgpu._raw_buffer(size, "test")
        data = np.random.default_rng(size).integers(0, 256, size).astype(np.uint8)
        calls.write(buffer, 0, data)
        assert bytes(calls.read(buffer, 0, size)) == data.tobytes()
        calls.write(buffer, size - 4, data[:4])
        assert bytes(calls.read(buffer, size - 4, 4)) == data[:4].tobytes()
        calls.wait()
        buffer.destroy()


def test_a_submission_is_read_without_those_after_it(calls, fresh_webgpu):
    usage = wgpu.BufferUsage.MAP_READ | wgpu.BufferUsage.COPY_DST
    source = fresh_webgpu._raw_buffer(8, "source")
    targets = [fresh_webgpu.gpu.create_buffer(size=8, usage=usage) for _ in range(3)]
    submissions = []
    for number, target in enumerate(targets):
        calls.write(source, 0, np.array([number, 7], np.uint32))
        submissions.append(calls.submit(calls.record((), [Copy(source, 0, target, 8)])))
    for number in (1, 0, 2):
        content = calls.read_mapped(targets[number], submissions[number])
        assert np.frombuffer(content, np.uint32).tolist() == [number, 7]


def fault(calls, device):
    """A bind group whose layout is not the pipeline's."""
    launch = Launch("fill", (None,), bytes(16), (1, 1, 1))
    pipeline = device.pipelines.get(launch)
    parameters = device.gpu.create_buffer(size=PARAMETER_BYTES, usage=wgpu.BufferUsage.UNIFORM)
    resources = [(parameters, PARAMETER_BYTES), (device.nothing, 16), (device.nothing, 16)]
    entries = [
        {"binding": number, "resource": {"buffer": buffer, "offset": 0, "size": size}}
        for number, (buffer, size) in enumerate(resources)
    ]
    group = device.gpu.create_bind_group(layout=device.pipelines.layout(2), entries=entries)
    return calls.prepare([Dispatch(pipeline, group, 0, (1, 1, 1))])


def test_a_fault_in_a_recording_is_raised_before_it_is_submitted(calls, fresh_webgpu, caplog):
    dispatches = fault(calls, fresh_webgpu)
    with pytest.raises(wgpu.GPUError, match="bind group"):
        calls.record(dispatches)
    calls.submit(calls.record(()))  # the next one is not affected
    calls.wait()
    assert not [record for record in caplog.records if "invalid" in record.message.lower()]


def test_a_fault_in_a_write_is_raised(calls, fresh_webgpu):
    buffer = fresh_webgpu._raw_buffer(16, "small")
    with pytest.raises((wgpu.GPUError, ValueError)):
        calls.write(buffer, 8, np.zeros(fresh_webgpu.nothing.size, np.uint8))


def test_the_quicker_calls_are_the_default_and_a_variable_turns_them_off(webgpu, monkeypatch):
    monkeypatch.delenv(CHECK_EACH_CALL, raising=False)
    assert type(calls_of(webgpu.gpu)) is LowLevelCalls
    monkeypatch.setenv(CHECK_EACH_CALL, "1")
    assert type(calls_of(webgpu.gpu)) is PublicCalls


DIFFERENCES = {
    "a function takes something else": ("wgpuQueueWriteBuffer", "void(*)(WGPUQueue, WGPUBuffer)"),
    "a function is gone": ("wgpuQueueWriteSomething", "void(*)(WGPUQueue)"),
    "a type is gone": ("wgpuQueueWriteBuffer", "void(*)(WGPUColumn)"),
}


@pytest.mark.parametrize("difference", DIFFERENCES)
def test_another_wgpu_is_called_by_its_public_methods(webgpu, monkeypatch, caplog, difference):
    monkeypatch.delenv(CHECK_EACH_CALL, raising=False)
    name, declaration = DIFFERENCES[difference]
    monkeypatch.setitem(low_level_calls._DECLARATIONS, name, declaration)
    with caplog.at_level(logging.WARNING):
        assert type(calls_of(webgpu.gpu)) is PublicCalls
    assert "not built as expected" in caplog.text


def test_a_handle_of_another_kind_is_noticed(webgpu, monkeypatch):
    monkeypatch.delenv(CHECK_EACH_CALL, raising=False)

    class Wrapped:
        queue = webgpu.gpu.queue
        create_buffer = webgpu.gpu.create_buffer

    assert type(calls_of(Wrapped())) is PublicCalls
