import { isPrivate } from "./loopback.ts";

const RETRY_MS = 5_000;
const LONGEST_RETRY_MS = 3_600_000;
/** Half a day of tries. */
const ATTEMPTS = 18;

/** Longest wait for a webhook's answer. */
export const PATIENCE_MS = 10_000;

/** Milliseconds until a webhook is told again that has failed so often, or null when it never is. */
export function retryIn(attempts: number): number | null {
  return attempts >= ATTEMPTS ? null : Math.min(RETRY_MS * 2 ** (attempts - 1), LONGEST_RETRY_MS);
}

/** Sends JSON to the URL of a secret. Null when the webhook took it, else why not, without the URL. */
export async function post(url: unknown, body: string): Promise<string | null> {
  if (typeof url !== "string" || !mayBeCalled(url)) return "the secret is missing, or is no https URL";
  try {
    const answer = await fetch(url.trim(), {
      method: "POST",
      headers: { "content-type": "application/json" },
      body,
      redirect: "manual",
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    await answer.body?.cancel();
    return answer.ok ? null : `answered ${answer.status}`;
  } catch (error) {
    return (error as Error).name;
  }
}

function mayBeCalled(text: string): boolean {
  const url = URL.parse(text.trim());
  return url !== null && isPrivate(url);
}
