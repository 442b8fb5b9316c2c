import { badRequest } from "../../errors.ts";
import { once } from "../../once.ts";
import * as s from "../../schema.ts";

/** Reads a body of an admin's. Throws a 400 that names the first field at fault. */
export function readBody<T>(schema: s.Schema<T>, body: unknown): T {
  try {
    return schema(body, "");
  } catch (fault) {
    if (!(fault instanceof s.Fault)) throw fault;
    const path = fault.path.replaceAll(/\.(\d+)(?=\.|$)/g, "[$1]") || "body";
    throw badRequest(`\`${path}\` ${fault.message}.`, path);
  }
}

/**
 * A line for people, without the white space around it. `clean`: what all of it must be, as a text, since an expression of
 * Unicode's classes in the code is looked at whenever an isolate starts.
 */
export function words(most: number, clean: string): s.Schema<string> {
  const expression = once(() => new RegExp(clean, "u"));
  return s.trimmed(s.filled, s.longest(most, `is longer than ${most} characters`), [
    (text) => expression().test(text),
    "holds a control character",
  ]);
}
