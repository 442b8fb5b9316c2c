import { ApiError } from "../errors.ts";

/** A chat's field, `messages[2].content` -> what the client calls it. */
export type FieldName = (field: string) => string;

/** What the work gives; a fault in a chat's field is told by the name that the endpoint has for it. */
export async function named<T>(nameOf: FieldName, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw renamed(error, nameOf);
  }
}

/** The same fault by the name that the client knows its field by. */
export function renamed(error: unknown, nameOf: FieldName): unknown {
  if (!(error instanceof ApiError) || error.param === null) return error;
  const param = nameOf(error.param);
  if (param === error.param) return error;
  const { status, code, headers, lasting } = error;
  const message = error.message.replace(`\`${error.param}\``, `\`${param}\``);
  return new ApiError(status, code, message, { param, headers, lasting, cause: error.cause });
}

/** Whether the field is the messages, or lies within them. */
export function isOfMessages(field: string): boolean {
  return /^messages(?![\w-])/.test(field);
}
