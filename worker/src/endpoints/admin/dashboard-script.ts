// @ts-nocheck: it runs in a browser, whose types are not the Worker's.

/**
 * What the dashboard does in the browser: it asks for the rollouts once a second, draws them, and sends what a person
 * has confirmed. All that it shows is set as text. It goes there as the text of this function, which the bundle has
 * shortened, and so may name nothing that stands outside of it.
 */
function dashboard() {
  // A page opened as https://user:key@host can make no call whose URL is relative to its own.
  const HOME = `${location.origin}/_sluiceway/rollouts`;
  const UNITS = { first_token: " s", latency: " s", speed: " tokens/s", cost: " $" };
  const $ = (id) => document.getElementById(id);
  const cards = new Map();
  let entries = [];
  let after = 0;
  let seen = 0;
  let asked = [];

  const put = (node, attributes, kids) => {
    for (const name in attributes) node.setAttribute(name, attributes[name]);
    node.append(...kids);
    return node;
  };
  const el = (tag, attributes, ...kids) => put(document.createElement(tag), attributes, kids);
  const shape = (tag, attributes, ...kids) =>
    put(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, kids);
  const picture = (width, height, name, kids) =>
    shape(
      "svg",
      { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img", "aria-label": name },
      ...kids,
    );
  // What is as before is left alone: a screen reader, a selection, the focus.
  const fill = (node, ...kids) => {
    const made = put(node.cloneNode(), {}, kids);
    if (!made.isEqualNode(node)) node.replaceChildren(...made.childNodes);
  };
  const say = (id, text) => fill($(id), text);
  const clock = (at) => new Date(at).toLocaleTimeString();
  const percent = (share) => `${(share * 100).toFixed(1)} %`;
  const points = (share) => (share < 0 ? "" : "+") + (share * 100).toFixed(1);
  const split = (model, weights) => weights.map(([version, weight]) => `${model}@${version} ${weight} %`);
  const two = (n) => String(Math.floor(n)).padStart(2, "0");

  async function ask(path, body) {
    const response = await fetch(HOME + path, {
      method: body ? "POST" : "GET",
      headers: { "x-sluiceway-dashboard": "1", "content-type": "application/json" },
      body: body && JSON.stringify(body),
    });
    const told = await response.json().catch(() => ({}));
    if (response.ok) return told;
    const { message, hint } = told.error || {};
    throw new Error(`${message || `The gateway answered ${response.status}.`} ${hint || ""}`);
  }

  async function look() {
    try {
      const stage = await ask("");
      for (let next = after; next !== null; ) {
        const page = await ask(`/journal?limit=500&after=${next}`);
        for (const entry of page.entries) {
          if (seen) say("news", entry.sentence);
          after = entry.number;
        }
        entries = entries.concat(page.entries).slice(-500);
        next = page.next;
      }
      seen = Date.now();
      draw(stage);
      say("fault", "");
    } catch (error) {
      say("fault", error.message + (seen ? ` What you see is from ${clock(seen)}.` : ""));
    }
  }

  function draw(stage) {
    say("stage", stage.stage);
    say("state", `release ${stage.release}, revision ${stage.revision}, as of ${clock(seen)}`);
    for (const view of stage.models) {
      if (!cards.has(view.model)) cards.set(view.model, card(view.model));
      update(cards.get(view.model), view);
    }
    for (const [model, { root }] of cards) root.hidden = !stage.models.some((view) => view.model === model);
    fill(
      $("journal"),
      ...entries
        .slice(-50)
        .reverse()
        .map((entry) =>
          el("li", {}, el("small", {}, `${new Date(entry.at).toLocaleString()}, ${entry.cause}`), entry.sentence),
        ),
    );
  }

  function card(model) {
    const parts = { title: el("h2", { id: `model-${model}` }) };
    for (const name of ["way", "wait", "left", "share", "chart", "gates", "keys"])
      parts[name] = el("div", { class: name });
    for (const name of ["pause", "promote", "rollback"]) {
      const key = el("button", { type: "button" });
      parts[name] = key;
      key.onclick = () => confirm(key.act, key.textContent, parts.view);
      parts.keys.append(key);
    }
    parts.left.setAttribute("role", "timer");
    parts.root = el(
      "article",
      { "aria-labelledby": `model-${model}` },
      ...["title", "way", "wait", "left", "share", "chart", "gates", "keys"].map((name) => parts[name]),
    );
    $("models").append(parts.root);
    return parts;
  }

  function update(parts, view) {
    const { model, phase, strategy, weights, until } = view;
    const left = Math.max(0, until - seen) / 1000;
    parts.view = view;
    parts.root.dataset.phase = phase;
    fill(parts.title, `${model} `, el("span", {}, view.platform ? "platform" : phase));
    fill(
      parts.way,
      strategy
        ? strategy +
            ": " +
            model +
            "@" +
            view.stable +
            " to " +
            view.candidates.map((version) => `${model}@${version}`).join(", ") +
            (view.step === null ? "" : `, step ${view.step + 1} of ${view.steps.length}`)
        : "",
    );
    fill(parts.wait, view.waiting);
    fill(
      parts.left,
      until === null
        ? ""
        : `${(left < 3600 ? "" : `${Math.floor(left / 3600)}:`) + two((left / 60) % 60)}:${two(left % 60)} left`,
    );
    fill(parts.share, ...bars(model, weights));
    fill(parts.chart, ...chart(view), ...medians(view));
    fill(
      parts.gates,
      ...(view.readout.length
        ? view.readout
        : view.gates.length
          ? [{ version: view.candidates[0], gates: view.gates }]
          : []
      ).map((arm) => gates(model, arm)),
    );
    const runs = ["checking", "stepping", "awaiting", "paused", "watching"].includes(phase),
      paused = phase === "paused";
    const key = (node, act, text, fit) => {
      node.act = act;
      node.disabled = !fit;
      node.setAttribute("aria-label", `${text} ${model}`);
      fill(node, text);
    };
    key(parts.pause, paused ? "resume" : "pause", paused ? "Resume" : "Pause", runs);
    key(parts.promote, "promote", "Promote", runs && phase !== "watching");
    key(parts.rollback, "rollback", "Roll back", runs || phase === "measuring" || phase === "promoted");
  }

  function bars(model, weights) {
    let from = 0;
    const name = split(model, weights);
    return [
      picture(
        100,
        4,
        name.join(", "),
        weights.map(([, width], at) => {
          from += width;
          return shape("rect", { x: from - width, width, height: 4, class: `arm${at % 4}` });
        }),
      ),
      el("ul", {}, ...name.map((text, at) => el("li", { class: `arm${at % 4}` }, text))),
    ];
  }

  // Weights since the rollout began, stacked as in the bar: stable on the floor.
  // Where half of a version's requests stayed under, since the rollout began.
  function medians({ model, figures }) {
    return (figures?.versions ?? []).map(({ version, requests, first_token, total }) => {
      const half = (histogram) => {
        const all = histogram.reduce((sum, count) => sum + count, 0);
        let upto = 0;
        const place = histogram.findIndex((count) => {
          upto += count;
          return upto * 2 >= all;
        });
        return all === 0 ? "-" : `${(2 ** ((place + 1) / figures.per_doubling) / 1000).toPrecision(2)} s`;
      };
      const text = `${model}@${version}: half of ${requests} within ${half(total)}, first token ${half(first_token)}`;
      return el("small", { class: "median" }, text);
    });
  }

  function chart({ model, weights }) {
    const own = entries.filter((entry) => entry.model === model && entry.weights.length);
    const line = own
      .slice(Math.max(0, own.map((entry) => entry.kind).lastIndexOf("start") - 1))
      .map((entry) => [entry.at, entry.weights]);
    line.push([seen, weights]);
    if (line.length < 2) return [];
    const start = line[0][0];
    const order = [...new Set([weights, ...line.map(([, each]) => each)].flat().map(([version]) => version))];
    const y = (each, upto) =>
      60 - 0.6 * each.reduce((sum, [version, weight]) => sum + (order.indexOf(version) < upto ? weight : 0), 0);
    const areas = order.map((_, at) => {
      const up = [],
        down = [];
      line.forEach(([when, each], place) => {
        const x = Math.round(Math.min(1, Math.max(0, (when - start) / (seen - start || 1))) * 300);
        for (const held of [line[Math.max(0, place - 1)][1], each]) {
          up.push(`${x},${y(held, at + 1)}`);
          down.unshift(`${x},${y(held, at)}`);
        }
      });
      return shape("polygon", { points: up.concat(down).join(" "), class: `arm${at % 4}` });
    });
    return [picture(300, 60, `Weights since ${clock(start)}`, areas), el("small", {}, `${clock(start)} to now`)];
  }

  function gates(model, arm) {
    const name = `${model}@${arm.version}`,
      title = `Gates of ${name}`;
    const head = ["gate", "verdict", "stable", name, "difference in points"].map((text) =>
      el("th", { scope: "col" }, text),
    );
    return el(
      "div",
      { class: "wide", tabindex: 0, role: "region", "aria-label": title },
      el(
        "table",
        {},
        el("caption", {}, title),
        el("thead", {}, el("tr", {}, ...head)),
        el("tbody", {}, ...arm.gates.map(gate)),
      ),
    );
  }

  function gate({ name, slo, mode, stable, candidate, difference, margin, verdict, reason, failing, passing }) {
    const arm = ({ requests, bad }) =>
      el("td", {}, `${bad} of ${requests}${requests ? ` (${percent(bad / requests)})` : ""}`);
    return el(
      "tr",
      {},
      el(
        "th",
        { scope: "row" },
        name + (slo === null ? "" : ` (${slo}${UNITS[name] || ""})`) + (mode === "enforce" ? "" : `, ${mode}`),
      ),
      el(
        "td",
        { class: verdict },
        verdict + (reason && reason !== verdict ? `: ${reason}` : ""),
        el("small", {}, `to fail ${percent(failing)}, to pass ${percent(passing)}`),
      ),
      arm(stable),
      arm(candidate),
      el("td", {}, ...(difference ? bound(difference, margin) : ["-"])),
    );
  }

  // The interval on a line with zero and the margin marked.
  function bound([low, high], margin) {
    const limit = Math.max(0.01, margin * 2, -low, high);
    const x = (share) => 50 + (share / limit) * 48;
    const text = `${points(low)} to ${points(high)}, margin ${points(margin)}`;
    const mark = (at, name) => shape("line", { x1: x(at), x2: x(at), y2: 12, class: name });
    return [
      picture(100, 12, text, [
        mark(0, "zero"),
        shape("rect", { x: x(low), y: 4, height: 4, width: Math.max(1, x(high) - x(low)), class: "arm0" }),
        mark(margin, "margin"),
      ]),
      el("small", {}, text),
    ];
  }

  function confirm(act, told, { model, weights, revision }) {
    asked = [`/${encodeURIComponent(model)}/${act}`, revision];
    say("what", `${told} the rollout of ${model}? Now: ${split(model, weights).join(", ")}.`);
    say("do", told);
    say("refused", "");
    $("who").value = localStorage.who || "";
    $("why").value = "";
    $("ask").showModal();
  }

  $("no").onclick = () => $("ask").close();
  $("do").onclick = async () => {
    $("do").disabled = true;
    localStorage.who = $("who").value;
    try {
      await ask(asked[0], {
        actor: $("who").value.trim() || "dashboard",
        reason: $("why").value.trim() || undefined,
        expect: asked[1],
      });
      $("ask").close();
    } catch (error) {
      say("refused", error.message);
    }
    $("do").disabled = false;
    look();
  };

  (async function loop() {
    await look();
    setTimeout(loop, document.hidden ? 10000 : 1000);
  })();
}

export const scriptText = (): string => `"use strict";(${dashboard})();`;
