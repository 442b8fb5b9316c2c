import { badRequest } from "../../errors.ts";
import { Fault, type Schema } from "../../schema.ts";

/** Reads a body of an admin's. Throws a 400 that names the first field at fault. */
export function readBody<T>(schema: Schema<T>, body: unknown): T {
  try {
    return schema(body, "");
  } catch (fault) {
    if (!(fault instanceof Fault)) throw fault;
    const path = fault.path.replaceAll(/\.(\d+)(?=\.|$)/g, "[$1]") || "body";
    throw badRequest(`\`${path}\` ${fault.message}.`, path);
  }
}
