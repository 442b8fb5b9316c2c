import { failureOf } from "./failures.ts";
import type { BackendHealth } from "./health.ts";

/** Pieces of a backend's answer, whose end tells how the backend does: a stream that begins may still break off. */
export async function* watched<T>(
  pieces: AsyncGenerator<T, void, undefined>,
  health: BackendHealth,
): AsyncGenerator<T, void, undefined> {
  try {
    yield* pieces;
    health.succeeded();
  } catch (error) {
    const failure = failureOf(error);
    if (failure !== null) health.failed(failure, null);
    throw error;
  }
}
