//! How the page looks, in light and dark, and on paper.

/// Colours are variables, so that plots follow the theme too.
pub(super) const STYLE: &str = "\
:root { color-scheme: light dark; --text: #1d2430; --soft: #5d6675; --back: #ffffff; --line: #d5dae1;
  --main: #0072b2; --noise: #d55e00; --pale: #8fb8d6; --warn: #a33b00; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e6e9ee; --soft: #a3adba; --back: #14181e; --line: #38414d;
    --main: #5cb3e6; --noise: #f0894a; --pale: #3d6482; --warn: #ffb37a; }
}
* { box-sizing: border-box; }
body { font: 15px/1.55 system-ui, sans-serif; color: var(--text); background: var(--back);
  max-width: 66rem; margin: 2rem auto; padding: 0 1.2rem; }
h1 { font-size: 1.6rem; margin-bottom: .5rem; }
h2 { font-size: 1.15rem; margin: 2.2rem 0 .6rem; }
p, ul { max-width: 46rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .9rem .3rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
th { font-weight: 600; }
.facts th, .side th { color: var(--soft); font-weight: 500; white-space: nowrap; }
.numbers td:nth-child(n+2), .numbers th:nth-child(n+2) { text-align: right; }
.guarantee { font-size: 1.1rem; font-weight: 600; }
.warning { color: var(--warn); font-weight: 600; }
.small { color: var(--soft); font-size: .85rem; }
.plots { display: grid; grid-template-columns: repeat(auto-fill, minmax(18.5rem, 1fr)); gap: 1rem; }
.side { display: flex; flex-wrap: wrap; gap: 2rem; align-items: flex-start; }
svg { max-width: 100%; height: auto; display: block; }
svg text { fill: var(--text); font: 11px system-ui, sans-serif; }
svg .soft { fill: var(--soft); }
svg .axis { stroke: var(--soft); fill: none; }
svg .grid { stroke: var(--line); fill: none; }
svg .mean { stroke: var(--main); stroke-width: 2; fill: none; }
svg .records { fill: var(--main); opacity: .55; }
svg .privacy { fill: var(--noise); opacity: .4; }
svg .targets { fill: var(--pale); opacity: .35; }
svg .dot { fill: var(--main); }
svg .spent { fill: var(--main); }
svg .left { fill: var(--line); }
svg .hover { fill: transparent; }
svg .hover:hover { fill: var(--soft); opacity: .25; }
@media print { body { margin: 0; max-width: none; } section, svg { break-inside: avoid; }
  :root { --text: #000; --back: #fff; --soft: #444; --line: #bbb; --main: #0072b2; --noise: #d55e00; --pale: #8fb8d6; } }
";
