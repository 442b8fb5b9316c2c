import { reset } from "cloudflare:test";
import { afterAll } from "vitest";

// One runtime serves all files; none finds what another left in KV, R2 or a Durable Object.
afterAll(() => reset());
