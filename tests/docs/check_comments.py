#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the doc comments of the public names: those of namespace profkit without detail, and the macros.

Every class, function, destructor, enumerator, member and macro has its own doc comment: one with `@brief` before it, or `///<` after it.
In the headers with public names together, at least 30 % of the lines that are not blank have a comment.

usage: check_comments.py ROOT
"""
import pathlib
import re
import sys

MIN_SHARE = 0.30
HELPERS = r"PROFKIT_(JOIN|FIRST|NAMESPACE_|VARIABLE|FUNCTION_|ABI_TAG|TAGGED_|MPI_)"  # macros that only other macros use
COMMENT_OR_TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])+\'', re.S)
TEMPLATE = r"(template ?<.*?> ?)?"
# Forward declarations, and functions that need no description or inherit it.
EXEMPT = re.compile(r"(using namespace|friend|static_assert|namespace|extern|" + TEMPLATE +
                    r"(class|struct|union|enum( class)?) (PROFKIT_\w+ )?[\w:]+( : [\w:]+)?;)|[^~]*= (delete|default);|[^~]*\boverride\b|"
                    r"\[\[gnu::used\]\]|[^(]*\w::~?\w+\(")  # defined here, declared elsewhere


def declarations(code):
    """Yields (first line, last line, text, names around it) of the public declarations. `code` is without comments, texts and preprocessor lines."""
    scopes, text, first, last, line, nested = [["file", True, ""]], "", 0, 0, 1, 0  # a scope: [kind, whether its names are public, its name]
    for c in code:
        line += c == "\n"
        kind = scopes[-1][0]
        if kind == "body" or nested:  # a function, an initialiser, or inside parentheses
            nested += (c in "{(") - (c in "})")
            if kind != "body":
                text += c
            elif nested < 0:
                scopes.pop()
                nested = 0
        elif c == ":" and text.strip() in ("public", "protected", "private"):
            scopes[-1][1], text = text.strip() != "private", ""
        elif c in "{};" or (c == "," and kind == "enum"):
            words = re.sub(r"\s+", " ", text).strip()
            if len(scopes) > 1 and all(each[1] for each in scopes) and re.match(r"[\w~:[]", words):
                yield first, last if c == "}" else line, words + c, [each[2] for each in scopes if each[2]]
            opened = re.match(TEMPLATE + r"(namespace|class|struct|union|enum)\b", words)
            named = re.search(r"\b(?:struct|union|enum|class) (?!class\b)(?:PROFKIT_\w+ |\[\[.*?\]\] )*([\w:]+)", words)
            if c == "}":
                scopes.pop()
            elif c == "{" and opened and opened[2] == "namespace":
                scopes.append(["namespace", words.startswith("namespace PROFKIT_NAMESPACE") and "detail" not in words, ""])
            elif c == "{":
                scopes.append([opened[2], opened[2] != "class" and len(scopes) > 1, named[1] if named else ""] if opened else ["body", False, ""])
            text = ""
        else:
            first = line if not text.strip() else first
            last = last if c.isspace() else line
            text += c
            nested += c == "("


def public_names(text):
    """Yields (first line, last line, text, names around it) of the public declarations and macros of a header."""
    code = COMMENT_OR_TEXT.sub(lambda found: ("" if found[0][0] == "/" else '""') + "\n" * found[0].count("\n"), text)
    for found in re.finditer(rf"^#define (?!{HELPERS})(PROF\w+(\([^)]*\))?)", code, re.M):
        line = code.count("\n", 0, found.start()) + 1
        yield line, line, "#define " + found[2], []
    yield from declarations(re.sub(r"^ *#(\\\n|.)*", lambda found: "\n" * found[0].count("\n"), code, flags=re.M))


def main():
    include, missing, total, commented = pathlib.Path(sys.argv[1]) / "include", [], 0, 0
    for file in sorted(include.rglob("*.hpp")):
        text = file.read_text(encoding="utf-8")
        lines, used, described, others = [""] + text.splitlines(), set(), set(), []  # used: a comment describes one name
        for first, last, words, _ in public_names(text):
            before = first - 1
            while lines[before].lstrip().startswith("///"):
                before -= 1
            has_brief = "@brief" in "".join(lines[before:first])
            own = ({first - 1} if has_brief else {each for each in range(first, last + 1) if "///<" in lines[each]}) - used
            used |= own
            (described.add(words) if own else others.append((first, words)))
        missing += [f"{file}:{first}: no @brief and no ///<: {words[:80]}" for first, words in others
                    if not EXEMPT.match(words) and not (words[0] == "#" and words in described)]  # a macro may have several definitions
        if described:
            total += sum(1 for each in lines if each.strip())
            commented += sum(each[0].count("\n") + 1 for each in COMMENT_OR_TEXT.finditer(text) if each[0][0] == "/")
    print("\n".join(missing + [f"{commented} of {total} lines have a comment: {commented / total:.1%}; at least {MIN_SHARE:.0%} is wanted"]))
    return 1 if missing or commented < MIN_SHARE * total else 0


if __name__ == "__main__":
    sys.exit(main())
