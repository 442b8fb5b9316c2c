/** The one line of JSON that the supervisor writes to stdin. */

import { createInterface } from "node:readline";

export interface S3Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

export interface Config {
  /** Directory of everything that must outlive this process. */
  readonly data: string;
  /** 0: any free port. */
  readonly frontPort: number;
  readonly adminToken: string;
  readonly aiUrl: string;
  readonly sinkUrl: string | null;
  /** Where it is told what a call of the S3 API is to meet. */
  readonly faultUrl: string | null;
  readonly s3: S3Credentials;
  readonly hostSuffix: string;
  /** How long requests in flight may finish before a reload cuts them, in milliseconds. */
  readonly drainMs: number;
  readonly bodyLimit: number;
}

export class ConfigError extends Error {}

type Fields = Record<string, unknown>;

function string(fields: Fields, name: string, fallback?: string): string {
  const value = fields[name] ?? fallback;
  if (typeof value !== "string" || value === "") throw new ConfigError(`config: "${name}" must be a non-empty string`);
  return value;
}

function whole(fields: Fields, name: string, fallback: number): number {
  const value = fields[name] ?? fallback;
  if (!Number.isInteger(value) || (value as number) < 0)
    throw new ConfigError(`config: "${name}" must be a whole number of at least 0`);
  return value as number;
}

export function parseConfig(line: string): Config {
  let fields: Fields;
  try {
    fields = JSON.parse(line) as Fields;
  } catch {
    throw new ConfigError("config: the line on stdin is not JSON");
  }
  const s3 = (fields.s3 ?? {}) as Fields;
  return {
    data: string(fields, "data"),
    frontPort: whole(fields, "front_port", 8787),
    adminToken: string(fields, "admin_token"),
    aiUrl: string(fields, "ai_url"),
    sinkUrl: fields.sink_url ? string(fields, "sink_url") : null,
    faultUrl: fields.fault_url ? string(fields, "fault_url") : null,
    s3: { accessKeyId: string(s3, "access_key_id"), secretAccessKey: string(s3, "secret_access_key") },
    hostSuffix: string(fields, "default_host_suffix", "workers.dev"),
    drainMs: whole(fields, "drain_ms", 5_000),
    bodyLimit: whole(fields, "body_limit", 100 * 1024 * 1024),
  };
}

/** First line of stdin; `onEnd` runs when the supervisor goes away. */
export async function readConfig(onEnd: () => void): Promise<Config> {
  const lines = createInterface({ input: process.stdin });
  const line = await new Promise<string>((resolve, reject) => {
    lines.once("line", resolve);
    lines.once("close", () => reject(new ConfigError("config: stdin closed before a line came")));
  });
  lines.on("close", onEnd);
  return parseConfig(line);
}
