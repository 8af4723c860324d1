#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Opens report.html in a real browser, with and without scripts, light and dark, wide and narrow. Checks that there are no errors, requests
or overflows, and that all sections exist. Rows fold, tables sort, tooltips appear, and hostile names stay text. Figures are painted, and
their labels do not overlap.

usage: check_pages.py WRITE_PAGES [FILE]...

WRITE_PAGES writes the pages; each FILE is an additional page. Exits with 4 ("skipped") without Chromium.
"""

import base64
import hashlib
import html
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import browser

# Ways to look at a page: width, scheme, whether scripts run. Each pair of values is in one.
WAYS = [(1280, "light", True), (800, "dark", False), (1280, "dark", True), (800, "light", False), (800, "dark", True), (1280, "light", False)]
IN_ALL_WAYS = ["made", "report_tiny-128-train-bf16", "compare_many", "ranks_four"]  # other pages are checked in the first two ways only
MOST_OF_A_RUN = 300_000  # bytes of the report of a training run
RUNS = ("report_small", "report_tiny", "report_validation-", "report_long_run", "compare_", "ranks_")  # pages of training runs
MOST = 1_000_000  # bytes of any page
ALWAYS = {"Steps|Session", "Scopes", "Data quality and overhead"}  # of a report
SECTIONS = {  # of every page of a type, in this order; others may be between them
    "report": ["Steps|Session", "Where the step went", "Picture of the step", "Scopes", "Kernels", "Memory", "Data quality and overhead"],
    "compare": ["Where the change comes from", "All changes", "Runs|Steps", "How sure"],
    "ranks": ["Ranks", "Where the step went", "Rank \u00d7 step", "Collectives", "Scopes that differ", "Host time by stage", "Data quality"],
}

# Collects facts about a page.
SURVEY = r"""(() => {
const all = (s, e = document) => Array.from(e.querySelectorAll(s));
const root = document.documentElement;
const shown = e => e.getClientRects().length > 0 && getComputedStyle(e).visibility !== 'hidden';
const channels = c => (c.match(/[\d.]+/g) || []).map(Number);
const luminance = c => { const [r, g, b] = c.map(v => v / 255).map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4); return .2126 * r + .7152 * g + .0722 * b; };
const background = e => { for (; e; e = e.parentElement) { const s = getComputedStyle(e); if (s.backgroundImage !== 'none') return null;
  const c = channels(s.backgroundColor); if (c.length === 3 || c[3] === 1) return c.slice(0, 3); } return [255, 255, 255]; };
// A heat map with many columns has colours alone; it needs another table.
const has_numbers = table => all('td', table).some(td => /\d/.test(td.textContent));
const faint = [];
for (const e of all('body *').slice(0, 4000)) {
  if (e.closest('script,style') || !shown(e) || ![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())) continue;
  const back = background(e), style = getComputedStyle(e), text = channels(e.closest('svg') ? style.fill : style.color).slice(0, 3);
  if (!back || text.length < 3) continue;
  const [x, y] = [luminance(text), luminance(back)].sort((a, b) => b - a);
  const contrast = (x + .05) / (y + .05);
  if (contrast < 4.5) faint.push(e.tagName + '.' + (e.getAttribute('class') || '') + ' ' + contrast.toFixed(2) + ' ' + e.textContent.trim().slice(0, 40));
}
return {
  overflow: root.scrollWidth - root.clientWidth,
  titles: all('section > h2').map(e => e.textContent),
  broken_links: all('a').filter(a => !document.getElementById((a.getAttribute('href') || '').slice(1))).length,
  tags: [...new Set(all('*').map(e => e.tagName.toLowerCase()))].sort(),
  handlers: all('*').flatMap(e => [...e.attributes]).filter(a => a.name.startsWith('on')).map(a => a.name),
  scripts: all('script').length,
  unlabelled: all('[role=img]').filter(e => !e.getAttribute('aria-label')).length,
  bare_pictures: all('section').filter(e => e.querySelector('[role=img],.icicle') && !all('table', e).some(has_numbers) && e.id !== 'picture').map(e => e.id),
  headless_columns: all('thead th').filter(e => e.scope !== 'col').length,
  ids_twice: all('[id]').length - new Set(all('[id]').map(e => e.id)).size,
  hidden_rows: all('tbody tr').filter(e => !shown(e) && !e.closest('details')).length,
  buttons: all('button').length,
  background: getComputedStyle(root).backgroundColor,
  tables_beyond: all('.scroll').filter(e => e.getBoundingClientRect().right > root.clientWidth + 1).length,
  faint: faint.slice(0, 5),
}})()"""

# Collects positions: sections and figures in order, overlapping labels, and kinds of figures.
STRUCTURE = r"""(() => {
const all = (s, e = document) => Array.from(e.querySelectorAll(s));
const box = e => { const r = e.getBoundingClientRect(); return {left: r.left, top: r.top + scrollY, right: r.right, bottom: r.bottom + scrollY}; };
const common = (a, b) => [Math.min(a.right, b.right) - Math.max(a.left, b.left), Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top)];
const lie_on = (a, b) => { const [x, y] = common(a, b); return x > 1.5 && y > 3; };
const kinds = ['steps', 'stack', 'icicle', 'roofline', 'falls', 'heat', 'lanes', 'pairs', 'lines'];
const kind_of = e => (kinds.find(k => e.querySelector('.' + k)) || 'none') + (e.querySelector('.hosts') ? ' of the host' : '');
const result = {empty: [], unordered: [], overlapping: [], labels: [], figures: []};
let last = -1;
for (const section of all('section')) {
  const place = box(section);
  if (place.bottom - place.top < 20 || place.right - place.left < 20) result.empty.push(section.id);
  if (place.top < last) result.unordered.push(section.id);
  last = place.bottom - 0.5;
  const figures = all('figure', section), boxes = figures.map(box);
  figures.forEach((figure, i) => {
    const name = section.id + ' ' + kind_of(figure);
    if (boxes[i].bottom - boxes[i].top < 10 || boxes[i].right - boxes[i].left < 10) result.empty.push(name);
    if (boxes[i].top < place.top || boxes[i].bottom > place.bottom + 1) result.unordered.push(name);
    for (let k = 0; k < i; ++k) if (lie_on(boxes[i], boxes[k])) result.overlapping.push(name);
    result.figures.push({name, ...boxes[i]});
    const labels = all('svg text,.names span,.part b,.icicle span,.legend span,.falls b,.falls>span,.scale span,th', figure)
      .filter(e => e.textContent.trim() && e.getClientRects().length).slice(0, 600).map(e => ({text: e.textContent.trim().slice(0, 30), ...box(e)}))
      .sort((a, b) => a.top - b.top);
    labels.forEach((a, at) => {
      for (let k = at + 1; k < labels.length && labels[k].top < a.bottom; ++k)
        if (lie_on(a, labels[k])) result.labels.push(name + ': "' + a.text + '" and "' + labels[k].text + '"');
    });
  });
}
return result;
})()"""

# The share of pixels in each rectangle of a screenshot that differ from the colour of the corner.
PAINTED = """async (picture, boxes) => {
const image = new Image();
image.src = 'data:image/png;base64,' + picture;
await image.decode();
const canvas = Object.assign(document.createElement('canvas'), {width: image.width, height: image.height});
const paint = canvas.getContext('2d', {willReadFrequently: true});
paint.drawImage(image, 0, 0);
const back = paint.getImageData(0, 0, 1, 1).data;
return boxes.map(b => {
  const data = paint.getImageData(b.left, b.top, Math.max(1, b.right - b.left), Math.max(1, b.bottom - b.top)).data;
  let other = 0;
  for (let i = 0; i < data.length; i += 4) other += data[i] !== back[0] || data[i + 1] !== back[1] || data[i + 2] !== back[2];
  return 4 * other / data.length;
});
}"""
LEAST_PAINTED = 0.005  # of a figure
HIGHEST = 12_000  # pixels of a page of which a picture is taken

failures = []


def require(truth, what):
    if not truth:
        failures.append(what)
        print("failed: " + what, flush=True)


def check_hash(name, text):
    """The content security policy has the hash of the script. This check also works without a browser."""
    script = re.search(r"<script>(.*?)</script>", text, re.S).group(1)
    wanted = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    require(f"script-src 'sha256-{wanted}'" in text, f"{name}: html_script_hash is not the hash of html_script, which is {wanted}")


def check_page(driver, file, text, has_structure):
    titles = re.findall(r"<h2>(.*?)</h2>", text)
    in_all_ways = file.stem in IN_ALL_WAYS
    for width, scheme, scripts in WAYS if in_all_ways else WAYS[:2]:
        way = f"{file.stem}, {width} px, {scheme}, scripts {'on' if scripts else 'off'}"
        with browser.Page(driver, file.as_uri(), width=width, scheme=scheme, scripts=scripts) as page:
            found = page.evaluate(SURVEY)
            require(found["overflow"] <= 0, f"{way}: the page is {found['overflow']} px too wide")
            require(found["tables_beyond"] == 0, f"{way}: {found['tables_beyond']} tables reach beyond the page")
            require(len(found["titles"]) == len(titles), f"{way}: {len(found['titles'])} of {len(titles)} sections")
            require(not found["bare_pictures"], f"{way}: no table has the numbers of pictures in {found['bare_pictures']}")
            require(found["broken_links"] == 0, f"{way}: {found['broken_links']} links lead nowhere")
            require(found["ids_twice"] == 0, f"{way}: {found['ids_twice']} ids are not unique")
            require(found["scripts"] == 1 and not found["handlers"], f"{way}: scripts {found['scripts']}, handlers {found['handlers']}")
            require(found["unlabelled"] == 0, f"{way}: {found['unlabelled']} pictures have no label")
            require(found["headless_columns"] == 0, f"{way}: {found['headless_columns']} headings have no scope")
            require(not found["faint"], f"{way}: contrast under 4.5: {found['faint']}")
            require((found["background"] == "rgb(255, 255, 255)") == (scheme == "light"), f"{way}: background {found['background']}")
            if scripts:
                tables = page.evaluate("document.querySelectorAll('table').length")
                require(found["buttons"] > 0 or tables == 0, f"{way}: no buttons")
            else:
                require(found["buttons"] == 0, f"{way}: {found['buttons']} buttons that do nothing")
                require(found["hidden_rows"] == 0, f"{way}: {found['hidden_rows']} rows cannot be seen")
            require(not page.complaints(), f"{way}: {page.complaints()[:3]}")
            if has_structure and (width, scheme, scripts) in WAYS[:2]:
                check_structure(driver, page, way, width, scheme == "light" or in_all_ways)


def check_structure(driver, page, way, width, checks_paint):
    found = page.evaluate(STRUCTURE)
    for what in ("empty", "unordered", "overlapping", "labels"):
        require(not found[what], f"{way}: {what}: {found[what][:5]}")
    height = page.evaluate("document.documentElement.scrollHeight")
    if checks_paint and height <= HIGHEST and found["figures"]:
        picture = page.call("Page.captureScreenshot", format="png", captureBeyondViewport=True,
                            clip={"x": 0, "y": 0, "width": width, "height": height, "scale": 1})["data"]
        with browser.Page(driver, "about:blank") as canvas:
            painted = canvas.evaluate(f"({PAINTED})({json.dumps(picture)}, {json.dumps(found['figures'])})")
        blank = [figure["name"] for figure, share in zip(found["figures"], painted) if share < LEAST_PAINTED]
        require(not blank, f"{way}: nothing is painted in {blank}")


def check_report(name, text, recorded):
    require(len(text.encode()) <= (MOST_OF_A_RUN if recorded else MOST), f"{name}: {len(text.encode())} bytes")
    wanted = SECTIONS.get(name.split("_")[0])
    if wanted:
        found = [html.unescape(each) for each in re.findall(r"<h2>(.*?)</h2>", text)]
        titles = [each for each in found if any(each in name.split("|") for name in wanted)]
        if name.startswith("report"):  # without sections of what was not recorded
            wanted = [each for each in wanted if each in ALWAYS or each in titles]
        require(len(titles) == len(wanted) and all(a in b.split("|") for a, b in zip(titles, wanted)), f"{name}: sections {found}")


def check_hostile(driver, file, made_tags):
    with browser.Page(driver, file.as_uri()) as page:
        found = page.evaluate(SURVEY)
        require(set(found["tags"]) <= made_tags, f"{file.stem}: names became elements: {set(found['tags']) - made_tags}")
        require(page.evaluate("typeof hit") == "undefined", f"{file.stem}: a name ran")


def rows_shown(page, table):
    return page.evaluate(f"Array.from(document.querySelectorAll('{table} tbody tr')).filter(e => e.getClientRects().length).length")


def check_folding(driver, file):
    tree = "#scopes table"
    with browser.Page(driver, file.as_uri()) as page:
        at_first = rows_shown(page, tree)
        everything = page.evaluate(f"document.querySelectorAll('{tree} tbody tr').length")
        require(at_first < everything, f"a tree is folded at first: {at_first} of {everything} rows")
        state = f"document.querySelector('{tree} tbody button').getAttribute('aria-expanded')"
        require(page.evaluate(state) == "true", "the root of a tree is open at first")
        page.evaluate(f"document.querySelector('{tree} tbody button').focus()")
        page.press("Enter", text="\r")
        require(page.evaluate(state) == "false" and rows_shown(page, tree) < at_first, "the Enter key folds a row and sets aria-expanded")
        page.press("Enter", text="\r")
        require(page.evaluate(state) == "true" and rows_shown(page, tree) == at_first, "the Enter key opens it again, with what was folded inside it")
        tool = "Array.from(document.querySelectorAll('#scopes .tools button')).find(e => e.textContent === '{}').click()"
        page.evaluate(tool.format("Expand all"))
        require(rows_shown(page, tree) == everything, "Expand all shows every row")
        page.evaluate(tool.format("Collapse"))
        require(rows_shown(page, tree) < at_first, "Collapse leaves the first levels")
        page.evaluate("location.hash = '#row-0'")
        page.evaluate("new Promise(done => setTimeout(done, 100))")
        require(page.evaluate("document.getElementById('row-0').getClientRects().length") == 1, "a link to a folded row opens it")
        page.evaluate(tool.format("As at first"))
        require(rows_shown(page, tree) == at_first, "As at first shows what was shown at first")
        # The rest of the kernels
        kernels = rows_shown(page, "#kernels table")
        button = "document.querySelector('#kernels .more .label button')"
        require(page.evaluate(button + ".getAttribute('aria-expanded')") == "false", "the rest of the kernels is folded at first")
        page.evaluate(button + ".click()")
        require(page.evaluate(button + ".getAttribute('aria-expanded')") == "true" and rows_shown(page, "#kernels table") == kernels + 3, "and opens")
        require(not page.complaints(), f"folding: {page.complaints()[:3]}")


def check_sorting(driver, file):
    with browser.Page(driver, file.as_uri()) as page:
        names = "Array.from(document.querySelectorAll('{} tbody tr:not(.label)')).map(e => e.cells[0].textContent.trim())"
        head = "Array.from(document.querySelectorAll('#kernels thead button')).find(e => e.textContent.startsWith('launches'))"
        values = "Array.from(document.querySelectorAll('#kernels tbody tr:not(.label)')).map(e => +e.cells[5].textContent)"
        require(page.evaluate("document.querySelector('#kernels [aria-sort]').cellIndex") == 2, "kernels are sorted by time at first")
        page.evaluate(head + ".click()")
        found = page.evaluate(values)
        require(found == sorted(found, reverse=True), f"a click sorts from the largest: {found}")
        require(page.evaluate("document.querySelector('#kernels [aria-sort]').getAttribute('aria-sort')") == "descending", "and sets aria-sort")
        require(page.evaluate("document.querySelector('#kernels tbody').rows.length") == 4, "the first rows remain four")
        page.evaluate(head + ".click()")
        found = page.evaluate(values)
        require(found == sorted(found), f"a second click sorts from the smallest: {found}")
        # Siblings of a tree stay below their parent.
        before = page.evaluate(names.format("#scopes table"))
        page.evaluate("document.querySelector('#scopes thead button').click()")
        after = page.evaluate(names.format("#scopes table"))
        require(before != after and sorted(before) == sorted(after), "a tree is sorted and keeps its rows")
        require(after[0] == before[0] and after[1] == "gpt2_backward_and_reduce" and after[2] == "classifier_and_loss", f"children follow their parent: {after[:4]}")
        # The sum of a group stays at its end.
        page.evaluate("document.querySelectorAll('#budget thead button')[1].click()")
        parts = page.evaluate(names.format("#budget table"))
        require([i for i, each in enumerate(parts) if each == "all"] == [6, 10], f"sums stay at the end of their groups: {parts}")
        require(not page.complaints(), f"sorting: {page.complaints()[:3]}")


def check_pointer_and_keys(driver, file):
    with browser.Page(driver, file.as_uri(), height=3000) as page:
        box = "(e => { const r = e.getBoundingClientRect(); return [r.left + r.width / 2, r.top + r.height / 2] })(document.querySelector('.icicle div'))"
        x, y = page.evaluate(box)
        page.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        require("gpt2_backward_and_reduce: 30.8 ms" in page.evaluate("document.getElementById('tip').hidden ? '' : document.getElementById('tip').textContent"), "a tooltip appears")
        page.press("Escape")
        require(page.evaluate("document.getElementById('tip').hidden"), "Escape closes a tooltip")
        width = "document.querySelector('.icicle div').getBoundingClientRect().width"
        narrow = page.evaluate(width)
        for kind in ("mousePressed", "mouseReleased"):
            page.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
        wide = page.evaluate(width)
        require(wide > narrow * 1.3, f"a click enlarges a box: {narrow} to {wide} px")
        page.evaluate("document.querySelector('.icicle').focus()")
        page.press("Escape")
        require(abs(page.evaluate(width) - narrow) < 1, "Escape shows the whole picture")
        page.press("ArrowRight")
        page.press("Enter", text="\r")
        require(page.evaluate(width) > narrow * 1.3, "and so do the keys")
        require(not page.complaints(), f"pointer: {page.complaints()[:3]}")


def check_theme_and_print(driver, file):
    for theme, is_light in (("dark", False), ("light", True)):
        with browser.Page(driver, f"{file.as_uri()}?theme={theme}", scheme="light" if theme == "dark" else "dark") as page:
            found = page.evaluate(SURVEY)
            require((found["background"] == "rgb(255, 255, 255)") == is_light, f"?theme={theme}: background {found['background']}")
    with browser.Page(driver, file.as_uri(), scheme="dark", media="print") as page:
        require(page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgb(255, 255, 255)", "a print is light")
        require(page.evaluate("document.querySelector('.tools').getClientRects().length") == 0, "a print has no buttons to fold")
        require(page.evaluate("Array.from(document.querySelectorAll('.more tr')).every(e => e.getClientRects().length)"), "a print has all kernels")


def main(program, files):
    with tempfile.TemporaryDirectory(prefix="profkit-pages-") as folder:
        subprocess.run([program, folder], check=True)
        pages = sorted(pathlib.Path(folder).glob("*.html")) + [pathlib.Path(each).resolve() for each in files]
        texts = {each: each.read_text(encoding="utf-8") for each in pages}
        for each in pages:
            check_hash(each.stem, texts[each])
            check_report(each.stem, texts[each], each.stem.startswith(RUNS))
        path = browser.find()
        if path is None:
            print("no chromium on PATH: skipped")
            return 1 if failures else 4
        made = next(each for each in pages if each.stem == "made")
        with browser.Browser(path) as driver:
            with browser.Page(driver, made.as_uri()) as page:
                made_tags = set(page.evaluate(SURVEY)["tags"])
            for each in pages:
                check_page(driver, each, texts[each], not each.stem.startswith(("hostile", "huge", "empty")))
                if "hostile" in each.stem:
                    check_hostile(driver, each, made_tags)
            for check in (check_folding, check_sorting, check_pointer_and_keys, check_theme_and_print):
                check(driver, made)
    print(f"{len(pages)} pages, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2:]))
