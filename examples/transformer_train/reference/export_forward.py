# SPDX-License-Identifier: Apache-2.0
"""Compiles the forward pass of the model and its loss with AOTInductor, for `transformer_train --mode fwd --package FILE`.

The package has no weights: the trainer gives it its own parameters. It fits one configuration, on this kind of CPU or GPU. It prints one
line: the path of the package and its size. Needs a C++ compiler; for a GPU also Triton, which PyTorch contains, and a CUDA toolkit."""

import argparse
import contextlib
import pathlib

import torch

from model import SIZES, Transformer, loss_of

HALF = {"bf16": torch.bfloat16, "fp16": torch.float16}


class Forward(Transformer):
    """The work of a step of `--mode fwd`: tokens and targets to loss. bf16 and fp16 use autocast, as in the trainer."""

    def __init__(self, size, ctx, fused, precision):
        super().__init__(size, ctx, fused=fused)
        self.precision = precision

    def forward(self, tokens, targets):
        half = HALF.get(self.precision)
        with torch.autocast(tokens.device.type, dtype=half) if half else contextlib.nullcontext():
            return loss_of(super().forward(tokens), targets)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", choices=SIZES, default="small")
    parser.add_argument("--ctx", type=int, default=256)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--precision", choices=["fp32", "tf32", "bf16", "fp16"], default="fp32")
    parser.add_argument("--attention", choices=["naive", "sdpa"], default="naive")
    parser.add_argument("--device", choices=["auto", "cpu", "cuda"], default="auto")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("forward.pt2"), help="the package; its name ends in .pt2")
    arguments = parser.parse_args()
    if arguments.out.suffix != ".pt2":
        parser.error(f"--out {arguments.out}: must end in .pt2")
    if arguments.ctx < 1 or arguments.batch < 1:
        parser.error("--ctx and --batch must be at least 1")
    if arguments.device == "auto":
        arguments.device = "cuda" if torch.cuda.is_available() else "cpu"
    if arguments.device == "cuda" and not torch.cuda.is_available():
        parser.error("--device cuda: there is no GPU here, and a package is compiled where it runs; use --device cpu")
    if arguments.device == "cpu" and arguments.precision == "tf32":
        parser.error("--precision tf32: only GPUs compute in TF32; use fp32 or bf16 on the CPU")
    return arguments


def export(arguments):
    device = torch.device(arguments.device)
    torch.set_float32_matmul_precision("high" if arguments.precision == "tf32" else "highest")
    with torch.device("meta"):
        model = Forward(SIZES[arguments.size], arguments.ctx, arguments.attention == "sdpa", arguments.precision)
    # Without initial values: nothing depends on them.
    model.to_empty(device=device)
    # Separate tensors, because the same tensor twice would become one input.
    tokens, targets = (torch.zeros(arguments.batch, arguments.ctx, dtype=torch.long, device=device) for _ in range(2))
    with torch.no_grad():
        return torch.export.export(model, (tokens, targets))


def main():
    arguments = parse_arguments()
    options = ("size", "ctx", "batch", "precision", "attention", "device")
    metadata = {"made_for": "transformer_train"} | {name: str(getattr(arguments, name)) for name in options}
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    settings = {"aot_inductor.metadata": metadata, "aot_inductor.package_constants_in_so": False}
    with torch.no_grad():
        path = torch._inductor.aoti_compile_and_package(export(arguments), package_path=str(arguments.out), inductor_configs=settings)
    print(f"{path}: {pathlib.Path(path).stat().st_size / 2**20:.1f} MiB")


if __name__ == "__main__":
    main()
