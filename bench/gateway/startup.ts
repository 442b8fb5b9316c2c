// How long the bundle takes to be read, compiled and evaluated, in a process of its own: the runtime's clock stands
// still while a Worker starts, so Node's V8 is the nearest that can be timed. Prints milliseconds.
import { registerHooks } from "node:module";
import { pathToFileURL } from "node:url";

const PLATFORM =
  "export class DurableObject {}; export class WorkerEntrypoint {}; export class RpcTarget {}; export const env = {};";
const [bundle = "", config = ""] = process.argv.slice(2);

registerHooks({
  resolve(specifier, context, next) {
    if (specifier.startsWith("cloudflare:"))
      return { url: `data:text/javascript,${encodeURIComponent(PLATFORM)}`, shortCircuit: true };
    if (specifier.endsWith("config.json")) return { url: "bench:config", shortCircuit: true };
    return next(specifier, context);
  },
  load(url, context, next) {
    if (url !== "bench:config") return next(url, context);
    return { format: "module", source: `export default ${JSON.stringify(config)}`, shortCircuit: true };
  },
});

const started = performance.now();
await import(pathToFileURL(bundle).href);
console.log(performance.now() - started);
