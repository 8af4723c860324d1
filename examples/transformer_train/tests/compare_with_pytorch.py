# SPDX-License-Identifier: Apache-2.0
"""The trainer equals a plain PyTorch model with the same weights, in fp32 on the CPU: logits, loss and gradients, and the weights after
steps with loss scaling, clipping and each optimizer."""

import math
import pathlib
import subprocess
import sys
import tempfile

try:
    import torch
except ImportError:
    print("skipped: this Python has no PyTorch")
    sys.exit(77)

import numpy

import tensor_file

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "reference"))
import model as reference

LARGEST_RELATIVE_ERROR = 1e-5
# AdamW turns gradients that are little more than rounding errors into full-size steps.
LARGEST_ERROR_OF_UPDATES = 1e-2
SIZE = reference.Size(d_model=128, d_ff=336, layers=3, heads=4)
CTX = 48
LENGTH = 40  # shorter than the context, so mask and rotation must be cut


def make_model(fused, tuned=False):
    torch.manual_seed(1)
    model = reference.Transformer(SIZE, CTX, fused=fused, tuned=tuned)
    with torch.no_grad():
        # With initial values, scales of one would hide a forgotten scale, and large activations a wrong epsilon.
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


def run(program, command, tensors, *arguments):
    with tempfile.TemporaryDirectory() as folder:
        given, made = f"{folder}/given", f"{folder}/made"
        tensor_file.write(given, tensors)
        subprocess.run([program, "model", command, given, made, *arguments], check=True)
        return tensor_file.read(made)


def weights_of(model):
    return {name: parameter.detach().numpy().copy() for name, parameter in model.named_parameters()}


def input_of(model, tokens, targets):
    sizes = {"d_model": SIZE.d_model, "d_ff": SIZE.d_ff, "layers": SIZE.layers, "heads": SIZE.heads, "ctx": CTX}
    return sizes | weights_of(model) | {"tokens": tokens.numpy(), "targets": targets.numpy()}


def of_trainer(program, attention, model, tokens, targets):
    return run(program, "values", input_of(model, tokens, targets), attention)


def relative_error(value, expected):
    norm = torch.linalg.vector_norm
    value, expected = (torch.as_tensor(x.copy()).double() for x in (value, expected))
    return float(norm(value - expected) / norm(expected))


def compare(what, values, expected, largest=LARGEST_RELATIVE_ERROR):
    assert values.keys() == expected.keys(), f"{what}: {values.keys() ^ expected.keys()} on one side only"
    errors = {}
    for name, value in values.items():
        assert value.shape == expected[name].shape, f"{what}, {name}: shape {value.shape}, expected {expected[name].shape}"
        errors[name] = relative_error(value, expected[name])
    worst = max(errors, key=errors.get)
    print(f"{what}: {len(errors)} tensors, largest relative error {errors[worst]:.2e} ({worst})")
    bad = {name: error for name, error in errors.items() if not error < largest}
    assert not bad, f"{what}: relative error not under {largest}: {bad}"


def check_causality(program, attention, model, tokens, targets, logits):
    changed = tokens.clone()
    changed[:, -1] = (changed[:, -1] + 1) % reference.VOCABULARY
    other = of_trainer(program, attention, model, changed, targets)["logits"]
    assert relative_error(other[:, :-1], logits[:, :-1]) < 1e-6, f"{attention}: a token changes the logits of tokens before it"
    assert relative_error(other[:, -1], logits[:, -1]) > 1e-2, f"{attention}: a token does not change its own logits"


def check_clipping(program):
    torch.manual_seed(3)
    gradients = {f"gradient {i}": torch.randn(shape) for i, shape in enumerate([(7, 5), (300,), (2, 3, 4), ()])}
    norm = float(torch.linalg.vector_norm(torch.cat([gradient.flatten() for gradient in gradients.values()])))
    for largest in (0.5 * norm, 1e-3 * norm, 2 * norm):
        made = run(program, "clip", {name: value.numpy() for name, value in gradients.items()} | {"largest norm": largest})
        expected = {name: torch.nn.Parameter(value) for name, value in gradients.items()}
        for name, parameter in expected.items():
            parameter.grad = gradients[name].clone()
        torch.nn.utils.clip_grad_norm_(expected.values(), largest)
        compare(f"gradients of norm {norm:.3f} clipped to {largest:.3f}", made, {name: p.grad.numpy() for name, p in expected.items()})
        clipped = float(numpy.sqrt(sum(numpy.square(value, dtype=numpy.float64).sum() for value in made.values())))
        assert math.isclose(clipped, min(norm, largest), rel_tol=1e-5), (clipped, norm, largest)
        if largest > norm:
            assert all(numpy.array_equal(made[name], value.numpy()) for name, value in gradients.items()), "small gradients were changed"


# Factors of the losses, so that some gradients overflow and others need clipping.
LOSS_FACTORS = [1.0, 300.0, math.inf, 0.02, 1.0, math.nan, 5.0]
LEARNING_RATE = 1e-3


def train_settings(scale, max_norm, factors):
    settings = {"learning rate": LEARNING_RATE, "largest norm": max_norm, "loss factors": numpy.array(factors)}
    return settings | ({"scale": scale, "growth interval": 2} if scale else {})


def train_with_pytorch(model, tokens, targets, optimizer, scale, max_norm, factors):
    parameters = list(model.parameters())
    adamw = torch.optim.AdamW(parameters, lr=LEARNING_RATE, fused=optimizer == "fused_adamw", foreach=False)
    scaler = torch.amp.GradScaler("cpu", init_scale=scale or 1.0, growth_interval=2, enabled=scale is not None)
    scales = []
    for factor in factors:
        scaler.scale(reference.loss_of(model(tokens), targets) * factor).backward()
        if max_norm:
            scaler.unscale_(adamw)
            torch.nn.utils.clip_grad_norm_(parameters, max_norm)
        scaler.step(adamw)
        scaler.update()
        adamw.zero_grad(set_to_none=True)
        scales.append(scaler.get_scale())
    skipped = sum(after < before for before, after in zip([scale, *scales], scales)) if scale else 0
    return weights_of(model) | ({"scales": numpy.array(scales, "f4"), "skipped steps": numpy.array(skipped, "f4")} if scale else {})


def check_training(program, tokens, targets):
    finite = [factor for factor in LOSS_FACTORS if math.isfinite(factor)]
    for optimizer in ("adamw", "fused_adamw"):
        for scale, max_norm, factors in ((None, 0.0, finite), (None, 1.0, finite), (1024.0, 0.0, LOSS_FACTORS), (1024.0, 1.0, LOSS_FACTORS)):
            what = f"{optimizer}, loss scale {scale}, largest norm {max_norm}"
            model = make_model(fused=True)
            before = weights_of(model)
            given = input_of(model, tokens, targets) | train_settings(scale, max_norm, factors)
            made = run(program, "train", given, "fp32", optimizer)
            expected = train_with_pytorch(model, tokens, targets, optimizer, scale, max_norm, factors)
            if scale:
                assert numpy.array_equal(made.pop("scales"), expected.pop("scales")), f"{what}: the scales differ from PyTorch's"
                assert made.pop("skipped steps") == expected.pop("skipped steps") == 2, f"{what}: not two steps skipped"
            made, expected = ({name: weights[name] - before[name] for name in before} for weights in (made, expected))
            compare(f"weights after training, {what}", made, expected, LARGEST_ERROR_OF_UPDATES)


def check_overflow(program, tokens, targets):
    """In real fp16 with a scale that is too large: it halves until gradients no longer overflow, and until then no weight changes."""
    given = input_of(make_model(fused=False), tokens, targets)
    before = weights_of(make_model(fused=False))
    scale = 2.0**20
    for optimizer in ("adamw", "fused_adamw"):
        made = run(program, "train", given | train_settings(scale, 0.0, [1.0]), "fp16_scaled", optimizer)
        assert all(numpy.array_equal(made[name], before[name]) for name in before), f"{optimizer}: weights change in a step that overflows"
        assert made["scales"] == [scale / 2] and made["skipped steps"] == 1, made

        made = run(program, "train", given | train_settings(scale, 0.0, [1.0] * 10), "fp16_scaled", optimizer)
        skipped = int(made["skipped steps"])
        print(f"fp16, {optimizer}: {skipped} of 10 steps skipped, scale {made['scales'][-1]}")
        falls = sum(after < before for before, after in zip([scale, *made["scales"]], made["scales"]))
        assert 2 <= skipped < 10 and falls == skipped, made
        assert all(numpy.isfinite(made[name]).all() and not numpy.array_equal(made[name], before[name]) for name in before), optimizer


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
    check_clipping(program)
    check_training(program, tokens, targets)
    check_overflow(program, tokens, targets)


if __name__ == "__main__":
    main()
