// A Worker with a real AI binding in real workerd. Reads one JSON list of questions on stdin, answers each on stdout.
import { Miniflare } from "miniflare";

const script = `
const text = (stream) => new Response(stream).text();
export default {
  async fetch(request, env) {
    const { op, args } = await request.json();
    const state = () => ({
      log: env.AI.aiGatewayLogId, request: env.AI.lastRequestId,
      status: env.AI.lastRequestHttpStatusCode, code: env.AI.lastRequestInternalStatusCode,
    });
    try {
      let value;
      if (op === "run") value = await env.AI.run(...args);
      else if (op === "models") value = await env.AI.models(...args);
      else if (op === "gatewayRun") {
        const response = await env.AI.gateway(args[0]).run(args[1], args[2]);
        value = { status: response.status, step: response.headers.get("cf-aig-step"), body: await response.text() };
      } else if (op === "getUrl") value = await env.AI.gateway(args[0]).getUrl(args[1]);
      else if (op === "logOf") {
        await env.AI.run(...args);
        value = await env.AI.gateway(args[2].gateway.id).getLog(env.AI.aiGatewayLogId);
      } else if (op === "relay") return new Response(await env.AI.run(...args), { headers: { "content-type": "text/event-stream" } });
      if (value instanceof ReadableStream) value = { streamed: await text(value) };
      if (value instanceof Response) {
        value = { status: value.status, type: value.headers.get("content-type"), body: await value.text() };
      }
      return Response.json({ value, ...state() });
    } catch (error) {
      return Response.json({ error: { name: error.name, message: error.message }, ...state() });
    }
  },
};`;

let input = "";
for await (const chunk of process.stdin) input += chunk;
const { url, questions, leaveAfter } = JSON.parse(input);
const mf = new Miniflare({
  modules: true,
  script,
  compatibilityDate: "2026-07-01",
  ai: { binding: "AI", remoteProxyConnectionString: new URL(url) },
  cf: false,
});
const at = await mf.ready;
const ask = (question, init = {}) => fetch(at, { method: "POST", body: JSON.stringify(question), ...init });
const answers = [];
if (leaveAfter === undefined) {
  for (const question of questions) answers.push(await (await ask(question)).json());
} else {
  const leave = new AbortController();
  const response = await ask(questions[0], { signal: leave.signal });
  const started = performance.now();
  const times = [];
  for await (const _chunk of response.body) {
    times.push(performance.now() - started);
    if (times.length === leaveAfter) break;
  }
  leave.abort();
  answers.push(times);
  await new Promise((resolve) => setTimeout(resolve, 1000));
}
process.stdout.write(JSON.stringify(answers));
await mf.dispose();
