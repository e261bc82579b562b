"""Trains the model in base/ on the windows in data/, as run.json says, and writes what it learned to result/.

    accelerate launch train.py            (README.md has the commands for several GPUs and several machines)

It is `codecoil train` on another machine: the same windows in the same order, the same loss, AdamW with the same
numbers, the same parameters trained and no other byte changed. Every process computes its share of the rows of each
batch, so the number of processes changes the time and nothing else. `codecoil checkpoints import` reads result/.

Nothing is fetched and nothing is sent: all that is read is in this folder.
"""

import argparse
import contextlib
import hashlib
import json
import math
import os
import time
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"  # before transformers is imported

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from peft import LoraConfig, inject_adapter_in_model
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch.nn.utils.parametrize import register_parametrization
from transformers import AutoModelForCausalLM

HERE = Path(__file__).resolve().parent
RESULT = HERE / "result"
NOT_COUNTED = -100  # what cross_entropy ignores
MEASURED = 8  # held-out rows that a process computes at once
MOST_FAILURES = 3  # steps in a row with a number that is not finite, after which the run ends
NOT_BY_FSDP = """FSDP cannot divide a model of which single embedding rows are trained while its head is tied to them.
Run it without FSDP, or hand off again with --mode lora and --fim-share 0."""


# ---- what is trained


class Rows(torch.nn.Module):
    """A weight of which only the rows at `index` are trained; the others stay as they are."""

    def __init__(self, weight, index):
        super().__init__()
        self.register_buffer("index", index, persistent=False)
        self.rows = torch.nn.Parameter(weight.detach()[index].clone())

    def forward(self, weight):
        return weight.index_copy(0, self.index, self.rows)


class LowRank(torch.nn.Module):
    """weight + up @ down, for the modules on which PEFT takes no pair because CUDA kernels read their weight."""

    def __init__(self, down, up):
        super().__init__()
        self.down, self.up = torch.nn.Parameter(down), torch.nn.Parameter(up)

    def forward(self, weight):
        return weight + self.up @ self.down


def choose_parameters(model, run, start, sharded):
    """Make what run["trained"] names trainable, and nothing else; torch's parameter names by those of the result.

    sharded: whether FSDP divides the model.
    """
    names, peft = {}, []
    for part in run["trained"]:
        parameter = part["parameter"]
        module_name = parameter.removesuffix(".weight")
        if part["kind"] == "whole":
            names[part["tensor"]] = parameter
        elif part["kind"] == "rows":
            weight = model.get_parameter(parameter)
            index = start[part["index"]].long() if "index" in part else torch.arange(part["first"], part["last"])
            rows = Rows(weight, index)
            modules = [each for each in model.modules() if getattr(each, "weight", None) is weight]  # a tied head, too
            if sharded and len(modules) > 1:
                raise SystemExit(NOT_BY_FSDP)
            for module in modules:
                register_parametrization(module, "weight", rows, unsafe=True)
            names[part["tensor"]] = f"{module_name}.parametrizations.weight.0.rows"
        elif part["peft"]:
            peft.append(part)
            names[part["down"]], names[part["up"]] = (f"{module_name}.lora_{x}.default.weight" for x in "AB")
        else:
            pair = LowRank(start[part["down"]], start[part["up"]])
            register_parametrization(model.get_submodule(module_name), "weight", pair)
            names[part["down"]], names[part["up"]] = (
                f"{module_name}.parametrizations.weight.0.{x}" for x in ("down", "up")
            )
    if peft:
        rank, modules = run["options"]["rank"], [part["parameter"].removesuffix(".weight") for part in peft]
        inject_adapter_in_model(LoraConfig(r=rank, lora_alpha=rank, lora_dropout=0.0, target_modules=modules), model)
        with torch.no_grad():
            for key in [part[end] for part in peft for end in ("down", "up")]:
                model.get_parameter(names[key]).copy_(start[key])
    trained = set(names.values())
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name in trained)
    return names


def whole(tensor):
    """A tensor that FSDP has divided, put together: every process has to ask for it."""
    return tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor


# ---- windows


class Windows:
    """Rows of the files in data/, in their order."""

    def __init__(self, files):
        self.shards = [(safe_open(HERE / file["file"], "pt"), file["rows"]) for file in files]
        self.count = sum(file["rows"] for file in files)

    def rows(self, places, keys):
        """The rows at `places`, ascending, of each of `keys`."""
        found = {key: [] for key in keys}
        for place in places:
            shard = 0
            while place >= self.shards[shard][1]:
                place -= self.shards[shard][1]
                shard += 1
            for key in keys:
                found[key].append(self.shards[shard][0].get_slice(key)[place : place + 1])
        return {key: torch.cat(parts) for key, parts in found.items()}


def share(first, count, accelerator):
    """The rows of this process among `count` from `first` on, and how many of them count: all have equally many."""
    size = math.ceil(count / accelerator.num_processes)
    begin = accelerator.process_index * size
    own = [first + min(place, count - 1) for place in range(begin, begin + size)]
    return own, max(0, min(size, count - begin))


def log_chances(model, tokens, counted, document_end):
    """For tokens (b, l + 1): log-probabilities (b, l, v) of what comes next, and targets (b, l)."""
    inputs, targets = tokens[:, :-1], tokens[:, 1:].long()
    places = torch.arange(targets.shape[1], device=tokens.device)
    targets = torch.where(places < counted[:, None], targets, NOT_COUNTED)
    mask = None
    if document_end is not None:  # attention does not look across the end of a document
        ends = F.pad(inputs[:, :-1] == document_end, (1, 0))
        document = ends.cumsum(1)
        mask = (document[:, :, None] == document[:, None, :]).tril()[:, None]
    logits = model(input_ids=inputs, attention_mask=mask, use_cache=False).logits
    return torch.log_softmax(logits.float(), dim=-1), targets


def loss_sum(log_p, targets):
    return F.nll_loss(log_p.flatten(0, 1), targets.flatten(), ignore_index=NOT_COUNTED, reduction="sum")


# ---- the run


class Run:
    """One run; every process has one."""

    def __init__(self, arguments):
        self.accelerator = accelerator = Accelerator()
        self.run = json.loads((HERE / "run.json").read_text("utf-8"))
        self.options, self.data = self.run["options"], self.run["data"]
        if accelerator.is_main_process:
            check_files(self.run["files"])
            RESULT.mkdir(exist_ok=True)
        accelerator.wait_for_everyone()
        self.train, self.held_out = Windows(self.data["train"]), Windows(self.data["held_out"])
        self.schedule = load_file(HERE / self.data["schedule"])
        model = AutoModelForCausalLM.from_pretrained(HERE / "base", dtype=torch.float32)
        start = load_file(HERE / "start.safetensors")
        self.names = choose_parameters(model, self.run, start, accelerator.distributed_type.value == "FSDP")
        if arguments.gradient_checkpointing:
            model.gradient_checkpointing_enable()
        self.micro_batch = arguments.micro_batch or self.options["micro_batch"]
        o, still = self.options, set(self.run["without_decay"])
        found = dict(model.named_parameters())
        groups = [
            {"params": [found[name] for key, name in self.names.items() if (key in still) == flat], "weight_decay": w}
            for flat, w in ((False, o["weight_decay"]), (True, 0.0))
        ]
        optimiser = torch.optim.AdamW(
            [group for group in groups if group["params"]], betas=(o["beta1"], o["beta2"]), eps=o["epsilon"]
        )
        self.model, self.optimiser = accelerator.prepare(model, optimiser)
        self.history = []
        self.began = time.monotonic()

    def trained(self):
        """What is trained, by its name in the result."""
        found = dict(self.accelerator.unwrap_model(self.model).named_parameters())
        return [(key, found[name]) for key, name in self.names.items()]

    def note(self, event, **values):
        """A line of history.jsonl, and of what is printed."""
        line = {"event": event, **values}
        self.history.append(line)
        if self.accelerator.is_main_process:
            print(json.dumps({key: value for key, value in line.items() if key != "memory"}), flush=True)

    def moved(self, rows):
        return {key: tensor.to(self.accelerator.device) for key, tensor in rows.items()}

    def parts(self, rows):
        """The rows of this process, a micro-batch at a time; of equally many rows for all processes."""
        size = self.micro_batch or len(rows)
        return [rows[first : first + size] for first in range(0, len(rows), size)]

    def measure(self):
        """The mean held-out loss, and that of the mixture with the memory (None without)."""
        sums = torch.zeros(3, dtype=torch.float64, device=self.accelerator.device)
        memory = self.data["memory"]
        keys = ["tokens", "counted"] + (["memory_factor", "memory_share"] if memory else [])
        self.model.eval()
        with torch.no_grad():
            size = min(self.micro_batch or MEASURED, MEASURED) * self.accelerator.num_processes
            for first in range(0, self.held_out.count, size):
                count = min(size, self.held_out.count - first)
                places, own = share(first, count, self.accelerator)
                rows = self.moved(self.held_out.rows(places, keys))
                rows["counted"][own:] = 0
                log_p, targets = log_chances(self.model, rows["tokens"], rows["counted"], self.run["document_end"])
                counts = targets != NOT_COUNTED
                sums[0] += loss_sum(log_p, targets)
                sums[1] += counts.sum()
                if memory:
                    best = log_p.max(-1).values.exp().contiguous()
                    bounds = torch.tensor(memory["confidence"], device=best.device)
                    sure = torch.bucketize(best, bounds)[..., None]
                    factor, more = (rows[key].gather(-1, sure)[..., 0] for key in ("memory_factor", "memory_share"))
                    chance = log_p.gather(-1, targets.clamp(min=0)[..., None])[..., 0].exp()
                    sums[2] -= torch.log(factor * chance + more)[counts].sum()
        self.model.train()
        total, count, mixed = self.accelerator.reduce(sums, "sum").tolist()
        return total / count, mixed / count if memory else None

    def step(self, number, rate):
        """Take a step over batch `number`; its loss, the gradient's norm, and whether the weights were changed."""
        o, accelerator = self.options, self.accelerator
        size = o["batch_size"]
        places, own = share((number - 1) * size, size, accelerator)
        rows = self.train.rows(places, ["tokens"])["tokens"].to(accelerator.device)
        length = rows.shape[1] - 1
        counted = torch.full((len(rows),), length, device=rows.device)
        counted[own:] = 0
        targets, total = size * length, torch.zeros(1, dtype=torch.float64, device=rows.device)
        parts = list(zip(self.parts(rows), self.parts(counted), strict=True))
        for place, (part, part_counted) in enumerate(parts):
            last = place == len(parts) - 1
            with contextlib.nullcontext() if last else accelerator.no_sync(self.model):
                loss = loss_sum(*log_chances(self.model, part, part_counted, self.run["document_end"]))
                # The gradients of all processes are averaged, so their sum needs this factor.
                accelerator.backward(loss * (accelerator.num_processes / targets))
            total += loss.detach()
        loss = accelerator.reduce(total, "sum").item() / targets
        norm = accelerator.clip_grad_norm_(self.model.parameters(), o["max_gradient_norm"] or math.inf)
        norm = float(whole(norm))
        applied = math.isfinite(loss) and math.isfinite(norm)
        if applied:
            for group in self.optimiser.param_groups:
                group["lr"] = rate
            self.update()
        self.optimiser.zero_grad()
        return loss, norm, applied

    def update(self):
        """One step of AdamW; with a trust region, no weight changes by more than that."""
        most = self.options["trust_region"]
        trained = [p for group in self.optimiser.param_groups for p in group["params"]] if most else []
        before = [p.detach().clone() for p in trained]
        self.optimiser.step()
        with torch.no_grad():
            for parameter, old in zip(trained, before, strict=True):
                parameter.copy_(old + (parameter - old).clamp(-most, most))

    def go(self):
        o, rates = self.options, self.schedule["learning_rate"].tolist()
        evaluated = self.schedule["evaluated"].tolist()
        trained = sum(parameter.numel() for _, parameter in self.trained())
        processes = self.accelerator.num_processes
        device = f"{processes} × {self.accelerator.device.type} ({self.accelerator.distributed_type.value})"
        tokens = o["batch_size"] * o["sequence_length"]
        own = math.ceil(o["batch_size"] / processes)
        self.note(
            "plan", mode=o["mode"], steps=len(rates), tokens_per_step=tokens, trained_parameters=trained, memory={},
            micro_batches=math.ceil(own / (self.micro_batch or own)), device=device, run=self.run["handoff"],
        )  # fmt: skip
        loss, mixed = self.measure()
        self.note("evaluation", step=0, held_out_loss=loss, best=True)
        found = {"before": loss, "best": loss, "step": 0, "mixed_before": mixed, "mixed": mixed}
        worse = failures = number = 0
        factor, reason = 1.0, "all steps done"
        for number, rate in enumerate(rates, 1):
            began = time.monotonic()
            loss, norm, applied = self.step(number, rate * factor)
            speed = tokens / max(time.monotonic() - began, 1e-9)
            self.note(
                "step", step=number, loss=finite(loss), learning_rate=rate * factor, gradient_norm=finite(norm),
                tokens_per_second=speed, seconds_left=(len(rates) - number) * tokens / speed, memory={},
                applied=applied, progress=number / len(rates),
            )  # fmt: skip
            failures = 0 if applied else failures + 1
            if not applied:
                factor *= 0.5
                text = "The loss or a gradient was not finite: the step was skipped and the learning rate halved."
                self.note("note", step=number, text=text, cause="not finite")
            if failures >= MOST_FAILURES:
                reason = "three steps in a row were not finite"
                break
            if not evaluated[number]:
                continue
            loss, mixed = self.measure()
            best = loss < found["best"]
            self.note("evaluation", step=number, held_out_loss=loss, best=best)
            worse = 0 if best else worse + 1
            if best:
                found |= {"best": loss, "step": number, "mixed": mixed}
                self.write(found, number, "interrupted", weights=True)
            if o["patience"] and worse >= o["patience"]:
                reason = "no longer improving"
                break
        self.note(
            "finished", step=number, reason=reason, held_out_before=found["before"], held_out_after=found["best"],
            best_step=found["step"], rolled_back=not found["step"], seconds=time.monotonic() - self.began,
        )  # fmt: skip
        self.write(found, number, reason)
        self.accelerator.end_training()

    def write(self, found, step, reason, weights=False):
        """The result so far: a run that is killed later leaves the best weights until then."""
        main, kept = self.accelerator.is_main_process, {}
        for key, parameter in self.trained() if weights else ():
            tensor = whole(parameter.detach())
            if main:
                kept[key] = tensor.cpu().contiguous()
        if not main:
            return
        if weights:
            save_file(kept, RESULT / "new.part")  # readable by its owner only
            os.chmod(RESULT / "new.part", (HERE / "run.json").stat().st_mode)
            os.replace(RESULT / "new.part", RESULT / "trained.safetensors")
        (RESULT / "history.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in self.history), "utf-8")
        values = {
            "schema": 1,
            "handoff": self.run["handoff"],
            "run_sha256": sha256(HERE / "run.json"),
            "trained_sha256": sha256(RESULT / "trained.safetensors") if found["step"] else "",
            "step": step,
            "best_step": found["step"],
            "reason": reason,
            "held_out_before": found["before"],
            "held_out_after": found["best"],
            "with_memory_before": found["mixed_before"],
            "with_memory_after": found["mixed"],
            "seconds": time.monotonic() - self.began,
            "processes": self.accelerator.num_processes,
        }
        (RESULT / "result.part").write_text(json.dumps(values, indent=1) + "\n", "utf-8")
        os.replace(RESULT / "result.part", RESULT / "result.json")


def finite(number):
    return number if math.isfinite(number) else None


def sha256(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_files(files):
    """End the run before it begins if a file is not the one that Codecoil wrote."""
    for name, digest in files.items():
        if not (HERE / name).is_file() or sha256(HERE / name) != digest:
            raise SystemExit(f"{name} is missing or was changed since the hand-off. Copy the folder again.")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--micro-batch", type=int, default=0, help="rows that a process computes at once (default: all)"
    )
    parser.add_argument("--gradient-checkpointing", action="store_true", help="less memory, slower, the same result")
    Run(parser.parse_args()).go()
    print(end="", flush=True)
    os._exit(0)  # result/ is complete; on CPUs, taking gloo down may wait for a thread that waits for Python's lock


if __name__ == "__main__":
    main()
