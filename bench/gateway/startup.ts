// How long the bundle takes to be compiled and evaluated, in a process of its own: the runtime's clock stands still
// while a Worker starts, so Node's V8 is the nearest that can be timed. Prints milliseconds.
import { readFileSync } from "node:fs";
import vm from "node:vm";

const PLATFORM = { DurableObject: class {}, WorkerEntrypoint: class {}, RpcTarget: class {}, env: {} };
const [bundle = "", config = ""] = process.argv.slice(2);
const code = readFileSync(bundle, "utf8");
const synthetic = (exports: Record<string, unknown>) =>
  new vm.SyntheticModule(Object.keys(exports), function () {
    for (const [name, value] of Object.entries(exports)) this.setExport(name, value);
  });

// Time of this thread on a processor, which a busy machine stretches least; it is what the platform limits too.
const started = process.threadCpuUsage();
const module = new vm.SourceTextModule(code, { identifier: "index.js" });
await module.link((specifier) => synthetic(specifier.startsWith("cloudflare:") ? PLATFORM : { default: config }));
await module.evaluate();
const { user, system } = process.threadCpuUsage(started);
console.log((user + system) / 1000);
