#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Collects the output of scripts/reproduce.sh in one page per table, with commands, machine and versions at the top.

    reproduced_tables.py OUT_DIR      writes OUT_DIR/tables/"""

import argparse
import pathlib
import re
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests/gpu"))
from checks.programs import environment

# File name of the page, its title, and its results in order: a folder of OUT_DIR and a file in it.
PAGES = [
    ("t01_steps", "T1. Step summary, by precision and without warm-up", [("t1", "sweep.md")]),
    ("t02_sections", "T2 and T6. Where the step goes, and the questions that people ask",
     [(f"t2-{run}", "tables.md") for run in ("medium-512-train-fp32", "medium-512-train-bf16", "small-512-fwd-fp32")]),
    ("t03_matrix", "T3 and T4. All sizes, contexts and modes", [("t3", "sweep.md")]),
    ("t05_attention", "T5. Attention by width and length", [("t5", "attention.md")]),
    ("t08_layers", "T8. The 2.7B model, layer by layer", [(f"t8-2.7B-512-{mode}-fp32", "tables.md") for mode in ("fwd", "fwd_bwd", "train")]),
    ("t11_silu", "T11. SiLU, written out and native", [("t11", "silu.md")]),
    ("t12_loader", "T12. Data loading", [("t12", "loader.md")]),
    ("precisions", "Which operations ran in which type",
     [(f"types-{precision}", "tables.md") for precision in ("fp32", "tf32", "bf16", "fp16", "fp16_scaled")]),
    ("sdpa_backends", "scaled_dot_product_attention by backend",
     [(f"sdpa-{name}", "tables.md") for name in ("auto-bf16", "flash-bf16", "efficient-bf16", "cudnn-bf16", "math-bf16", "auto-fp32")]),
]
# Files that are copied unchanged.
FILES = [
    ("t9/cost.md", "t09_cost.md"),
    ("t13/nsys.md", "t13_nsys.md"),
    ("compiled/aoti.md", "compiled_forward.md"),
    ("fused/gpu_check.md", "fused.md"),
    ("t10-small-512-train-fp32/memory_timeline.svg", "t10_memory_train.svg"),
] + [(f"t7-small-512-fwd-fp32/{name}.csv", f"t07_{name}.csv") for name in
     ("nvtx_pushpop_sum", "cuda_api_sum", "cuda_gpu_kern_sum", "cuda_gpu_mem_time_sum", "cuda_gpu_mem_size_sum", "nvtx_gpu_proj_sum")]
# Sections to show on a page, for runs that have all tables.
SECTIONS = {
    "t02_sections": ("T1", "T2", "T6"),
    "t08_layers": ("T1", "T8"),
    "precisions": ("T1", "Types of"),
    "sdpa_backends": ("T1",),
}


def commands_of(log, folder):
    """@return the trainer's command lines in a log, without folders and output options."""
    lines = log.read_text(encoding="utf-8").splitlines() if log.is_file() else []
    found = [re.sub(r" /\S*/", " ", line[2:].split(" --out ")[0]) for line in lines if line.startswith("$ transformer_train")]
    return list(dict.fromkeys(found)) or [folder]


def printed_lines(log):
    """@return the text of a run outside its tables."""
    starts = ("scaled_dot_product_attention:", "skipped steps:", "loss, nats", "measured loop:")
    return [line for line in log.read_text(encoding="utf-8").splitlines() if line.startswith(starts)] if log.is_file() else []


def chosen(markdown, sections):
    """@return the sections of a document whose titles begin with one of the words."""
    parts = ["## " + part for part in ("\n" + markdown).split("\n## ")[1:]]
    return "\n".join(part for part in parts if sections is None or part[3:].startswith(sections)).replace("\n## ", "\n### ").replace("## ", "### ", 1)


def page(out, name, title, sources, facts):
    lines = [f"# {title}", "", *(f"* {key}: {value}" for key, value in facts.items()), ""]
    for folder, file in sources:
        path = out / folder / file
        if not path.is_file():
            lines += [f"## {folder}", "", "Not produced.", ""]
            continue
        lines += ["## " + folder, "", *("    " + command for command in commands_of(out / f"{folder}.log", folder)), ""]
        lines += [f"* {line}" for line in printed_lines(out / f"{folder}.log")] + [""]
        lines += [chosen(path.read_text(encoding="utf-8"), SECTIONS.get(name)).strip(), ""]
    return "\n".join(lines).strip() + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=pathlib.Path)
    out = parser.parse_args().out
    tables = out / "tables"
    tables.mkdir(exist_ok=True)
    facts = environment()
    for name, title, sources in PAGES:
        (tables / f"{name}.md").write_text(page(out, name, title, sources, facts), encoding="utf-8")
    for source, name in FILES:
        if (out / source).is_file():
            shutil.copyfile(out / source, tables / name)
    missing = [source for source, _ in FILES if not (out / source).is_file()]
    print(f"{len(PAGES)} pages; missing files: {', '.join(missing) or 'none'}")


main()
