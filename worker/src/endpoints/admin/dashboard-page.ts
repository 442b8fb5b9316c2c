export const STYLE = `:root{color-scheme:light dark;--ink:#1b1f24;--page:#fff;--card:#f5f7f9;--soft:#59636e;--line:#ccd3da;--a0:#2f6fb0;--a1:#c2621b;--a2:#3d8a4f;--a3:#8a4fb0;--pass:#1f6f33;--fail:#b3261e;--open:#805900}
@media(prefers-color-scheme:dark){:root{--ink:#e4e8ec;--page:#11151a;--card:#1b2128;--soft:#a3adb8;--line:#3a434d;--a0:#6aa9e9;--a1:#ef9a57;--a2:#76c48a;--a3:#c08ee6;--pass:#7fd394;--fail:#ff8a80;--open:#e8bb5a}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1rem;max-width:70rem;font:16px/1.45 system-ui,sans-serif;color:var(--ink);background:var(--page)}
h1{font-size:1.3rem;margin:0}h2{font-size:1.1rem;margin:0 0 .3rem;overflow-wrap:anywhere}p{margin:.2rem 0;overflow-wrap:anywhere}
#state,.way,small,caption{color:var(--soft);font-size:.85rem}small{display:block;font-weight:400}
#fault,#refused{color:var(--fail);font-weight:600}#news{min-height:1.45em}
#models{display:grid;align-items:start;gap:1rem;grid-template-columns:repeat(auto-fill,minmax(min(100%,30rem),1fr));margin:1rem 0}
article{background:var(--card);border:1px solid var(--line);border-radius:.5rem;padding:1rem;min-width:0}
article[data-phase=rolled-back],article[data-phase=aborted]{border-color:var(--fail)}
h2 span{font-size:.8rem;font-weight:400;border:1px solid;border-radius:1rem;padding:.1rem .6rem;white-space:nowrap}
.left{font-variant-numeric:tabular-nums;font-weight:600}
svg{display:block;width:100%}.share svg{height:1rem;border-radius:.25rem}.chart svg{height:4rem;margin-top:.6rem}
.arm0{fill:var(--a0);border-color:var(--a0)}.arm1{fill:var(--a1);border-color:var(--a1)}.arm2{fill:var(--a2);border-color:var(--a2)}.arm3{fill:var(--a3);border-color:var(--a3)}
article ul{list-style:none;margin:.3rem 0;padding:0;display:flex;flex-wrap:wrap;gap:.2rem 1rem}article li{border-left-style:solid;border-left-width:.8rem;padding-left:.4rem}
.wide{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:.9rem}caption{text-align:left}
th,td{text-align:left;vertical-align:top;padding:.3rem .6rem .3rem 0;border-top:1px solid var(--line)}td svg{min-width:7rem;height:.8rem}
.zero{stroke:var(--soft)}.margin{stroke:var(--fail);stroke-width:1.5}
.pass{color:var(--pass)}.fail{color:var(--fail);font-weight:600}.inconclusive{color:var(--open)}
button{font:inherit;min-height:2.75rem;min-width:6rem;padding:.4rem 1rem;border:1px solid var(--line);border-radius:.4rem;background:var(--page);color:var(--ink);cursor:pointer}
button:disabled{opacity:.45;cursor:default}:focus-visible{outline:3px solid var(--a0);outline-offset:2px}
.keys{display:flex;flex-wrap:wrap;gap:.5rem;margin-top:.8rem}.keys button{flex:1}
dialog{color:inherit;background:var(--card);border:1px solid var(--line);border-radius:.5rem;max-width:min(30rem,92vw)}dialog::backdrop{background:#0008}
label{display:block;margin:.6rem 0}input{display:block;width:100%;font:inherit;padding:.5rem;color:inherit;background:var(--page);border:1px solid var(--line);border-radius:.3rem}
#journal{list-style:none;padding:0}#journal li{padding:.4rem 0;border-top:1px solid var(--line);overflow-wrap:anywhere}`;

/** The page. It holds nothing of the stage: all that comes later, as text. */
export const pageOf = (script: string): string => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>Rollouts</title><link rel="icon" href="data:,"><style>${STYLE}</style></head><body>
<header><h1>Rollouts of <span id="stage">this stage</span></h1><p id="state"></p><p id="news" role="status" aria-live="polite"></p><p id="fault" role="alert"></p></header>
<main><div id="models"></div>
<section aria-labelledby="log"><h2 id="log">Journal</h2><ol id="journal"></ol></section></main>
<dialog id="ask" aria-labelledby="what"><p id="what"></p>
<label>Your name, for the journal<input id="who" maxlength="60" autocomplete="username"></label>
<label>Reason, if you like<input id="why" maxlength="200" autocomplete="off"></label>
<p id="refused" role="alert"></p>
<p class="keys"><button type="button" id="no">Cancel</button><button type="button" id="do"></button></p></dialog>
<noscript>This page needs JavaScript. In a shell: sluiceway rollout list</noscript>
<script>${script}</script></body></html>
`;
