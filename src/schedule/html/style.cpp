// The style sheet. Colours c1 to c8 are told apart without colour vision by their lightness and by markers and dashes;
// text has at least 4.5 times the luminance of its ground, or the reverse (WCAG 2.1, 1.4.3).
#include "schedule/html/page.hpp"

namespace tilewright::html {

const char* const kStyle = R"(:root {
  color-scheme: light dark;
  --paper: #fdfdfc; --panel: #f3f5f7; --ink: #1b2026; --soft: #55606c; --rule: #d5dae0; --accent: #0b5aa6;
  --c0: #98a2ad; --c1: #1767b0; --c2: #b84a08; --c3: #1f7a4d; --c4: #7745ad; --c5: #ad2350; --c6: #0d7480; --c7: #866000;
  --c8: #4d5966; --on: #ffffff;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --paper: #14171b; --panel: #1d2228; --ink: #e6e9ec; --soft: #a3adb8; --rule: #363d46; --accent: #7fb8ee;
    --c0: #59636e; --c1: #6cb2f2; --c2: #f29a5c; --c3: #69c796; --c4: #c09cf0; --c5: #f38aa8; --c6: #5cc7d3; --c7: #d9b34a;
    --c8: #aab4bf; --on: #14171b;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body {
  margin: 0 auto; max-width: 68rem; padding: 2rem 1.25rem 4rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  overflow-wrap: break-word;
}
h1 { margin: 0 0 0.5rem; font-size: 1.7rem; line-height: 1.25; letter-spacing: -0.01em; }
h2 { margin: 0 0 0.75rem; font-size: 1.25rem; line-height: 1.3; }
p { margin: 0 0 0.75rem; max-width: 72ch; }
header p, figcaption { color: var(--soft); }
a { color: var(--accent); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
nav { margin: 1.25rem 0 0; border-block: 1px solid var(--rule); }
nav ul { display: flex; flex-wrap: wrap; gap: 0.25rem 1.5rem; margin: 0; padding: 0.6rem 0; list-style: none; }
section { margin-top: 2.5rem; scroll-margin-top: 1rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.2rem 1.25rem; margin: 0 0 0.75rem; }
dt { color: var(--soft); }
dd { margin: 0; min-width: 0; overflow-wrap: anywhere; }
figure { margin: 1rem 0 1.25rem; max-width: 760px; }
figcaption { margin-top: 0.4rem; font-size: 0.875rem; }
.chart-title { margin: 0 0 0.35rem; font-weight: 600; }
svg { display: block; width: 100%; height: auto; }
svg.narrow { display: none; }
svg text { font: 13px system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; fill: var(--ink); }
.legend { display: flex; flex-wrap: wrap; gap: 0.1rem 1.25rem; margin: 0 0 0.5rem; padding: 0; list-style: none; font-size: 0.875rem; }
.legend li { display: flex; align-items: center; gap: 0.4rem; min-width: 0; }
.legend .swatch { flex: none; width: 32px; height: 14px; }
.legend .square { width: 14px; }
.grid { stroke: var(--rule); fill: none; }
.frame { stroke: var(--soft); fill: none; }
.c0 { --c: var(--c0); } .c1 { --c: var(--c1); } .c2 { --c: var(--c2); } .c3 { --c: var(--c3); } .c4 { --c: var(--c4); }
.c5 { --c: var(--c5); } .c6 { --c: var(--c6); } .c7 { --c: var(--c7); } .c8 { --c: var(--c8); }
.line { fill: none; stroke: var(--c); stroke-width: 2; stroke-linejoin: round; }
.c0 .line { stroke-width: 1.25; }
.dashed { stroke-dasharray: 7 4; } .dotted { stroke-dasharray: 2 4; }
.spread { fill: none; stroke: var(--c); stroke-width: 1.5; }
.mark { fill: var(--c); stroke: var(--paper); } .hollow { fill: var(--paper); stroke: var(--c); stroke-width: 2; }
.part { fill: var(--c); stroke: var(--paper); } .part + text { fill: var(--on); }
.left-over { fill: var(--panel); stroke: var(--rule); }
.scroll { position: relative; margin: 0 0 1.25rem; overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.875rem; line-height: 1.4; font-variant-numeric: tabular-nums; }
caption { padding: 0 0 0.4rem; text-align: left; color: var(--soft); }
caption span { display: inline-block; position: sticky; left: 0; min-width: min(28rem, 100vw - 2.5rem); max-width: calc(100vw - 2.5rem); }
th, td { padding: 0.3rem 0.9rem 0.3rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--rule); }
th { font-weight: 400; }
thead th { color: var(--soft); vertical-align: bottom; border-bottom: 1px solid var(--soft); }
.group th { padding-top: 0.9rem; font-weight: 600; }
.number { text-align: right; white-space: nowrap; }
thead .number { white-space: normal; }
.sentence { min-width: 19rem; }
.spoken, caption .spoken { position: absolute; width: 1px; min-width: 0; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
@media screen and (max-width: 640px) {
  body { padding: 1.25rem 1rem 3rem; }
  h1 { font-size: 1.35rem; }
  dl { grid-template-columns: 1fr; gap: 0; }
  dd { margin-bottom: 0.4rem; }
  svg.wide { display: none; }
  svg.narrow { display: block; }
}
@page { size: landscape; margin: 12mm; }
@media print {
  body { max-width: none; padding: 0; font-size: 10pt; }
  nav { display: none; }
  .scroll { overflow: visible; }
  table { font-size: 8pt; }
  th, td { padding-right: 0.5rem; }
  .sentence { min-width: 0; }
  figure, tr { break-inside: avoid; }
  h2, caption, .chart-title, .legend { break-after: avoid; }
  svg, td, th { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
)";

}  // namespace tilewright::html
