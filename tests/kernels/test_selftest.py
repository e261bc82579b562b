"""The self-test passes on both devices, and refuses a device by the name of the kernel that gives wrong numbers."""

import itertools

import numpy as np
import pytest

from engine import selftest
from engine.devices.cpu.device import CpuDevice
from engine.devices.cpu.replay import is_replayed
from engine.devices.webgpu.launches import LAUNCHES
from engine.errors import DeviceError, KernelMismatchError
from engine.graph.kernels import KERNELS


class FaultyDevice(CpuDevice):
    """A CPU device that hands every call of some kernels to `fault`, with the kernel that it should be."""

    def __init__(self, kernels, fault) -> None:
        super().__init__()
        self._kernels, self._fault = kernels, fault

    def kernel(self, name):
        right = super().kernel(name)
        return (lambda *arguments: self._fault(right, *arguments)) if name in self._kernels else right

    def _bind(self, plan, arena):
        """Replayed kernels are not asked for by name; what is bound for some is put in the place of these kernels."""
        executable = super()._bind(plan, arena)
        calls, begins = plan.program.calls, executable._begins
        for place, (begin, end) in enumerate(itertools.pairwise([*begins, len(calls)])):
            if any(is_replayed(call) and call.kernel in self._kernels for call in calls[begin:end]):
                replay, _ = executable.bound[place]
                fault = lambda *arguments, replay=replay: self._fault(lambda *_: replay(), *arguments)  # noqa: E731
                own = [executable._arguments(call, plan.scratch_of(call)) for call in calls[begin:end]]
                executable.bound[place] = (fault, tuple(itertools.chain.from_iterable(own)))
        return executable


@pytest.fixture
def faulty():
    """A function that opens faulty devices; all are closed after the test."""
    opened = []

    def open_faulty(kernels, fault):
        opened.append(FaultyDevice(kernels, fault))
        return opened[-1]

    yield open_faulty
    for device in reversed(opened):
        device.close()


def nothing_written(right, *arguments):
    """What some drivers do: report success and leave the outputs as they were."""


def slightly_wrong(right, *arguments):
    right(*arguments)
    with np.errstate(invalid="ignore"):  # what lies between the calls of a fused kernel may be anything by now
        for array in _float_arrays(arguments):
            array *= np.float32(1 + 1e-4)


def one_nan(position):
    def fault(right, *arguments):
        right(*arguments)
        arguments[position].reshape(-1)[0] = np.nan

    return fault


def _float_arrays(arguments):
    return [array for array in arguments if isinstance(array, np.ndarray) and array.dtype.kind == "f"]


@pytest.mark.parametrize("name", ["cpu", "webgpu"])
def test_passes_by_name_and_tells_of_every_kernel(name):
    heard = []
    checks = selftest.run(name, heard.append)
    assert heard == checks
    assert [check.kernel for check in checks] == list(KERNELS)
    assert [check for check in checks if not check.passed] == []


def test_require_accepts_a_device_that_is_right(device):
    selftest.require(device)


def test_cpu_is_compared_with_float64_and_not_with_itself(cpu):
    assert max(check.error for check in selftest.run(cpu)) > 0


def test_every_kernel_that_writes_nothing_is_found(faulty):
    checks = selftest.run(faulty(KERNELS, nothing_written))
    assert [check.kernel for check in checks if check.passed] == []


def test_every_kernel_that_is_slightly_wrong_is_found(faulty):
    checks = selftest.run(faulty(KERNELS, slightly_wrong))
    # 16-bit floats and whole numbers are too coarse to be slightly wrong.
    assert {check.kernel for check in checks if check.passed} <= {
        "narrow_float16",
        "narrow_bfloat16",
        "cache_append",
        "argmax",
        "choose_token",
        "group_rows",
    }


@pytest.mark.parametrize("kernel", ["rmsnorm", "matmul_tn", "selective_scan_backward"])
def test_require_refuses_by_the_kernels_name(faulty, kernel):
    with pytest.raises(KernelMismatchError, match=f"kernel {kernel} is off by") as refusal:
        selftest.require(faulty({kernel}, slightly_wrong))
    assert refusal.value.kernel == kernel


@pytest.mark.parametrize("position", [0, 1, 4], ids=["d_g", "y", "d_z"])
def test_one_nan_in_any_output_is_refused(faulty, position):
    """Python's max passes over NaN, depending on where it stands."""
    with pytest.raises(KernelMismatchError) as refusal:
        selftest.require(faulty({"gate_backward"}, one_nan(position)))
    assert refusal.value.kernel == "gate_backward"


def test_nan_in_the_first_of_the_checked_sizes_only_is_refused(faulty):
    calls = []

    def fault(right, *arguments):
        calls.append(right)
        (one_nan(0) if len(calls) == 1 else lambda right, *arguments: right(*arguments))(right, *arguments)

    with pytest.raises(KernelMismatchError) as refusal:
        selftest.require(faulty({"gate_backward"}, fault))
    assert refusal.value.kernel == "gate_backward"
    assert len(calls) == len(selftest.CHECKED_SIZES)


def test_kernel_that_fails_to_run_is_refused_with_its_reason(faulty):
    def fault(right, *arguments):
        raise DeviceError("The driver gave up.")

    (check,) = [check for check in selftest.run(faulty({"gather_columns"}, fault)) if not check.passed]
    assert (check.kernel, check.problem) == ("gather_columns", "The driver gave up.")
    assert np.isnan(check.error)


@pytest.mark.parametrize("kernel", ["fill", "gate", "adamw"])
def test_webgpu_device_that_writes_nothing_is_refused(webgpu, monkeypatch, kernel):
    monkeypatch.setitem(LAUNCHES, kernel, lambda views, numbers, traits: [])
    with pytest.raises(KernelMismatchError) as refusal:
        selftest.require(webgpu)
    assert refusal.value.kernel == kernel
