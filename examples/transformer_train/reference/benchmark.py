# SPDX-License-Identifier: Apache-2.0
"""Times the trainer's model in PyTorch, eager or compiled, and prints JSON. As in the trainer, nothing waits for the device from the first
to the last measured step. The exception is GradScaler with optimizers that are not fused.

`loop_ms` is the time from the beginning of the first measured step to the end of the last, per step, like the trainer's `measured loop`."""

import argparse
import contextlib
import json
import statistics
import sys
import time

import torch

from model import SIZES, VOCABULARY, Transformer, loss_of


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", choices=SIZES, default="small")
    parser.add_argument("--ctx", type=int, default=256)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--mode", choices=["fwd", "fwd_bwd", "train"], default="train")
    parser.add_argument("--precision", choices=["fp32", "tf32", "bf16", "fp16", "fp16_scaled"], default="fp32")
    parser.add_argument("--attention", choices=["naive", "sdpa"], default="naive")
    parser.add_argument("--optimizer", choices=["adamw", "fused_adamw"], default="adamw")
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--clip-grad", type=float, default=0.0, help="maximum 2-norm of all gradients; 0 disables clipping")
    parser.add_argument("--warmup", type=int, default=5)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--device", choices=["auto", "cpu", "cuda"], default="auto")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--profiler", choices=["none", "cuda", "cpu+cuda"], default="none",
                        help="run under torch.profiler, including the warm-up; the end of the profiler is not timed")
    parser.add_argument("--turns", action="store_true", help="measure once for each line on stdin, with the same model")
    parser.add_argument("--compile", choices=["none", "default", "reduce-overhead"], default="none",
                        help="compile model and loss with torch.compile in this mode, in the first warm-up steps")
    parser.add_argument("--tuned", action="store_true", help="use the operations that the trainer uses")
    arguments = parser.parse_args()
    if arguments.clip_grad and arguments.mode == "fwd":
        parser.error("--clip-grad needs a backward pass")
    return arguments


def make_step(arguments, device):
    cuda = device.type == "cuda"
    torch.manual_seed(arguments.seed)
    torch.set_float32_matmul_precision("high" if arguments.precision == "tf32" else "highest")
    half = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp16_scaled": torch.float16}.get(arguments.precision)
    with device:
        model = Transformer(SIZES[arguments.size], arguments.ctx, fused=arguments.attention == "sdpa", tuned=arguments.tuned)

    def compute(tokens, targets):
        return loss_of(model(tokens), targets)

    if arguments.compile != "none":
        compute = torch.compile(compute, mode=None if arguments.compile == "default" else arguments.compile)
    # None means PyTorch's default: on a GPU the multi-tensor implementation.
    fused = True if arguments.optimizer == "fused_adamw" else None
    optimizer = torch.optim.AdamW(model.parameters(), lr=arguments.lr, fused=fused) if arguments.mode == "train" else None
    parameters = list(model.parameters())
    scaler = torch.amp.GradScaler(device.type, enabled=arguments.precision == "fp16_scaled")
    # Unscaling needs an optimizer, which only tells it the parameters.
    owner = optimizer or torch.optim.SGD(parameters)

    def step():
        both = torch.randint(VOCABULARY, (arguments.batch, arguments.ctx + 1))
        both = torch.stack((both[:, :-1], both[:, 1:]))
        if cuda:
            both = both.pin_memory()
        tokens, targets = both.to(device, non_blocking=True)
        if arguments.compile == "reduce-overhead":
            torch.compiler.cudagraph_mark_step_begin()
        with torch.autocast(device.type, dtype=half) if half else contextlib.nullcontext():
            loss = compute(tokens, targets)
        if arguments.mode == "fwd":
            return
        scaler.scale(loss).backward()
        if arguments.clip_grad or not optimizer:
            scaler.unscale_(owner)
        if arguments.clip_grad:
            torch.nn.utils.clip_grad_norm_(parameters, arguments.clip_grad)
        if optimizer:
            scaler.step(optimizer)
        scaler.update()
        if optimizer:
            optimizer.zero_grad(set_to_none=True)
        else:
            for parameter in parameters:
                parameter.grad = None

    return step


def time_on_cuda(step, warmup, steps):
    """@return the time of each step, and the time from the beginning of the first to the end of the last, in ms."""
    for _ in range(warmup):
        step()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    events = []
    for _ in range(steps):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        step()
        end.record()
        events.append((begin, end))
    torch.cuda.synchronize()
    return [begin.elapsed_time(end) for begin, end in events], events[0][0].elapsed_time(events[-1][1])


def time_on_cpu(step, warmup, steps):
    for _ in range(warmup):
        step()
    times = []
    first = time.perf_counter()
    for _ in range(steps):
        begin = time.perf_counter()
        step()
        times.append(1e3 * (time.perf_counter() - begin))
    return times, 1e3 * (time.perf_counter() - first)


def profiler(which):
    if which == "none":
        return contextlib.nullcontext()
    activities = [torch.profiler.ProfilerActivity.CUDA]
    if which == "cpu+cuda":
        activities.append(torch.profiler.ProfilerActivity.CPU)
    return torch.profiler.profile(activities=activities)


def measure(arguments, step, cuda):
    result = {}
    with profiler(arguments.profiler):
        times, loop = (time_on_cuda if cuda else time_on_cpu)(step, arguments.warmup, arguments.steps)
    result["mean_ms"] = statistics.mean(times)
    result["std_ms"] = statistics.stdev(times) if len(times) > 1 else None
    result["median_ms"] = statistics.median(times)
    result["loop_ms"] = loop / len(times)
    result["tokens_per_second"] = 1e3 * arguments.batch * arguments.ctx / result["mean_ms"]
    if cuda:
        result["peak_allocated_MiB"] = torch.cuda.max_memory_allocated() / 2**20
        result["peak_reserved_MiB"] = torch.cuda.max_memory_reserved() / 2**20
    return result


def main():
    arguments = parse_arguments()
    cuda = arguments.device == "cuda" or (arguments.device == "auto" and torch.cuda.is_available())
    device = torch.device("cuda" if cuda else "cpu")
    result = vars(arguments) | {"device": device.type, "torch": torch.__version__, "status": "ok"}
    try:
        with torch.set_grad_enabled(arguments.mode != "fwd"):
            step = make_step(arguments, device)
            for _ in sys.stdin if arguments.turns else range(1):
                print(json.dumps(result | measure(arguments, step, cuda)), flush=True)
    except torch.OutOfMemoryError:
        print(json.dumps(result | {"status": "OOM"}))


if __name__ == "__main__":
    main()
