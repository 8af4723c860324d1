#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares docs/troubleshooting.md with the code: each message that profkit throws, prints or puts into a report has a row, and vice versa.

A message is the text in `error{...}`, in `fail(...)` and the like, in output to stderr, in `#error`, and in the texts of reports that TEXTS matches. Its
string literals are its fixed parts, with any text between them. In the page, <...> stands for variable text.

usage: check_messages.py ROOT [--list]      --list: the fixed parts of each message, and where it is
"""
import pathlib
import re
import sys

PAGE = "docs/troubleshooting.md"
SOURCES = ["include/profkit/**/*.hpp", "tools/profkit/*.[ch]pp", "tools/profkit/control/*.[ch]pp", "tools/profkit/stuck/*.hpp"]
CALLS = ["error{", "ValidationError{", "fail(", "cannot_make(", "complain(", "refusal{", "warn(", "fprintf(stderr, ", "fmt::print(stderr, "]
# Texts of reports about missing or wrong data.
TEXTS = {
    "include/profkit/impl/report/quality_section.hpp": r"inline std::string clock_change_text.*?(?=overhead: )|inline std::string coverage_text.*?\n\}\n",
    "include/profkit/impl/session/session_recording.hpp": r"\"between steps only\"[^\n]*|why_not_shared\(\).*?;",
    "include/profkit/impl/session/session_impl.hpp": r"why_no_answer\(\) const \{.*?\n  \}|why_not_collected\(collector const& added\) \{.*?\n  \}",
    "include/profkit/impl/session/session_ending.hpp": r"sizeof text,.*?;",
    "include/profkit/impl/report/headline.hpp": r"\"GPU clocks: n/a[^\n]*|\"not read after[^\n]*|inline std::string run_ahead_text.*?\n}|\"; the GPU takes longer[^\n]*|return why_not_collected[^\n]*|return \"kernels were collected in no[^\n]*",
    "include/profkit/impl/report/kernels_section.hpp": r"\"none: no kernel ran[^\n]*",
    "include/profkit/impl/report/work_section.hpp": r"[^\n]*is impossible[^\n]*",
    "include/profkit/impl/profile/make_profile_builder.hpp": r"std::string const left_out =.*?;\n|\*at = \{[^\n]*",
    "include/profkit/impl/profile/record_fields.hpp": r"return \"a newer profkit.*?;\n",
    "tools/profkit/comparison_words.hpp": r"fmt::format\(\"\{\} is slower[^;]*;|fmt::format\(\"undecided[^;]*;|fmt::format\(\"estimate:[^;]*;|result.action \+= \"the machines differ[^;]*;|return \"host speed: unknown[^;]*;",
    "include/profkit/impl/analyze/work/model_flops.hpp": r"why_no_peaks? =.*?;",
}
SECTIONS_OF_OTHERS = {"Nothing happens", "CMake"}  # messages of compilers and CMake
CMAKE_FILES = ["CMakeLists.txt", "cmake/profkit-config.cmake.in"]
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
PLACEHOLDER = re.compile(r"<[^<>]+>")
FORMAT_FIELD = re.compile(r"\{[^{}]*\}|%(?:ll)?[a-z]\b")
MIN_LETTERS = 6


def tokens_of(text):
    """Yields literals as ("literal", value), everything else character by character as ("code", c)."""
    position = 0
    while position < len(text):
        literal = LITERAL.match(text, position)
        if literal:
            yield "literal", literal.group(1).replace('\\"', '"').replace("\\n", "").replace("\\\\", "\\"), literal.end()
            position = literal.end()
        else:
            yield "code", text[position], position + 1
            position += 1


def inside_brackets(text):
    """@return the text up to the bracket that closes the one before the text."""
    depth = 1
    for kind, value, end in tokens_of(text):
        if kind == "code":
            depth += (value in "({[") - (value in ")}]")
            if depth == 0:
                return text[:end - 1]
    return text


def statements_of(text):
    begin = 0
    for kind, value, end in tokens_of(text):
        if kind == "code" and value == ";":
            yield text[begin:end]
            begin = end
    yield text[begin:]


def fixed_parts(expression):
    """@return the literals in order, with adjacent ones joined. A comma or a choice (c ? "a" : "b") between two begins another message."""
    messages, between = [[]], ""
    for kind, value, _ in tokens_of(expression):
        if kind == "code":
            between += value
            continue
        if re.search(r"[,?]|(?<!:):(?!:)", between):
            messages.append([])
        if messages[-1] and between.strip() == "":
            messages[-1][-1] += value
        else:
            messages[-1].append(value)
        between = ""
    return [normal(piece for part in parts for piece in FORMAT_FIELD.split(part)) for parts in messages]


def normal(pieces):
    return tuple(piece.strip() for piece in pieces if piece.strip())


def says_something(parts):
    """@return False for messages that only forward other messages, as in "<call>: <error>", and for names of calls."""
    text = " ".join(parts)
    return len(re.findall(r"[A-Za-z]", text)) >= MIN_LETTERS and " " in text


def messages_in(root):
    """@return the fixed parts of each message, with its file."""
    result = {}
    for path in sorted(path for pattern in SOURCES for path in root.glob(pattern)):
        text = re.sub(r"^\s*//[^\n]*", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
        where = path.relative_to(root).as_posix()
        expressions = [inside_brackets(text[match.end():]) for call in CALLS for match in re.finditer(r"(?<!\w)" + re.escape(call), text)]
        found = list(re.finditer(TEXTS.get(where, r"(?!)"), text, re.DOTALL))
        if where in TEXTS and not found:
            sys.exit(f"{where} has no text such as {TEXTS[where]}: TEXTS of {sys.argv[0]} has to follow")
        for match in found:
            expressions.extend(statements_of(match.group()))
        for text_of_compiler in re.findall(r'#\s*error "([^"]*)"', text):
            result.setdefault(normal(PLACEHOLDER.split(text_of_compiler)), where)
        for expression in expressions:
            for parts in filter(says_something, fixed_parts(expression)):
                result.setdefault(parts, where)
    return result


def messages_of_page(page):
    """Yields the code spans in the first cells of the tables, by section."""
    for section in re.split(r"^## ", page, flags=re.MULTILINE)[1:]:
        title = section.splitlines()[0]
        for line in section.splitlines():
            if line.startswith("| `"):
                yield from ((title, message) for message in re.findall(r"`([^`]+)`", line.split(" | ")[0]))


def main():
    root = pathlib.Path(sys.argv[1])
    in_code = messages_in(root)
    if "--list" in sys.argv:
        for parts, where in in_code.items():
            print(f"{where}: {' <...> '.join(parts)}")
        return 0
    rows = list(messages_of_page((root / PAGE).read_text(encoding="utf-8")))
    in_page = {normal(PLACEHOLDER.split(message)): message for section, message in rows if section not in SECTIONS_OF_OTHERS}
    failures = [f"{where}: {PAGE} has no row for: {' <...> '.join(parts)}" for parts, where in in_code.items() if parts not in in_page]
    failures += [f"{PAGE}: nothing says: {message}" for parts, message in in_page.items() if says_something(parts) and parts not in in_code]
    cmake = "\n".join((root / name).read_text(encoding="utf-8") for name in CMAKE_FILES)
    failures += [f"{PAGE}: no CMake file says: {message}" for section, message in rows if section == "CMake"
                 for piece in normal(PLACEHOLDER.split(message)) if piece not in cmake]
    for each in failures:
        print(each)
    print(f"{len(in_code)} messages in the code, {len(in_page)} in the page, {len(failures)} failures")
    return 1 if failures or not in_code else 0


sys.exit(main())
