import { Linear } from "./linear.ts";

const INT8 = 3;
const decoder = new TextDecoder();

/**
 * A linear classifier out of its ONNX file: the tensors `weights` (8 bits with `scale`, or 32-bit floats; buckets x
 * labels) and `bias`, and the file's properties. Throws for any other model.
 */
export function readLinear(file: Uint8Array<ArrayBuffer>): Linear {
  const properties: Record<string, string> = {};
  const tensors: Record<string, Int8Array | Float32Array> = {};
  for (const [field, bytes] of fieldsOf(file)) {
    if (field === 7) for (const [inner, tensor] of fieldsOf(bytes)) if (inner === 5) addTensor(tensors, tensor);
    if (field !== 14) continue;
    const { 1: key, 2: value } = Object.fromEntries(fieldsOf(bytes));
    properties[decoder.decode(key)] = decoder.decode(value);
  }
  return new Linear(tensors, properties);
}

function addTensor(tensors: Record<string, Int8Array | Float32Array>, bytes: Uint8Array<ArrayBuffer>): void {
  const { 2: type, 8: name, 9: raw } = Object.fromEntries(fieldsOf(bytes));
  // A copy: floats can't be read where they don't begin at a multiple of four.
  const { buffer } = new Uint8Array(raw ?? []);
  tensors[decoder.decode(name)] = type?.[0] === INT8 ? new Int8Array(buffer) : new Float32Array(buffer);
}

/** The fields of a protobuf message, each with its number; a number as the last seven bits of it, which is all we need. */
function* fieldsOf(bytes: Uint8Array<ArrayBuffer>): Generator<[field: number, value: Uint8Array<ArrayBuffer>]> {
  let at = 0;
  const varint = () => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[at++];
      if (byte === undefined || shift > 63) throw new Error("the file is cut short");
      value += (byte & 127) * 2 ** shift;
      if (byte < 128) return value;
    }
  };
  while (at < bytes.length) {
    const tag = varint();
    const kind = tag & 7;
    const value = kind === 0 || kind === 2 ? varint() : kind === 1 ? 8 : 4;
    if (kind !== 0) at += value;
    if (at > bytes.length) throw new Error("the file is cut short");
    yield [tag >>> 3, kind === 0 ? Uint8Array.of(value & 127) : bytes.subarray(at - value, at)];
  }
}
