import injectionUrl from "../../../models/artifacts/injection/1/model.onnx?url&inline";
import intentUrl from "../../../models/artifacts/intent/1/model.onnx?url&inline";
import routerUrl from "../../../models/artifacts/router/1/model.onnx?url&inline";
import { sha256Hex } from "../../src/digest.ts";

export const ROUTER = bytesOf(routerUrl);
export const INTENT = bytesOf(intentUrl);
export const INJECTION = bytesOf(injectionUrl);

/** The bytes of a base64 text, or of a `data:` URL that ends in one. */
export function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(base64.slice(base64.indexOf(",") + 1)), (character) => character.charCodeAt(0));
}

/** An `onnx` version of these bytes, as config.json has it, and puts them where it says. */
export async function published(store: R2Bucket, name: string, bytes: Uint8Array<ArrayBuffer>) {
  const sha256 = await sha256Hex(bytes);
  const key = `models/${name}/1/${sha256}/model.onnx`;
  await store.put(key, bytes);
  return { backend: "onnx", artifact: { files: [{ name: "model.onnx", key, sha256, bytes: bytes.length }] } };
}
