import type { EmbedInput } from "../backends/backend.ts";
import type { JsonObject } from "../chat/json-body.ts";
import { sanitise } from "../chat/sanitise.ts";
import { badRequest } from "../errors.ts";

/** What `POST /v1/embeddings` asks for. */
export interface EmbeddingsRequest {
  readonly model: string;
  readonly input: readonly EmbedInput[];
  readonly dimensions: number | null;
  readonly base64: boolean;
  readonly user: string | null;
}

/** As many as OpenAI takes. */
const MOST_INPUTS = 2_048;
const MOST_DIMENSIONS = 16_384;

/** Reads the body. Throws a 400 that names the first field at fault. */
export function readEmbeddings(body: JsonObject, maxCharacters: number): EmbeddingsRequest {
  const { model, encoding_format = "float", user = null } = body;
  if (typeof model !== "string" || model === "") {
    throw badRequest("`model` is missing: name a model.", "model");
  }
  if (encoding_format !== null && encoding_format !== "float" && encoding_format !== "base64") {
    throw badRequest("`encoding_format` must be float or base64.", "encoding_format");
  }
  if (user !== null && typeof user !== "string") throw badRequest("`user` must be a string.", "user");
  const input = readInput(body.input);
  const characters = input.reduce((sum, item) => sum + item.length, 0);
  if (characters > maxCharacters) {
    throw badRequest(`\`input\` must hold at most ${maxCharacters} characters.`, "input");
  }
  return {
    model,
    input,
    dimensions: readDimensions(body.dimensions),
    base64: encoding_format === "base64",
    user: user === null || user === "" ? null : user.toWellFormed(),
  };
}

/** A text, tokens, or an array of either. */
function readInput(value: unknown): EmbedInput[] {
  if (value === undefined || value === null) throw badRequest("`input` is missing.", "input");
  if (typeof value === "string") return [readText(value, "input")];
  if (!Array.isArray(value)) throw badRequest("`input` must be a string or an array.", "input");
  if (value.length === 0) throw badRequest("`input` must hold at least one text.", "input");
  if (typeof value[0] === "number") return [readTokens(value, "input")];
  if (value.length > MOST_INPUTS) throw badRequest(`\`input\` must hold at most ${MOST_INPUTS} texts.`, "input");
  return value.map((item, index) => {
    const path = `input[${index}]`;
    if (typeof item === "string") return readText(item, path);
    if (Array.isArray(item)) return readTokens(item, path);
    throw badRequest(`\`${path}\` must be a string or an array of tokens.`, path);
  });
}

function readText(value: string, path: string): string {
  const text = sanitise(value);
  if (text.trim() === "") throw badRequest(`\`${path}\` is empty.`, path);
  return text;
}

function readTokens(value: unknown[], path: string): number[] {
  if (value.length === 0) throw badRequest(`\`${path}\` is empty.`, path);
  if (!value.every((token) => Number.isInteger(token) && (token as number) >= 0)) {
    throw badRequest(`\`${path}\` must hold whole numbers alone: tokens of the model.`, path);
  }
  return value as number[];
}

function readDimensions(value: unknown): number | null {
  if (value === undefined || value === null) return null;
  if (typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= MOST_DIMENSIONS) return value;
  throw badRequest(`\`dimensions\` must be a whole number from 1 to ${MOST_DIMENSIONS}.`, "dimensions");
}
