#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs one fuzz target for some time: first the stored corpus, then new inputs that libFuzzer derives from it.

usage: run_fuzz_target.py TARGET CORPUS FOLDER SECONDS LONGEST

TARGET is the program, CORPUS the folder of stored inputs, optionally with a dictionary CORPUS.dict. New inputs go to FOLDER/corpus, failing
ones to FOLDER/findings; an input has at most LONGEST bytes. A crash, an input that takes longer than 10 s, a leak, and more memory than an
input of that size can need are failures.
"""

import pathlib
import shutil
import subprocess
import sys
import time

LIMITS = ["-timeout=10", "-rss_limit_mb=1024", "-malloc_limit_mb=16"]


def main(target, kept, folder, seconds, longest):
    kept, folder = pathlib.Path(kept), pathlib.Path(folder)
    if not any(kept.iterdir()):
        print(f"{kept} is empty")
        return 1
    corpus, findings = folder / "corpus", folder / "findings"
    shutil.rmtree(corpus, ignore_errors=True)
    for each in (corpus, findings):
        each.mkdir(parents=True, exist_ok=True)
    begin = time.time()
    common = [target, *LIMITS, f"-artifact_prefix={findings}/"]
    dictionary = kept.with_suffix(".dict")
    if dictionary.exists():
        common.append(f"-dict={dictionary}")

    command = [*common, f"-max_total_time={seconds}", f"-max_len={longest}", "-print_final_stats=1", str(corpus), str(kept)]
    print(" ".join(command), flush=True)
    status = subprocess.run(command, stderr=subprocess.STDOUT).returncode
    if status != 0:
        print(f"it has failed with {status}; inputs that do:")
        for each in sorted(findings.iterdir()):
            if each.stat().st_mtime >= begin - 1:
                print(f"  {each}")
        return 1
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 6:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
