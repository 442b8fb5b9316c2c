type Schema = Readonly<Record<string, unknown>>;

/** Nobody's schema is deeper, and an answer that is costs no more than this. */
const DEEPEST = 32;

/**
 * Whether a value is as a JSON Schema wants it, by the words that tell most: `type`, `enum`, `const`, `required`,
 * `properties`, `additionalProperties: false`, `items`. Words that are not known here are passed over, so that nothing is
 * called bad by mistake.
 */
export function fits(value: unknown, schema: unknown, depth = 0): boolean {
  if (typeof schema !== "object" || schema === null || depth > DEEPEST) return true;
  const { type, enum: among, const: only, items } = schema as Schema;
  if (type !== undefined && !isOf(value, type)) return false;
  if (Array.isArray(among) && !among.some((one) => same(one, value))) return false;
  if (only !== undefined && !same(only, value)) return false;
  if (Array.isArray(value)) return value.every((item) => fits(item, items, depth + 1));
  return typeof value !== "object" || value === null || fieldsFit(value as Schema, schema as Schema, depth);
}

function fieldsFit(value: Schema, { required, properties, additionalProperties }: Schema, depth: number): boolean {
  if (Array.isArray(required) && !required.every((name) => Object.hasOwn(value, String(name)))) return false;
  const known = typeof properties === "object" && properties !== null ? (properties as Schema) : {};
  return Object.entries(value).every(([name, field]) => {
    if (!Object.hasOwn(known, name)) return additionalProperties !== false;
    return fits(field, known[name], depth + 1);
  });
}

function isOf(value: unknown, type: unknown): boolean {
  if (Array.isArray(type)) return type.some((one) => isOf(value, one));
  if (type === "null") return value === null;
  if (type === "array") return Array.isArray(value);
  if (type === "object") return typeof value === "object" && value !== null && !Array.isArray(value);
  if (type === "integer") return Number.isInteger(value);
  if (type === "string" || type === "number" || type === "boolean") return typeof value === type;
  return true;
}

/** Only what has parts is written out: a caller's list may be long, and is gone through for each value of an answer. */
function same(left: unknown, right: unknown): boolean {
  if (left === right || typeof left !== "object" || typeof right !== "object") return left === right;
  return JSON.stringify(left) === JSON.stringify(right);
}
