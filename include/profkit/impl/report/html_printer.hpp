// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <variant>

#include "../../document.hpp"
#include "../profile/own_containers.hpp"
#include "../profile/own_memory.hpp"
#include "html_boxes.hpp"
#include "html_cells.hpp"
#include "html_page.hpp"
#include "html_plots.hpp"
#include "html_steps.hpp"
#include "html_table.hpp"
#include "numbers.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// The script of a page. It folds, sorts, shows tooltips and enlarges boxes. A page is complete without it. The content security policy of
/// the page allows only this script, by its hash, so that a name that escaped as markup could not run anything.
inline constexpr char const* html_script = R"js(
(()=>{
'use strict';
var D=document,H=D.documentElement,t=new URLSearchParams(location.search).get('theme');
if(t==='dark'||t==='light')H.dataset.theme=t;
H.classList.add('js');
function all(s,e){return Array.from((e||D).querySelectorAll(s))}
function button(text,f){var b=D.createElement('button');b.type='button';b.textContent=text;b.onclick=f;return b}
function ex(b,v){b.setAttribute('aria-expanded',String(v))}
function has(r,c){return r.classList.contains(c)}
function ready(){
all('table').forEach(T=>{
var grouped=has(T,'grouped')&&has(T,'flat'),tree=has(T,'tree'),more=T.querySelector('.more'),root={d:-1,k:[],v:1},nodes=[],path=[root];
all('tbody tr:not(.label)',T).forEach((r,i)=>{
var c=r.cells[0],n={r,i,k:[],c,d:(+c.style.getPropertyValue('--d')||0)+(grouped&&!has(r,'head')?1:0)};
while(path[path.length-1].d>=n.d)path.pop();
path[path.length-1].k.push(n);n.up=path[path.length-1];path.push(n);nodes.push(n);r.node=n});
function show(){nodes.forEach(n=>{n.v=n.up.v&&!n.up.shut;n.r.classList.toggle('folded',!n.v)})}
function set(n,shut){n.shut=shut;ex(n.b,!shut)}
T.reveal=n=>{for(n=n.up;n&&n.b;n=n.up)set(n,false);show()};
if(tree){
nodes.forEach(n=>{if(!n.k.length)return;
var s=n.c.querySelector('span,code');n.b=button(s.textContent,()=>{set(n,!n.shut);show()});s.replaceWith(n.b);set(n,n.first=has(n.r,'shut'))});
show();
var tools=T.closest('.block').querySelector('.tools');
[['Expand all',()=>false],['Collapse',n=>n.d>0||n.up.k.length<2],['As at first',n=>n.first]].forEach(a=>{
tools.append(button(a[0],()=>{nodes.forEach(n=>{if(n.b)set(n,a[1](n))});show()}))});
}
if(more){var L=more.querySelector('.label th'),B=button(L.textContent,()=>{ex(B,!more.classList.toggle('closed'))});
L.textContent='';L.append(B);more.classList.add('closed');ex(B,false)}
function key(n,i){var c=n.r.cells[i];if(!c)return'';var s=c.textContent.trim();if(!has(c,'n'))return s.toLowerCase();
s=s.replace(/,/g,'').replace('\u2212','-');if(s[0]==='<')return 1e-9;s=parseFloat(s);return isNaN(s)?-Infinity:s}
function last(n){return has(n.r,'total')?2:has(n.r,'quiet')?1:0}
function order(i,way){
[root].concat(nodes).forEach(n=>{if(!n.k.some(x=>has(x.r,'head')))n.k.sort((a,b)=>{var l=last(a)-last(b);if(l||i<0)return l&&i>=0?l:a.i-b.i;
var x=key(a,i),y=key(b,i);return x<y?-way:x>y?way:a.i-b.i})})}
all('thead th.n,thead th.t,thead th.c',T).forEach(h=>{
var s=h.querySelector('span'),b=button(s.textContent,()=>{
var was=h.getAttribute('aria-sort'),first=has(h,'n')?'descending':'ascending',now=was===first?(first==='ascending'?'descending':'ascending'):first;
all('thead [aria-sort]',T).forEach(x=>{x.removeAttribute('aria-sort')});h.setAttribute('aria-sort',now);
order(h.cellIndex,now==='ascending'?1:-1);
var body=T.tBodies[0],room=body.rows.length,list=[],rest=[root],n;
while(n=rest.pop()){n.r&&list.push(n.r);n.k.reduceRight((_,x)=>rest.push(x),0)}
list.forEach((r,i)=>{(i<room?body:more).append(r)})});
if(s.textContent)s.replaceWith(b)});
});
function reveal(){var r=location.hash.length>1&&D.getElementById(location.hash.slice(1));if(r&&r.node){r.closest('table').reveal(r.node);r.scrollIntoView({block:'center'})}}
addEventListener('hashchange',reveal);reveal();
var tip=D.createElement('div');tip.id='tip';tip.setAttribute('role','tooltip');tip.hidden=true;D.body.append(tip);
function put(e){var x=e.target.closest&&e.target.closest('[title],[data-t]');if(!x){tip.hidden=true;return}
if(x.title){x.dataset.t=x.title;x.removeAttribute('title')}
tip.textContent=x.dataset.t;tip.hidden=false;
var b=x.getBoundingClientRect(),m=e.clientX||b.left,w=tip.offsetWidth,h=tip.offsetHeight;
tip.style.left=Math.max(4,Math.min(m-w/2,innerWidth-w-4))+'px';tip.style.top=(b.top-h-6<4?b.bottom+6:b.top-h-6)+'px'}
D.addEventListener('mouseover',put);D.addEventListener('focusin',put);addEventListener('scroll',()=>{tip.hidden=true},true);
D.addEventListener('keydown',e=>{if(e.key==='Escape')tip.hidden=true});
all('.icicle').forEach(F=>{
var boxes=all('div',F),at=-1;F.tabIndex=0;F.setAttribute('role','group');
boxes.forEach(b=>{b.l=parseFloat(b.style.left);b.w=parseFloat(b.style.width)});
function zoom(z){var l=z?z.l:0,w=z?z.w:100;boxes.forEach(b=>{
var a=Math.max(0,(b.l-l)*100/w),o=Math.min(100,(b.l+b.w-l)*100/w);b.style.display=o-a<.05?'none':'';b.style.left=a+'%';b.style.width=o-a+'%';
var s=b.querySelector('span');if(!s&&o-a>=3.2){var text=b.title||b.dataset.t;s=D.createElement('span');s.textContent=text.replace(/(.*\/)?(.+): .*/,'$2');b.append(s)}});F.zoomed=z}
F.onclick=e=>{var b=e.target.closest('.icicle div');if(b)zoom(F.zoomed===b?null:b)};
F.onkeydown=e=>{var k=e.key,d=k==='ArrowRight'||k==='ArrowDown'?1:k==='ArrowLeft'||k==='ArrowUp'?-1:0;
if(d){if(at>=0)boxes[at].classList.remove('now');at=Math.max(0,Math.min(boxes.length-1,at+d));boxes[at].classList.add('now');put({target:boxes[at]});e.preventDefault()}
else if(k==='Enter'&&at>=0)zoom(F.zoomed===boxes[at]?null:boxes[at]);else if(k==='Escape')zoom(null)};
});
}
D.addEventListener('DOMContentLoaded',ready);
})();
)js";

/// SHA-256 of `html_script`, in base64, as in a content security policy. Source: W3C Content Security Policy Level 3, section 2.3.1.
inline constexpr char const* html_script_hash = "IfbMLZrjRAmOEhTU4Pemn88puwB/4I/Syd0XZqsm/Po=";

/// Prints a document as one HTML file. The file is readable without scripts, other files and network. The same document results in the same
/// bytes.
class html_printer {
 public:
  explicit html_printer(document const& document) : document_{document}, anchors_{document} {}

  /// The page, of at most `max_html_bytes`. For large documents, tables and figures are shortened; if that does not suffice, sections are
  /// left out. The page says so in both cases.
  [[nodiscard]] own_string print() const {
    for (html_limits limits;; limits = limits.halved()) {
      own_string page = head();
      std::size_t const room = max_html_bytes - std::min(max_html_bytes, page.size() + footer(document_.sections.size()).size());
      own_string sections;
      std::size_t printed = 0;
      for (section const& each : document_.sections) {
        own_string const next = print(each, limits);
        if (sections.size() + next.size() > room) break;
        sections += next;
        ++printed;
      }
      std::size_t const left_out = document_.sections.size() - printed;
      if (left_out == 0 || limits.are_smallest()) return page + sections + footer(left_out);
    }
  }

 private:
  static constexpr std::size_t max_findings = 12;
  static constexpr std::size_t max_key_figures = 16;
  static constexpr std::size_t max_links = 64;

  [[nodiscard]] own_string head() const {
    own_string page = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
    page += own_format(
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{}'; "
        "base-uri 'none'; form-action 'none'\">\n",
        html_script_hash);
    page +=
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light "
        "dark\">\n<title>" +
        html_text(document_.title, max_shown_text) + " &#183; profkit</title>\n<style>\n" + html_style() + "</style>\n<script>" +
        html_script + "</script>\n</head>\n<body>\n<header>\n<p class=\"about\"><b>" + html_text(document_.title, max_shown_text) + "</b>";
    if (!document_.subtitle.empty()) page += " " + html_text(document_.subtitle, 400);
    if (!document_.version.empty()) page += " &#183; " + html_text(document_.version, max_shown_text);
    page += "</p>\n<h1>" + html_text(document_.headline) + "</h1>\n" + findings() + key_figures() + links();
    return page + "</header>\n<main>\n";
  }

  [[nodiscard]] own_string findings() const {
    if (document_.findings.empty()) return {};
    own_string page = "<ol class=\"findings\">\n";
    for (std::size_t i = 0; i < std::min(document_.findings.size(), max_findings); ++i) {
      finding const& each = document_.findings[i];
      page += "<li><b>" + html_text(each.headline) + "</b> " + html_text(each.text);
      if (!each.action.empty()) page += "\n<p>" + action(each) + "</p>";
      page += "</li>\n";
    }
    return page + "</ol>\n";
  }

  /// The action of a finding, with a link to the row of its scope.
  [[nodiscard]] own_string action(finding const& what) const {
    std::string const link = anchors_.link_to(what.scope);
    std::string const name = what.scope.substr(what.scope.rfind('/') + 1);
    std::size_t const at = link.empty() || name.empty() ? std::string::npos : what.action.find(name);
    if (at == std::string::npos) return html_text(what.action);
    return html_text(what.action.substr(0, at)) + "<a href=\"" + link + "\">" + html_text(name) + "</a>" +
           html_text(what.action.substr(at + name.size()));
  }

  [[nodiscard]] own_string key_figures() const {
    if (document_.key_figures.empty()) return {};
    own_string page = "<dl class=\"keys\">\n";
    for (std::size_t i = 0; i < std::min(document_.key_figures.size(), max_key_figures); ++i) {
      key_figure const& each = document_.key_figures[i];
      page += "<div><dt>" + html_text(each.name, max_shown_text) + "</dt>";
      page += each.value.empty() ? own_string{"<dd class=\"v na\">"} + not_measured
                                 : own_string{"<dd class=\"v\">"} + html_text(each.value, max_shown_text);
      page += "</dd><dd>" + html_text(each.note, 400) + "</dd></div>\n";
    }
    return page + "</dl>\n";
  }

  [[nodiscard]] own_string links() const {
    if (document_.sections.size() < 2) return {};
    own_string page = "<nav aria-label=\"Sections\">";
    for (std::size_t i = 0; i < std::min(document_.sections.size(), max_links); ++i) {
      section const& each = document_.sections[i];
      page += "<a href=\"#" + html_id(each.id) + "\">" + html_text(each.title, max_shown_text) + "</a> ";
    }
    return page + "</nav>\n";
  }

  /// The answer of a section. Its first sentence is the finding and is printed bold.
  [[nodiscard]] static own_string answer(std::string const& text) {
    if (text.empty()) return {};
    std::size_t end = std::string::npos;
    for (std::size_t at = text.find(". "); at != std::string::npos; at = text.find(". ", at + 1)) {
      bool const is_number = at + 2 < text.size() && text[at + 2] >= '0' && text[at + 2] <= '9';
      if (is_number) continue;
      end = at + 1;
      break;
    }
    if (end == std::string::npos) return "<p class=\"answer\"><b>" + html_text(text) + "</b></p>\n";
    return "<p class=\"answer\"><b>" + html_text(text.substr(0, end)) + "</b>" + html_text(text.substr(end)) + "</p>\n";
  }

  [[nodiscard]] own_string print(section const& what, html_limits const& limits) const {
    own_string page =
        own_format("<section id=\"{}\">\n<h2>{}</h2>\n{}", html_id(what.id), html_text(what.title, max_shown_text), answer(what.answer));
    own_vector<block const*> blocks = blocks_of(what, block_use::text);
    own_stable_partition(blocks.begin(), blocks.end(), [](block const* each) { return !is_folded(*each); });
    std::size_t const count = std::min(blocks.size(), limits.figures);
    bool is_read = false;
    for (std::size_t i = 0; i < count; ++i) {
      // Printed side by side: two narrow tables, two figures with one scale, or the last narrow table and its explanation.
      bool const is_scale_common = i + 1 < count && has_common_scale(*blocks[i]) && has_common_scale(*blocks[i + 1]);
      bool const is_pair = is_scale_common || (i + 1 < count && is_narrow(*blocks[i], limits) && is_narrow(*blocks[i + 1], limits));
      bool const is_last =
          (i + 1 == count || is_folded(*blocks[i + 1])) && is_narrow(*blocks[i], limits) && !what.how_to_read.empty() && i > 0;
      if (is_pair) {
        page += own_format("<div class=\"beside{}\">\n<div class=\"block\">{}</div>\n<div class=\"block\">{}</div>\n</div>\n",
                           is_scale_common ? " figures" : "", print(*blocks[i], limits), print(*blocks[i + 1], limits));
        ++i;
      } else if (is_last) {
        page += "<div class=\"beside\">\n<div class=\"block\">" + print(*blocks[i], limits) +
                "</div>\n<div class=\"block\"><h3>How to read it</h3>" + how_to_read(what) + "</div>\n</div>\n";
        is_read = true;
      } else {
        if (!is_read && is_folded(*blocks[i]) && !what.how_to_read.empty()) {
          page += how_to_read(what);
          is_read = true;
        }
        page += "<div class=\"block\">" + print(*blocks[i], limits) + "</div>\n";
      }
    }
    if (count < blocks.size())
      page +=
          own_format("<p class=\"note\">{} more tables and figures are not on this page, to keep it small.</p>\n", blocks.size() - count);
    if (!is_read && !what.how_to_read.empty()) page += how_to_read(what);
    return page + "</section>\n";
  }

  [[nodiscard]] static own_string how_to_read(section const& what) { return "<p class=\"how\">" + html_text(what.how_to_read) + "</p>\n"; }

  [[nodiscard]] static bool is_folded(block const& what) {
    data_table const* const table = std::get_if<data_table>(&what);
    return table != nullptr && table->shown_rows == 0;
  }

  [[nodiscard]] static bool has_common_scale(block const& what) {
    figure const* const picture = std::get_if<figure>(&what);
    steps_figure const* const steps = picture == nullptr ? nullptr : std::get_if<steps_figure>(&picture->content);
    return steps != nullptr && steps->common_scale.has_value();
  }

  [[nodiscard]] bool is_narrow(block const& what, html_limits const& limits) const {
    data_table const* const table = std::get_if<data_table>(&what);
    return table != nullptr && !is_folded(what) && html_table{*table, anchors_, limits}.is_narrow();
  }

  [[nodiscard]] own_string print(block const& what, html_limits const& limits) const {
    if (data_table const* const table = std::get_if<data_table>(&what)) return html_table{*table, anchors_, limits}.print();
    if (note const* const text = std::get_if<note>(&what)) return "<p class=\"note\">" + html_text(text->text) + "</p>\n";
    figure const& picture = *std::get_if<figure>(&what);
    own_string content;
    if (auto const* const steps = std::get_if<steps_figure>(&picture.content)) content = html_steps{*steps, limits}.print(picture.finding);
    if (auto const* const bars = std::get_if<bars_figure>(&picture.content)) content = html_bars{*bars, limits}.print(picture.finding);
    if (auto const* const icicle = std::get_if<icicle_figure>(&picture.content))
      content = html_icicle{*icicle, limits}.print(picture.finding);
    if (auto const* const lines = std::get_if<lines_figure>(&picture.content)) content = html_lines{*lines, limits}.print(picture.finding);
    if (auto const* const roofline = std::get_if<roofline_figure>(&picture.content))
      content = html_roofline{*roofline, limits}.print(picture.finding);
    if (auto const* const other = std::get_if<other_figure>(&picture.content)) content = other->html(picture.finding, limits);
    return "<figure>\n" + content + "</figure>\n";
  }

  [[nodiscard]] own_string footer(std::size_t left_out) const {
    own_string page = "</main>\n<footer>";
    if (left_out > 0)
      page += own_format("{} more sections are not on this page, to keep it below 1&nbsp;MB; report.json has all figures. ", left_out);
    return page + html_text(document_.version, max_shown_text) + "</footer>\n</body>\n</html>\n";
  }

  document const& document_;
  html_anchors anchors_;
};

[[gnu::used]] inline own_string html_page(document const& document) { return html_printer{document}.print(); }

}  // namespace PROFKIT_NAMESPACE::detail
