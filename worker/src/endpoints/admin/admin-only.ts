import { presented } from "../../access/credential.ts";
import { sha256 } from "../../digest.ts";
import { ApiError } from "../../errors.ts";
import type { GatewayContext, Layer } from "../../gateway.ts";
import { notFound } from "../../middleware/failure.ts";
import { challengeFor, passwordOf, refuseForeign } from "./browser.ts";

const SHORTEST = 24;
/** Who was let in, in the record. */
const ADMIN = "admin";

/**
 * Lets in who has the stage's `ADMIN_KEY`. A stage without one has no admin endpoints, and says no more than that of
 * any other path. A key that could be guessed, or that callers have too, opens nothing. The dashboard alone is reached
 * by HTTP Basic, since a browser has no bearer header to give.
 */
export function adminOnly(): Layer {
  return {
    before: letIn,
    after(c) {
      if (c.get("record").tenant === ADMIN) c.res.headers.set("cache-control", "no-store");
    },
  };
}

async function letIn(c: GatewayContext): Promise<Response | undefined> {
  const expected = c.env.ADMIN_KEY?.trim();
  if (!expected) return notFound(c);
  if (expected.length < SHORTEST || expected === c.env.API_KEY?.trim()) {
    const message = `ADMIN_KEY must have at least ${SHORTEST} characters and be another than API_KEY.`;
    throw new ApiError(500, "misconfigured", message);
  }
  const request = c.req.raw;
  const password = passwordOf(request);
  const [given, right] = await Promise.all([sha256(password ?? presented(request.headers)), sha256(expected)]);
  if (!crypto.subtle.timingSafeEqual(given, right)) {
    c.get("record").refusal = "admin_key";
    const message = "Missing or wrong admin key. Send the stage's ADMIN_KEY as `Authorization: Bearer KEY`.";
    throw new ApiError(401, "invalid_admin_key", message, {
      headers: { "www-authenticate": challengeFor(request), "cache-control": "no-store" },
    });
  }
  if (password !== null) refuseForeign(request);
  c.get("record").tenant = ADMIN;
}
