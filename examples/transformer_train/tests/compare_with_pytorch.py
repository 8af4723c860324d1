# SPDX-License-Identifier: Apache-2.0
"""The trainer's logits, loss and gradients equal those of a plain PyTorch model with the same weights, in fp32 on the CPU."""

import pathlib
import subprocess
import sys
import tempfile

try:
    import torch
except ImportError:
    print("skipped: this Python has no PyTorch")
    sys.exit(77)

import tensor_file

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "reference"))
import model as reference

LARGEST_RELATIVE_ERROR = 1e-5
SIZE = reference.Size(d_model=128, d_ff=336, layers=3, heads=4)
CTX = 48
LENGTH = 40  # shorter than the context: mask and rotation have to be cut


def make_model(fused, tuned=False):
    torch.manual_seed(1)
    model = reference.Transformer(SIZE, CTX, fused=fused, tuned=tuned)
    with torch.no_grad():
        # As initialised, ones would hide a forgotten scale, and large activations a wrong epsilon.
        model.token_embedding.weight *= 0.02
        for name, parameter in model.named_parameters():
            if "norm" in name:
                parameter += 0.3 * torch.randn_like(parameter)
    return model


def of_pytorch(model, tokens, targets):
    logits = model(tokens)
    loss = reference.loss_of(logits, targets)
    loss.backward()
    gradients = {f"gradient of {name}": parameter.grad for name, parameter in model.named_parameters()}
    return {name: value.detach().numpy() for name, value in ({"logits": logits, "loss": loss} | gradients).items()}


def of_trainer(program, attention, model, tokens, targets):
    with tempfile.TemporaryDirectory() as folder:
        given, made = f"{folder}/given", f"{folder}/made"
        sizes = {"d_model": SIZE.d_model, "d_ff": SIZE.d_ff, "layers": SIZE.layers, "heads": SIZE.heads, "ctx": CTX}
        weights = {name: parameter.detach().numpy() for name, parameter in model.named_parameters()}
        tensor_file.write(given, sizes | weights | {"tokens": tokens.numpy(), "targets": targets.numpy()})
        subprocess.run([program, "values", given, made, attention], check=True)
        return tensor_file.read(made)


def relative_error(value, expected):
    norm = torch.linalg.vector_norm
    value, expected = (torch.as_tensor(x.copy()).double() for x in (value, expected))
    return float(norm(value - expected) / norm(expected))


def compare(what, values, expected):
    assert values.keys() == expected.keys(), f"{what}: {values.keys() ^ expected.keys()} on one side only"
    errors = {}
    for name, value in values.items():
        assert value.shape == expected[name].shape, f"{what}, {name}: shape {value.shape}, expected {expected[name].shape}"
        errors[name] = relative_error(value, expected[name])
    worst = max(errors, key=errors.get)
    print(f"{what}: {len(errors)} tensors, largest relative error {errors[worst]:.2e} ({worst})")
    bad = {name: error for name, error in errors.items() if not error < LARGEST_RELATIVE_ERROR}
    assert not bad, f"{what}: relative error not under {LARGEST_RELATIVE_ERROR}: {bad}"


def check_causality(program, attention, model, tokens, targets, logits):
    changed = tokens.clone()
    changed[:, -1] = (changed[:, -1] + 1) % reference.VOCABULARY
    other = of_trainer(program, attention, model, changed, targets)["logits"]
    assert relative_error(other[:, :-1], logits[:, :-1]) < 1e-6, f"{attention}: a token changes the logits of tokens before it"
    assert relative_error(other[:, -1], logits[:, -1]) > 1e-2, f"{attention}: a token does not change its own logits"


def main():
    (program,) = sys.argv[1:]
    torch.manual_seed(2)
    tokens = torch.randint(reference.VOCABULARY, (2, LENGTH))
    targets = torch.randint(reference.VOCABULARY, (2, LENGTH))
    for attention in ("naive", "sdpa"):
        model = make_model(fused=attention == "sdpa")
        values = of_trainer(program, attention, model, tokens, targets)
        compare(f"trainer, {attention}", values, of_pytorch(model, tokens, targets))
        check_causality(program, attention, model, tokens, targets, values["logits"])
        tuned = of_pytorch(make_model(fused=attention == "sdpa", tuned=True), tokens, targets)
        compare(f"PyTorch with the trainer's operations, {attention}", tuned, values)


if __name__ == "__main__":
    main()
