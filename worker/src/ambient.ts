/** Clock, randomness and output, so that tests decide them. */
export interface Ambient {
  /** Milliseconds since the epoch. */
  now(): number;
  newId(): string;
  /** In `[0, 1)`, for chance only, never for secrets. */
  random(): number;
  log(line: string): void;
  /** Waits, in the background of a request, for more to do at once. */
  linger(ms: number): Promise<void>;
}
