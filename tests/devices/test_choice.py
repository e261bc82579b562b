"""Which device a name means, which one `auto` takes, and the words that say why."""

import logging

import pytest

from engine.devices import choice, choose_device, list_devices, open_device
from engine.devices.webgpu.adapters import PORTABLE_LIMITS, Adapter, list_adapters
from engine.devices.webgpu.device import WebGpuDevice
from engine.errors import DeviceError


def adapter(description, kind, handle=None):
    return Adapter(handle, description, "Vulkan", kind, "driver 1", dict(PORTABLE_LIMITS), ())


SOFTWARE = adapter("llvmpipe", "software")
INTEGRATED = adapter("Iris", "integrated")
DISCRETE = adapter("RX 7600", "discrete")
UNKNOWN = adapter("Something", "unknown")


@pytest.fixture
def machine(monkeypatch):
    """A machine with the adapters that a test says."""

    def of(*adapters):
        monkeypatch.setattr(choice, "_adapters", lambda: adapters)

    return of


@pytest.mark.parametrize(
    ("adapters", "name", "words"),
    [
        ((), "cpu", ("no WebGPU adapter was found")),
        ((SOFTWARE,), "cpu", ("software", "llvmpipe", "slower")),
        ((SOFTWARE, INTEGRATED), "webgpu:1", ("integrated GPU",)),
        ((INTEGRATED, SOFTWARE, DISCRETE), "webgpu:2", ("discrete GPU",)),
        ((UNKNOWN, INTEGRATED), "webgpu:1", ("integrated GPU",)),
        ((SOFTWARE, UNKNOWN), "webgpu:1", ("GPU",)),
        ((DISCRETE, DISCRETE), "webgpu:0", ("discrete GPU",)),
    ],
)
def test_auto_takes_the_best_and_says_why(machine, adapters, name, words):
    machine(*adapters)
    chosen = choose_device("auto")
    assert chosen.info.name == name
    assert [word for word in words if word not in chosen.reason] == []
    assert choose_device() == chosen


@pytest.mark.parametrize(
    ("adapters", "asked", "name"),
    [
        ((DISCRETE,), "cpu", "cpu"),
        ((SOFTWARE,), "webgpu", "webgpu:0"),
        ((SOFTWARE, INTEGRATED, DISCRETE), "webgpu", "webgpu:2"),
        ((SOFTWARE, INTEGRATED, DISCRETE), "webgpu:0", "webgpu:0"),
        ((SOFTWARE, INTEGRATED, DISCRETE), "webgpu:1", "webgpu:1"),
    ],
)
def test_a_device_asked_for_by_name_is_taken(machine, adapters, asked, name):
    machine(*adapters)
    chosen = choose_device(asked)
    assert (chosen.info.name, chosen.reason) == (name, "selected by name")


@pytest.mark.parametrize("asked", ["cuda", "webgpu:5", "webgpu:x", "", "CPU "])
def test_an_unknown_name_is_refused_with_the_names_there_are(machine, asked):
    machine(SOFTWARE, DISCRETE)
    with pytest.raises(DeviceError) as caught:
        choose_device(asked)
    assert repr(asked) in caught.value.message
    assert caught.value.remedy == "Choose one of: auto, cpu, webgpu:0, webgpu:1."


@pytest.mark.parametrize("asked", ["webgpu", "webgpu:0"])
def test_without_an_adapter_the_error_says_what_to_do(machine, asked):
    machine()
    for ask in (choose_device, open_device):
        with pytest.raises(DeviceError, match="No WebGPU adapter was found") as caught:
            ask(asked)
        assert "Install a graphics driver" in caught.value.remedy
        assert "'cpu'" in caught.value.remedy
    opened = open_device("auto")
    assert opened.name == "cpu"
    opened.close()


def test_an_unknown_name_without_an_adapter_is_refused_too(machine):
    machine()
    with pytest.raises(DeviceError, match=r"no device 'cuda'.*auto, cpu\."):
        choose_device("cuda")


def test_a_machine_whose_wgpu_has_no_library_still_has_the_cpu(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "engine.devices.webgpu.adapters", None)
    assert [info.name for info in list_devices()] == ["cpu"]


def test_the_list_of_this_machine_says_what_matters():
    cpu, *adapters = list_devices()
    assert (cpu.name, cpu.kind) == ("cpu", "cpu")
    assert cpu.limits["threads"] >= 1
    assert cpu.description
    assert adapters, "no WebGPU adapter: install mesa-vulkan-drivers"
    for number, info in enumerate(adapters):
        assert info.name == f"webgpu:{number}"
        assert info.kind in ("discrete", "integrated", "software", "unknown")
        assert info.limits.keys() == PORTABLE_LIMITS.keys()
        assert info.description
        assert info.backend


def test_the_ceiling_is_the_one_asked_for():
    opened = open_device("cpu", ceiling=12_345)
    assert opened.ledger.ceiling == 12_345
    opened.close()
    opened = open_device("cpu")
    assert opened.ledger.ceiling == 3 * 2**30
    opened.close()


def test_a_portable_device_has_the_portable_limits_and_no_more(webgpu):
    assert {name: webgpu.gpu.limits[name] for name in PORTABLE_LIMITS} == PORTABLE_LIMITS
    assert webgpu.limits.max_binding_bytes == 128 * 2**20
    assert webgpu.limits.max_buffer_bytes == 256 * 2**20
    assert not {"shader-f16", "subgroup"} & set(webgpu.gpu.features)


def test_a_device_that_is_not_held_to_them_takes_what_the_adapter_gives():
    best = list_adapters()[0]
    opened = WebGpuDevice(best)
    assert opened.limits.max_binding_bytes == max(best.limits["max-storage-buffer-binding-size"], 128 * 2**20)
    assert opened.limits.max_buffer_bytes == opened.gpu.limits["max-buffer-size"] >= 256 * 2**20
    assert opened.gpu.limits["max-compute-invocations-per-workgroup"] == 256
    opened.close()


class Refusing:
    def request_device_sync(self, **options):
        raise RuntimeError("the driver is too old")


def test_an_adapter_that_does_not_open_is_a_typed_error_and_leaves_nothing():
    handlers = list(logging.getLogger("wgpu").handlers)
    with pytest.raises(DeviceError, match="Iris could not be opened: the driver is too old"):
        WebGpuDevice(adapter("Iris", "integrated", Refusing()))
    assert logging.getLogger("wgpu").handlers == handlers
