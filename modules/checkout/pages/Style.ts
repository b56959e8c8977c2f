/** The look of the payment page: one fixed text, which its hash allows. The merchant's accent comes beside it. */

/** Light and dark; paper is always light. Grounds are those of `Accent.ts`, text on each reaches 4.5:1. */
const colours = `
:root{color-scheme:light dark;
  --page:#f3f4f7;--card:#ffffff;--field:#f5f6f9;--line:#dfe2e8;--edge:#6b7284;--text:#10131a;--soft:#525a6b;
  --warn:#784803;--warn-ground:#fff2de;--good:#0d6b3b;--good-ground:#e5f6ec;--bad:#a3231b;--bad-ground:#fdeceb;
  --accent:var(--accent-light);--on:var(--on-light)}
@media screen and (prefers-color-scheme:dark){:root{
  --page:#0c0d12;--card:#171a23;--field:#1d212c;--line:#2b303d;--edge:#8b93a7;--text:#eef0f6;--soft:#a6adbe;
  --warn:#ffc46b;--warn-ground:#30220f;--good:#52d88b;--good-ground:#10291b;--bad:#ff9a92;--bad-ground:#371716;
  --accent:var(--accent-dark);--on:var(--on-dark)}}
@media (prefers-contrast:more){:root{--line:var(--edge);--soft:var(--text)}}
`

/** What is true of any page. What a script will show keeps its place from the start, so that nothing moves. */
const base = `
*{box-sizing:border-box;margin:0}
[hidden]{display:none!important}
@media (scripting:enabled){[data-copy][hidden],[data-filter][hidden]{display:block!important;visibility:hidden}}
html{font:100%/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif;-webkit-text-size-adjust:100%}
body{background:var(--page);color:var(--text);padding:min(1rem,4.2vw);overflow-wrap:break-word}
h1{font-size:1.3125rem;line-height:1.3;text-wrap:balance}
h1:focus{outline:none}
h2{font-size:1.0625rem;line-height:1.35}
:is(h1,h2):lang(ja){word-break:auto-phrase}
a{color:var(--accent)}
:focus-visible{outline:3px solid var(--accent);outline-offset:2px}
.soft,.order{color:var(--soft);font-size:.9375rem}
.visually-hidden{position:absolute;inline-size:1px;block-size:1px;overflow:hidden;clip-path:inset(50%);
  white-space:nowrap}
`

/**
 * The card: test mode, merchant and amount above, the screen, what the merchant adds and the page's foot below. The
 * head has the height of its two lines (1.5rem and 1.40625rem) before they are there, and so have the lines themselves:
 * what a slow line brings next moves nothing.
 */
const card = `
.card,.foot{max-width:30rem;margin-inline:auto}
.card{background:var(--card);border:1px solid var(--line);border-radius:1.25rem;overflow:clip;
  box-shadow:0 4px 24px rgb(16 19 26/.07)}
.test{background:var(--warn-ground);color:var(--warn);text-align:center;font-weight:700;font-size:.875rem;
  padding:.4rem 1rem}
.head{display:flex;flex-wrap:wrap;align-items:center;gap:.75rem;padding:1.25rem min(1.5rem,6.2vw);
  min-block-size:calc(5.40625rem + 1px);border-block-end:1px solid var(--line)}
.logo{flex:none;inline-size:2.5rem;block-size:2.5rem;border-radius:.7rem;object-fit:contain}
span.logo{display:grid;place-items:center;background:var(--accent);color:var(--on);font-weight:700}
.who{flex:1 1 6rem;min-inline-size:0;min-block-size:2.90625rem}
.who>*{display:block}
.due{margin-inline-start:auto;max-inline-size:100%;font-size:1.4rem;font-weight:700;overflow-wrap:anywhere}
.due small{display:block;color:var(--soft);font-size:.9375rem;font-weight:400;text-align:end}
main{display:block;padding:1.25rem min(1.5rem,6.2vw) 1.5rem}
section,.ways,.fields,.refund,.way{display:grid;gap:.75rem;grid-template-columns:minmax(0,1fr)}
section{gap:1rem}
#offline{margin-block-end:1rem}
.title{display:grid;grid-template-columns:minmax(0,1fr);gap:.25rem}
.footer{border-block-start:1px solid var(--line);padding:1rem 1.5rem;text-align:center}
.foot{display:flex;flex-wrap:wrap;justify-content:space-between;align-items:center;gap:.5rem;padding:.9rem .5rem}
.foot form{display:flex;flex-wrap:wrap;flex:1 1 11rem;gap:.5rem;min-inline-size:0}
.foot select{flex:1 1 5rem;max-inline-size:11.5rem;padding-inline:.6rem;background:var(--page)}
.foot button{flex:none}
.foot a{flex:none;display:inline-grid;place-items:center;min-block-size:2.75rem;min-inline-size:2.75rem;
  color:var(--soft)}
`

/** The three steps. What is done has a sign beside its colour. */
const steps = `
.steps{display:flex;flex-wrap:wrap;gap:.5rem;list-style:none;padding:0;font-size:.875rem;
  color:var(--soft)}
.steps li{border-block-start:4px solid var(--line);padding-block-start:.35rem;flex:1 1 3rem;word-break:keep-all}
.steps .done{border-color:var(--good)}
.steps .done::before{content:"✓\\a0"}
.steps [aria-current]{border-color:var(--accent);color:var(--text);font-weight:700}
`

/**
 * A route to pay on: wallets, code, fields and clocks. A clock is words until its last quarter. A finger finds the
 * wallet's button and the fields before the code; a desk finds the wallets of its browser and the code first.
 */
const route = `
.qr{display:block;inline-size:min(100%,15rem);aspect-ratio:1;margin-inline:auto;border:1px solid var(--line);
  border-radius:1rem;background:#fff;forced-color-adjust:none}
.timer{display:flex;flex-wrap:wrap;justify-content:space-between;column-gap:1rem;color:var(--soft);
  font-size:.9375rem}
time{font-variant-numeric:tabular-nums;direction:ltr;unicode-bidi:isolate}
.timer time{white-space:nowrap}
.clock:not([data-countdown]) .timer+.timer,.clock:not([data-countdown]) progress,
.clock[data-countdown] .timer:first-child{display:none}
.clock .timer:first-child{justify-content:start;column-gap:.4rem}
@media (scripting:none){.scripted{display:none}}
.route>*{order:1}
@media (pointer:coarse){.scan{order:2}.route>.plain{order:3}}
.scan[open]{padding-block-end:.4rem}
.wallets{display:grid;gap:.5rem;list-style:none;padding:0}
.wallets button{inline-size:100%;display:flex;align-items:center;justify-content:center;gap:.75rem}
.wallets img{inline-size:1.625rem;block-size:1.625rem;border-radius:.4rem}
.timer [data-urgent]{color:var(--warn);font-weight:700}
progress{appearance:none;display:block;inline-size:100%;block-size:.375rem;border:0;border-radius:1rem;
  overflow:hidden;background:var(--line)}
progress::-webkit-progress-bar{background:var(--line)}
progress::-webkit-progress-value{background:var(--accent)}
progress::-moz-progress-bar{background:var(--accent)}
[data-urgent]::-webkit-progress-value{background:var(--warn)}
[data-urgent]::-moz-progress-bar{background:var(--warn)}
.field{display:flex;flex-wrap:wrap;align-items:center;gap:.25rem .75rem;background:var(--field);
  border:1px solid var(--line);border-radius:.9rem;padding-block:.6rem;padding-inline:.9rem .6rem}
.field p{flex:1 1 7rem;min-inline-size:0}
.field .soft{display:block;font-size:.875rem;flex:1 1 7rem}
.long p{display:contents}
.long .value{order:1;flex-basis:100%}
.value{font:600 .9375rem/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;
  overflow-wrap:anywhere;direction:ltr;unicode-bidi:isolate;text-align:start}
.value span{display:inline-block;margin-inline-end:.4em}
[dir=rtl] .value{text-align:end}
[dir=rtl] .value span{margin-inline:.4em 0}
`

/** What is pressed and typed into. */
const controls = `
button,.button,select,input{font:inherit;color:inherit;border-radius:.8rem;min-block-size:2.75rem;
  padding-inline:1rem}
button,.button{display:grid;grid-template-columns:minmax(0,1fr);align-items:center;border:1px solid var(--line);
  background:var(--card);font-weight:700;cursor:pointer;text-align:center;text-decoration:none;color:var(--text);
  padding-block:.5rem}
.button{overflow-wrap:anywhere}
.main{background:var(--accent);color:var(--on);border-color:transparent;min-block-size:3.125rem;inline-size:100%}
.plain{background:none;border-color:transparent;color:var(--accent);inline-size:100%}
button:hover,.button:hover{box-shadow:0 0 0 1px currentColor}
input,select{background:var(--field);border:1px solid var(--edge);inline-size:100%}
[aria-invalid]{border:2px solid var(--bad)}
::placeholder{color:var(--soft);opacity:1}
details{border:1px dashed var(--edge);border-radius:.9rem;padding-inline:.9rem}
summary{padding-block:.6rem;font-weight:700;cursor:pointer}
.trust{border:0;padding:0;color:var(--soft);font-size:.8125rem;overflow-wrap:anywhere}
.trust summary::before{content:"✓ "/""}
.trust summary{display:inline-block;padding-block:.15rem;color:var(--good);font-size:.9375rem;
  text-decoration:underline dotted}
.box{border-style:solid;border-color:var(--line);background:var(--field)}
.box[open]{padding-block-end:.9rem}
details form{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,7rem),1fr));gap:.5rem;
  padding-block:.5rem .9rem}
`

/** Notes, the sign above an end, and facts. */
const words = `
.note{display:flex;gap:.7rem;border-radius:.9rem;padding:.75rem .9rem;font-size:.9375rem}
.note span{min-inline-size:0}
.note svg,.sign svg{flex:none;inline-size:1.25rem;block-size:1.25rem;fill:none;stroke:currentColor;stroke-width:2;
  stroke-linecap:round;stroke-linejoin:round;margin-block-start:.1rem}
.warn{background:var(--warn-ground);color:var(--warn)}
.good{background:var(--good-ground);color:var(--good)}
.bad{background:var(--bad-ground);color:var(--bad)}
.end{justify-items:center;text-align:center}
.end>*{inline-size:100%}
.sign{inline-size:4.5rem!important;block-size:4.5rem;border-radius:50%;display:grid;place-items:center;
  margin-block:.5rem}
.sign svg{inline-size:2rem;block-size:2rem;margin:0}
dl{display:grid;gap:.5rem;font-size:.9375rem}
dl div{display:flex;flex-wrap:wrap;align-items:baseline;justify-content:space-between;column-gap:1rem}
dt{color:var(--soft);text-align:start}
dd{text-align:end;min-inline-size:0;margin-inline-start:auto;overflow-wrap:anywhere}
dd a,.field a{display:inline-block;padding-block:.25rem}
`

/**
 * The list of ways to pay: tiles of currencies, then rows of networks. Its button stays in sight while the list is
 * longer than the window; a window of less than 30 rem would have too little left above it. What gets the focus is
 * scrolled clear of it (WCAG 2.4.11). A browser without `:has` (Firefox 115) shows the focus at the choice itself. The
 * rows stand in a flex box: in a grid, WebKit (2.50) leaves them the height they had in a wider window, and a name of
 * two lines does not fit.
 */
const list = `
.step{display:flex;flex-wrap:wrap;justify-content:space-between;align-items:baseline;column-gap:.75rem;
  margin-block-end:-.4rem}
.coin{flex:none;inline-size:1.75rem;block-size:1.75rem;forced-color-adjust:none}
.coin text{fill:#fff;font-weight:600;text-anchor:middle}
.tiles{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,8.25rem),1fr));gap:.5rem;list-style:none;
  padding:0}
.tiles a{display:flex;align-items:center;gap:.6rem;block-size:100%;min-block-size:3.5rem;padding:.4rem .7rem;
  border:1px solid var(--line);border-radius:.9rem;color:var(--text);text-decoration:none}
.tiles a:hover{box-shadow:0 0 0 1px currentColor}
.tiles span,.row>span{min-inline-size:0}
.tiles b,small{display:block;line-height:1.3}
small,.row .soft{color:var(--soft);font-size:.875rem}
.tiles [aria-current]{border-color:var(--accent);box-shadow:inset 0 0 0 1px var(--accent);background:var(--field)}
fieldset{border:0;padding:0;min-inline-size:0;display:flex;flex-direction:column;gap:.5rem}
.row{display:grid;grid-template-columns:auto auto minmax(0,1fr);align-items:center;column-gap:.75rem;
  min-block-size:3.5rem;padding:.4rem .9rem;border:1px solid var(--line);border-radius:.9rem;cursor:pointer}
.row:has(:checked){border-color:var(--accent);box-shadow:inset 0 0 0 1px var(--accent)}
.row:has(:focus-visible){outline:3px solid var(--accent);outline-offset:2px}
.row:has(:disabled){cursor:default;background:var(--field);color:var(--soft)}
.row input{inline-size:1.25rem;block-size:1.25rem;min-block-size:0;padding:0;margin:0;accent-color:var(--accent)}
@supports selector(:has(a)){.row input{outline:none}}
.row>span{display:flex;flex-wrap:wrap;align-items:center;justify-content:space-between;column-gap:.75rem}
.row>span>*{max-inline-size:100%}
.row .soft{text-align:end}
.row .best{color:var(--good);font-weight:600}
@media (min-height:30rem){html{scroll-padding-block-end:7rem}
.proceed{position:sticky;inset-block-end:0;background:var(--card);margin-block-end:-.75rem;padding-block-end:.75rem;
  box-shadow:0 -.5rem .75rem -.25rem var(--card)}}
`

/** What is different on narrow and wide windows, where motion is no harm, and where a system brings its own colours. */
const surroundings = `
@media (min-width:1024px) and (hover:hover) and (pointer:fine){.wallet{display:none}
.wallets li:first-child button{background:var(--accent);color:var(--on);border-color:transparent;
  min-block-size:3.125rem}}
@media (min-width:40rem){body{padding-block:2rem}}
@media (max-width:24rem){body{padding:.5rem}.head,main{padding-inline:1rem}
.row .soft{flex-basis:100%;text-align:start}}
@media (max-width:30rem){.tiles{grid-template-columns:repeat(auto-fill,minmax(min(100%,5.75rem),1fr))}
.tiles a{gap:.3rem;padding-inline:.4rem;min-block-size:3rem;font-size:.9375rem}.tiles small{display:none}
.tiles .coin{inline-size:1.5rem;block-size:1.5rem}}
@media (prefers-reduced-motion:no-preference){progress::-webkit-progress-value{transition:inline-size .3s}}
@media (prefers-contrast:more){progress{border:1px solid}progress,progress::-webkit-progress-bar{background:none}}
@media (forced-colors:active){.steps [aria-current]{border-color:Highlight}
.tiles [aria-current],.row:has(:checked){outline:2px solid Highlight}
.main,.card,.note,progress{border:1px solid}
progress::-webkit-progress-value{background:Highlight}
progress::-moz-progress-bar{background:Highlight}}
`

/**
 * On paper a page is a receipt: black on white, nothing to press, and what is shortened on a screen whole, since a
 * person types it from there.
 */
const paper = `
@media print{
:root{color-scheme:light;--text:#000;--soft:#000;--warn:#000;--good:#000;--bad:#000;--accent:#fff;--on:#000}
body{padding:0;background:none}
.card{max-width:none;border:0;box-shadow:none}
form,h2,details,.step,.tiles,.foot,.steps,.clock,.wallets,.button,[data-copy],[data-filter]{display:none!important}
a{color:#000;text-decoration:none}
[data-whole]{font-size:0;line-break:anywhere}
[data-whole]::after{content:attr(data-whole);font-size:.8125rem}
}
`

/** Without the breaks, which are for reading it here. */
export const css = [colours, base, card, steps, route, controls, words, list, surroundings, paper].join("")
  .replaceAll(/\n */g, "")
