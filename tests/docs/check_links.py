#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that links between pages have a target (file and heading), that headers named in pages exist, and that README.md links to every
page of docs/.

usage: check_links.py ROOT
"""
import pathlib
import re
import sys

PAGES = ["*.md", "docs/**/*.md", "examples/**/*.md", "packaging/**/*.md", "tests/**/*.md"]
OTHERS = {"nvtx3.hpp", "host_swap.hpp"}  # of NVIDIA, and of the example in CONTRIBUTING.md


def without_code(text):
    return re.sub(r"^```.*?^```|`[^`\n]*`", "", text, flags=re.MULTILINE | re.DOTALL)


def anchors_of(text):
    """@return the anchors that GitHub creates for headings: lower case, no punctuation, dashes for spaces."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower()).replace(" ", "-") for heading in headings}


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    failures = []
    count = 0
    reached = set()
    headers = {path.name for folder in ("include", "tools", "tests", "bench", "examples") for path in (root / folder).rglob("*.hpp")} | OTHERS
    for page in sorted({path for pattern in PAGES for path in root.glob(pattern)}):
        whole = page.read_text(encoding="utf-8")
        for name in sorted({name for name in re.findall(r"`(?:[\w./]+/)?(\w+\.hpp)`", whole)} - headers):
            if "results" not in page.parts and page.name != "CHANGELOG.md":  # these are about other versions, too
                failures.append(f"{page.relative_to(root)}: there is no header {name}")
        text = without_code(whole)
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            if re.match(r"[a-z]+:", target):
                continue
            count += 1
            file, _, anchor = target.partition("#")
            other = (page.parent / file).resolve() if file else page
            if page.name == "README.md" and page.parent == root:
                reached.add(other)
            if not other.exists():
                failures.append(f"{page.relative_to(root)}: there is no {file}")
            elif anchor and anchor not in anchors_of(other.read_text(encoding="utf-8")):
                failures.append(f"{page.relative_to(root)}: {other.relative_to(root)} has no heading #{anchor}")
    for page in sorted(root.glob("docs/*.md")):
        if page not in reached:
            failures.append(f"README.md does not lead to {page.relative_to(root)}")
    for each in failures:
        print(each)
    print(f"{count} links, {len(failures)} failures")
    return 1 if failures or count == 0 else 0


sys.exit(main())
