/**
 * onnxruntime in workerd, which compiles no wasm at run time: the module comes compiled with the upload, and is what
 * onnxruntime gets instead of the bytes that it asks for. One thread, since an isolate has one.
 */

import * as ort from "onnxruntime-web/wasm";
import compiled from "./ort-wasm-simd-threaded.wasm";

const EMPTY_MODULE_BYTES = 8;
let memory: WebAssembly.Memory | null = null;

const instantiate = WebAssembly.instantiate.bind(WebAssembly) as (
  module: WebAssembly.Module,
  imports?: WebAssembly.Imports,
) => Promise<WebAssembly.Instance>;

WebAssembly.instantiate = (async (_source: unknown, imports?: WebAssembly.Imports) => {
  const instance = await instantiate(compiled, imports);
  memory = ownMemory(instance.exports) ?? ownMemory(imports ?? {});
  return { module: compiled, instance };
}) as unknown as typeof WebAssembly.instantiate;

ort.env.wasm.numThreads = 1;
ort.env.wasm.proxy = false;
ort.env.wasm.wasmBinary = new ArrayBuffer(EMPTY_MODULE_BYTES);
ort.env.logLevel = "error";

function ownMemory(from: object): WebAssembly.Memory | null {
  for (const value of Object.values(from)) {
    if (value instanceof WebAssembly.Memory) return value;
    if (typeof value === "object" && value !== null) {
      const found = Object.values(value).find((one) => one instanceof WebAssembly.Memory);
      if (found !== undefined) return found as WebAssembly.Memory;
    }
  }
  return null;
}

/** Bytes of onnxruntime's heap, which grows and never shrinks; 0 before the first model. */
export function heapBytes(): number {
  return memory?.buffer.byteLength ?? 0;
}

/**
 * A session on `graph`, with the weights that lie beside it by their names. The bytes may go afterwards. Throws what
 * onnxruntime says of a model that it can't take. Weights inside the graph cost three times their size while it is
 * read, and the heap keeps that: MiniLM in 8 bits is at 77 MB so, and at 35 MB with its weights beside it.
 */
export function open(graph: Uint8Array, weights: ReadonlyMap<string, Uint8Array>): Promise<ort.InferenceSession> {
  return ort.InferenceSession.create(graph, {
    executionProviders: ["wasm"],
    externalData: Array.from(weights, ([path, data]) => ({ path, data })),
    // An arena keeps the most that was ever needed, and a second copy of weights laid out for speed costs their size
    // again: an isolate has 128 MB for everything.
    enableCpuMemArena: false,
    enableMemPattern: false,
    extra: { session: { disable_prepacking: "1", use_device_allocator_for_initializers: "1" } },
  });
}

export { ort };
