import type { Piece } from "../backends/backend.ts";
import { ApiError } from "../errors.ts";

export interface Silence {
  /** Longest wait for the first piece, and between two later ones, in milliseconds. */
  firstMs: number;
  idleMs: number;
}

/** The pieces, until the backend is silent for too long: then it is aborted and a 504 is thrown. */
export async function* withDeadlines(
  pieces: AsyncGenerator<Piece, void, undefined>,
  silence: Silence,
  abort: AbortController,
): AsyncGenerator<Piece, void, undefined> {
  let patience = silence.firstMs;
  try {
    for (;;) {
      const next = await orAbort(patience, abort, () => pieces.next());
      if (next.done) return;
      patience = silence.idleMs;
      yield next.value;
    }
  } finally {
    void pieces.return().catch(() => {});
  }
}

/** What the work gives, unless it takes longer than `ms`: then it is aborted and a 504 is thrown. */
export async function orAbort<T>(ms: number, abort: AbortController, work: () => Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | null = null;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const error = new ApiError(504, "upstream_timeout", "The model did not answer in time.");
      abort.abort(error);
      reject(error);
    }, ms);
  });
  try {
    return await Promise.race([work(), late]);
  } finally {
    clearTimeout(timer);
  }
}
