// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace profkit::detail {

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

}  // namespace profkit::detail
