// The least Worker that could be called a gateway: it reads the JSON of both ways, checks a key, hears of a client that
// leaves, has one deadline, sets the headers and writes the log line that ours does. No limits, no guard, no cache, no
// budget, no retry, no versions. What it takes over a bare Worker, no gateway in a Worker can do without.
const decoder = new TextDecoder();
const encoder = new TextEncoder();
/** As in ours: events that come within so many milliseconds of each other may go together. */
const BURST_MS = 10;

export default {
  async fetch(request, env, ctx) {
    const started = Date.now();
    let written = null;
    const id = `req-${crypto.randomUUID()}`;
    if (request.headers.get("authorization") !== `Bearer ${env.API_KEY}`) {
      return new Response("who are you?", { status: 401 });
    }
    const abort = new AbortController();
    request.signal.onabort = () => {
      // Or the line of a request whose client left is never written.
      written = Promise.withResolvers();
      ctx.waitUntil(written.promise);
      abort.abort(request.signal.reason);
    };
    const asked = JSON.parse(decoder.decode(await request.arrayBuffer()));
    const deadline = setTimeout(() => abort.abort(new Error("too late")), 60_000);
    const response = await fetch(`${env.UPSTREAM}/v1/chat/completions`, {
      method: "POST",
      body: JSON.stringify(asked),
      headers: { "content-type": "application/json", "x-session-affinity": id },
      signal: abort.signal,
      redirect: "manual",
    });
    const over = (usage) => {
      clearTimeout(deadline);
      console.log(lineOf(id, started, asked, usage));
      written?.resolve();
    };
    if (asked.stream === true) {
      const body = new ReadableStream(new Events(response.body.getReader(), over), { highWaterMark: 0 });
      return new Response(body, { headers: headersOf(id, "text/event-stream") });
    }
    const answer = await response.json();
    over(answer.usage);
    return new Response(JSON.stringify({ ...answer, id }), { headers: headersOf(id, "application/json") });
  },
};

/** Each event read, and written anew; what comes together goes together. */
class Events {
  #text = "";
  #usage = null;
  #givenAt = 0;

  constructor(reader, over) {
    this.reader = reader;
    this.over = over;
  }

  async pull(controller) {
    let out = "";
    let rung = null;
    for (;;) {
      if (out !== "" && performance.now() - this.#givenAt > BURST_MS) break;
      if (out !== "") rung ??= { over: false };
      if (rung !== null && rung.timer === undefined) rung.timer = setTimeout(() => (rung.over = true), 0);
      const { done, value } = await this.reader.read();
      if (!done) out += this.#rewritten(decoder.decode(value, { stream: true }));
      if (done || rung?.over === true) {
        if (rung !== null) clearTimeout(rung.timer);
        if (out !== "") controller.enqueue(encoder.encode(out));
        this.#givenAt = performance.now();
        if (done) {
          controller.close();
          this.over(this.#usage);
        }
        return;
      }
    }
    controller.enqueue(encoder.encode(out));
    this.#givenAt = performance.now();
  }

  #rewritten(text) {
    this.#text += text;
    let out = "";
    for (let end = this.#text.indexOf("\n\n"); end >= 0; end = this.#text.indexOf("\n\n")) {
      const data = this.#text.slice(6, end);
      this.#text = this.#text.slice(end + 2);
      if (data === "[DONE]") {
        out += "data: [DONE]\n\n";
        continue;
      }
      const event = JSON.parse(data);
      this.#usage = event.usage ?? this.#usage;
      out += `data: ${JSON.stringify(event)}\n\n`;
    }
    return out;
  }
}

function headersOf(id, type) {
  return {
    "content-type": type,
    "x-request-id": id,
    "x-content-type-options": "nosniff",
    "x-sluiceway-release": "r-0123456789ab",
    "x-sluiceway-model": "openai@1",
    "x-sluiceway-variant": "stable",
    "x-sluiceway-cache": "bypass",
    "server-timing": "backend;dur=1.0, total;dur=1.0",
    vary: "Origin",
  };
}

function lineOf(id, started, asked, usage) {
  return JSON.stringify({
    ...{ event: "request", level: "info", id, key_id: "0123456789ab", via: "stage-key", team: null },
    ...{ method: "POST", path: "/v1/chat/completions", status: 200, model: "openai", version: 1, variant: "stable" },
    ...{ release: "r-0123456789ab", worker_version: "bench", stream: asked.stream === true, cache: "bypass" },
    ...{ prompt_tokens: usage?.prompt_tokens ?? null, completion_tokens: usage?.completion_tokens ?? null },
    ...{ cost_usd: null, total_ms: Date.now() - started, fallback: null, retries: 0, guard: [], error: null },
  });
}
