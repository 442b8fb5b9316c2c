/**
 * What the dashboard does in the browser, as text: it asks for the rollouts once a second, draws them, and sends what a
 * person has confirmed. All that it shows is set as text. No backtick, backslash or dollar brace, so that it stays as written.
 */
export const SCRIPT = `"use strict";
const HOME = "/_sluiceway/rollouts", SVG = "http://www.w3.org/2000/svg", KEPT = 500;
const RUNS = ["checking", "stepping", "awaiting", "paused", "watching", "measuring"];
const UNITS = { first_token: " s", latency: " s", speed: " tokens/s", cost: " $" };
const $ = (id) => document.getElementById(id);
const cards = new Map();
let entries = [], after = 0, skew = 0, seen = null, asked = null;

const put = (node, attributes, kids) => {
  for (const name in attributes) node.setAttribute(name, attributes[name]);
  node.append(...kids);
  return node;
};
const el = (tag, attributes, ...kids) => put(document.createElement(tag), attributes, kids);
const shape = (tag, attributes, ...kids) => put(document.createElementNS(SVG, tag), attributes, kids);
const picture = (box, name, ...kids) => shape("svg", { viewBox: box, role: "img", "aria-label": name }, ...kids);
const say = (id, text) => { if ($(id).textContent !== text) $(id).textContent = text; };
const now = () => Date.now() + skew;
const clock = (at) => new Date(at).toLocaleTimeString();
const percent = (share) => (share * 100).toFixed(1) + " %";
const points = (share) => (share < 0 ? "" : "+") + (share * 100).toFixed(1);
const split = (model, weights) => weights.map(([version, weight]) => model + "@" + version + " " + weight + " %").join(", ");
const span = (ms) => {
  const s = Math.max(0, Math.round(ms / 1000)), pad = (n) => String(n).padStart(2, "0");
  return (s >= 3600 ? Math.floor(s / 3600) + ":" : "") + pad(Math.floor(s / 60) % 60) + ":" + pad(s % 60);
};

async function ask(path, body) {
  const headers = { "x-sluiceway-dashboard": "1" };
  if (body) headers["content-type"] = "application/json";
  const response = await fetch(HOME + path, { method: body ? "POST" : "GET", headers, body: body && JSON.stringify(body), cache: "no-store" });
  const told = await response.json().catch(() => ({}));
  const date = Date.parse(response.headers.get("date") || "");
  if (date && Math.abs(date - now()) > 2000) skew = date - Date.now();
  if (response.ok) return told;
  const error = told.error || {};
  throw new Error([error.message || "The gateway answered " + response.status + ".", error.hint].filter(Boolean).join(" "));
}

async function look() {
  try {
    const stage = await ask("");
    for (let next = after; next !== null; ) {
      const page = await ask("/journal?limit=" + KEPT + "&after=" + next);
      if (page.entries.length) {
        if (seen) say("news", page.entries[page.entries.length - 1].sentence);
        entries = entries.concat(page.entries).slice(-KEPT);
        after = entries[entries.length - 1].number;
      }
      next = page.next;
    }
    seen = Date.now();
    draw(stage);
    say("fault", "");
  } catch (error) {
    say("fault", error.message + (seen ? " What you see is from " + clock(seen) + "." : ""));
  }
}

function draw(stage) {
  say("stage", stage.stage);
  say("state", "release " + stage.release + ", revision " + stage.revision + ", as of " + clock(now()));
  for (const view of stage.models) {
    if (!cards.has(view.model)) cards.set(view.model, card(view.model));
    update(cards.get(view.model), view);
  }
  for (const [model, old] of cards) {
    if (stage.models.some((view) => view.model === model)) continue;
    old.root.remove();
    cards.delete(model);
  }
  fill($("journal"), after, () => entries.slice(-50).reverse().map((entry) =>
    el("li", {}, el("time", { datetime: new Date(entry.at).toISOString() }, new Date(entry.at).toLocaleString()), " ", entry.sentence, " ", el("small", {}, entry.cause))));
}

/** Draws anew only what has changed, so that a screen reader and a selection are left alone. */
function fill(node, key, make) {
  const text = JSON.stringify(key);
  if (node.key === text) return;
  node.key = text;
  node.replaceChildren(...make());
}

function card(model) {
  const parts = {};
  for (const [name, tag] of [["title", "h2"], ["way", "p"], ["wait", "p"], ["left", "p"], ["share", "div"], ["chart", "div"], ["gates", "div"], ["keys", "div"]]) parts[name] = el(tag, { class: name });
  parts.left.setAttribute("role", "timer");
  parts.title.id = "model-" + model;
  for (const name of ["pause", "promote", "rollback"]) {
    parts[name] = el("button", { type: "button" });
    parts[name].addEventListener("click", () => confirm(parts[name].command, parts.view));
    parts.keys.append(parts[name]);
  }
  parts.root = el("article", { "aria-labelledby": parts.title.id }, parts.title, parts.way, parts.wait, parts.left, parts.share, parts.chart, parts.gates, parts.keys);
  $("models").append(parts.root);
  return parts;
}

function update(parts, view) {
  const { model, phase, strategy, weights } = view;
  parts.view = view;
  parts.root.dataset.phase = phase;
  fill(parts.title, [phase, view.platform], () => [model, " ", el("span", { class: "phase" }, view.platform ? "platform" : phase)]);
  const step = view.step === null ? "" : ", step " + (view.step + 1) + " of " + view.steps.length;
  fill(parts.way, [strategy, view.candidates, step], () => [strategy ? strategy + ": " + model + "@" + view.stable + " to " + view.candidates.map((version) => model + "@" + version).join(", ") + step : ""]);
  fill(parts.wait, view.waiting, () => [view.waiting]);
  const left = view.until === null ? "" : span(view.until - now()) + " left";
  if (parts.left.textContent !== left) parts.left.textContent = left;
  fill(parts.share, weights, () => bars(model, weights));
  fill(parts.chart, [after, Math.floor(now() / 5000)], () => [history(view)]);
  const tables = view.readout.length ? view.readout : view.gates.length ? [{ version: view.candidates[0], gates: view.gates }] : [];
  fill(parts.gates, tables, () => tables.map((arm) => gates(model, arm)));
  const runs = RUNS.includes(phase), moves = strategy === "canary" || strategy === "blue-green";
  const paused = phase === "paused";
  button(parts.pause, paused ? "resume" : "pause", paused ? "Resume" : "Pause", model, runs && phase !== "measuring");
  button(parts.promote, "promote", "Promote", model, runs && moves && phase !== "watching");
  button(parts.rollback, "rollback", "Roll back", model, runs || phase === "promoted");
}

function button(node, command, text, model, fit) {
  node.command = command;
  node.disabled = !fit;
  if (node.textContent !== text) node.textContent = text;
  node.setAttribute("aria-label", text + " " + model);
}

function bars(model, weights) {
  let from = 0;
  const rects = weights.map(([, weight], at) => {
    const rect = shape("rect", { x: from, y: 0, width: weight, height: 4, class: "arm" + (at % 4) });
    from += weight;
    return rect;
  });
  const legend = weights.map(([version, weight], at) => el("li", { class: "key" + (at % 4) }, model + "@" + version + " " + weight + " %"));
  const bar = picture("0 0 100 4", split(model, weights), ...rects);
  bar.setAttribute("preserveAspectRatio", "none");
  return [bar, el("ul", { class: "legend" }, ...legend)];
}

/** Weights since the rollout began, stacked as in the bar: stable on the floor. */
function history(view) {
  let own = entries.filter((entry) => entry.model === view.model && entry.weights.length);
  own = own.slice(Math.max(0, own.map((entry) => entry.kind).lastIndexOf("start") - 1));
  const line = own.map((entry) => [entry.at, entry.weights]).concat([[now(), view.weights]]);
  const start = line[0][0], length = Math.max(1, now() - start);
  const order = [...new Set(view.weights.concat(...line.map((point) => point[1])).map(([version]) => version))];
  const share = (weights, upto) => weights.reduce((sum, [version, weight]) => sum + (order.indexOf(version) < upto ? weight : 0), 0);
  const kids = order.map((version, at) => {
    const up = [], down = [];
    line.forEach(([when, weights], place) => {
      const x = ((Math.min(Math.max(when, start), start + length) - start) / length * 300).toFixed(1);
      const old = place ? line[place - 1][1] : weights;
      for (const each of [old, weights]) {
        up.push(x + "," + (60 - share(each, at + 1) * 0.6).toFixed(1));
        down.unshift(x + "," + (60 - share(each, at) * 0.6).toFixed(1));
      }
    });
    return shape("polygon", { points: up.concat(down).join(" "), class: "arm" + (at % 4) });
  });
  const svg = picture("0 0 300 60", "Weights since " + clock(start) + ": now " + split(view.model, view.weights), ...kids);
  svg.setAttribute("preserveAspectRatio", "none");
  return el("figure", {}, svg, el("figcaption", {}, el("span", {}, clock(start)), el("span", {}, "now")));
}

function gates(model, arm) {
  const head = ["gate", model + " stable", model + "@" + arm.version, "difference in points", "verdict"];
  const table = el("table", {}, el("caption", {}, "Gates of " + model + "@" + arm.version),
    el("thead", {}, el("tr", {}, ...head.map((name) => el("th", { scope: "col" }, name)))), el("tbody", {}, ...arm.gates.map(gate)));
  return el("div", { class: "wide", tabindex: 0, role: "region", "aria-label": "Gates of " + model + "@" + arm.version }, table);
}

function gate(one) {
  const name = one.name + (one.slo === null ? "" : " (" + one.slo + (UNITS[one.name] || "") + ")") + (one.mode === "enforce" ? "" : ", " + one.mode);
  const arm = ({ requests, bad }) => bad + " of " + requests + (requests ? " (" + percent(bad / requests) + ")" : "");
  const verdict = one.verdict + (one.reason && one.reason !== one.verdict ? ": " + one.reason : "");
  const proof = "to fail " + Math.round(one.failing * 100) + " %, to pass " + Math.round(one.passing * 100) + " %";
  return el("tr", {}, el("th", { scope: "row" }, name), el("td", {}, arm(one.stable)), el("td", {}, arm(one.candidate)),
    el("td", {}, bound(one)), el("td", { class: one.verdict }, verdict, el("small", {}, proof)));
}

/** The interval on a line with zero and the margin marked. */
function bound({ difference, margin }) {
  if (!difference) return el("span", {}, "-");
  const [low, high] = difference;
  const limit = Math.max(0.01, margin * 2, Math.min(1, Math.max(Math.abs(low), Math.abs(high))));
  const x = (share) => 50 + Math.max(-1, Math.min(1, share / limit)) * 48;
  const text = points(low) + " to " + points(high) + ", margin " + points(margin);
  const mark = (at, name) => shape("line", { x1: x(at), x2: x(at), y1: 0, y2: 12, class: name });
  const svg = picture("0 0 100 12", text, mark(0, "zero"), shape("rect", { x: x(low), y: 4, height: 4, width: Math.max(1, x(high) - x(low)), class: "span" }), mark(margin, "margin"));
  return el("span", {}, svg, el("small", {}, text));
}

function confirm(command, view) {
  const told = { pause: "Pause", resume: "Resume", promote: "Promote", rollback: "Roll back" }[command];
  asked = { command, model: view.model, expect: view.revision };
  say("what", told + " the rollout of " + view.model + "? Now: " + split(view.model, view.weights) + ".");
  $("do").textContent = told;
  $("who").value = localStorage.getItem("who") || "";
  $("why").value = "";
  say("refused", "");
  $("ask").showModal();
}

$("no").addEventListener("click", () => $("ask").close());
$("do").addEventListener("click", async () => {
  const { command, model, expect } = asked;
  const who = $("who").value.trim(), reason = $("why").value.trim();
  localStorage.setItem("who", who);
  $("do").disabled = true;
  try {
    const body = { actor: who || "dashboard", expect };
    if (reason) body.reason = reason;
    await ask("/" + encodeURIComponent(model) + "/" + command, body);
    $("ask").close();
  } catch (error) {
    say("refused", error.message);
  }
  $("do").disabled = false;
  look();
});

(async function loop() {
  await look();
  setTimeout(loop, document.hidden ? 10000 : 1000);
})();
`;
