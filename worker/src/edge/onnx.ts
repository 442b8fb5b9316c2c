import { type Linear, newLinear, type Tensors } from "./linear.ts";

type Bytes = Uint8Array<ArrayBuffer>;

const INT8 = 3;

/**
 * A linear classifier out of its ONNX file: the tensors `weights` (8 bits with `scale`, or 32-bit floats; buckets x
 * labels) and `bias`, and the file's properties. Throws for any other model.
 */
export function readLinear(file: Bytes): Linear {
  const properties: Record<string, string> = {};
  const tensors: Tensors = {};
  for (const [field, bytes] of fieldsOf(file)) {
    if (field === 14) {
      const { 1: key, 2: value } = Object.fromEntries(fieldsOf(bytes));
      properties[textOf(key)] = textOf(value);
    }
    for (const [inner, tensor] of field === 7 ? fieldsOf(bytes) : []) {
      if (inner !== 5) continue;
      const { 2: type, 8: name, 9: raw = new Uint8Array() } = Object.fromEntries(fieldsOf(tensor));
      // A copy: floats can't be read where they don't begin at a multiple of four.
      const { buffer } = raw.slice();
      tensors[textOf(name)] = type?.[0] === INT8 ? new Int8Array(buffer) : new Float32Array(buffer);
    }
  }
  return newLinear(tensors, properties);
}

function textOf(bytes: Bytes | undefined): string {
  return new TextDecoder().decode(bytes);
}

/** The fields of a protobuf message, each with its number; a number as its last seven bits, which is all that we need. */
function* fieldsOf(bytes: Bytes): Generator<[field: number, value: Bytes]> {
  let at = 0;
  const varint = () => {
    let value = 0;
    for (let unit = 1; ; unit *= 128) {
      const byte = bytes[at++] ?? Number.NaN;
      value += (byte & 127) * unit;
      if (!(byte > 127)) return value;
    }
  };
  while (at < bytes.length) {
    const tag = varint();
    const kind = tag & 7;
    const size = kind % 2 === 0 ? varint() : kind === 1 ? 8 : 4;
    if (kind > 0) at += size;
    if (at > bytes.length) throw new Error("the file is cut short");
    yield [tag >> 3, kind > 0 ? bytes.subarray(at - size, at) : Uint8Array.of(size)];
  }
}
