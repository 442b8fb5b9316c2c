import * as v from "valibot";
import { InferenceError } from "./errors.ts";

const MOST_TEXTS = 2_048;
const MOST_TOKENS = 512;

const MOST_FILES = 32;

const FileRef = v.strictObject({
  name: v.pipe(v.string(), v.minLength(1), v.maxLength(256)),
  key: v.pipe(v.string(), v.minLength(1), v.maxLength(1_024)),
  sha256: v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/)),
  bytes: v.pipe(v.number(), v.safeInteger(), v.minValue(1)),
});

const Embed = v.strictObject({
  files: v.pipe(v.array(FileRef), v.minLength(1), v.maxLength(MOST_FILES)),
  texts: v.pipe(v.array(v.string()), v.minLength(1), v.maxLength(MOST_TEXTS)),
  max_tokens: v.pipe(v.number(), v.safeInteger(), v.minValue(3), v.maxValue(MOST_TOKENS)),
});

export type EmbedRequest = v.InferOutput<typeof Embed>;

/** `{files, texts, max_tokens}`: a version's files as they stand in config.json, and what to embed. */
export function readEmbed(body: string): EmbedRequest {
  let document: unknown;
  try {
    document = JSON.parse(body);
  } catch {
    throw new InferenceError(400, "invalid_request", "the body is not JSON");
  }
  const read = v.safeParse(Embed, document);
  if (read.success) return read.output;
  const [issue] = read.issues;
  throw new InferenceError(400, "invalid_request", `${v.getDotPath(issue) ?? "body"}: ${issue.message}`);
}
