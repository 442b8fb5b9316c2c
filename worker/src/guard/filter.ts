/** Takes a text bit by bit, and gives on what may be seen of it; holds back no more than could begin a hit. */
export interface TextFilter {
  /** What may be seen, now that this was said too. */
  push(text: string): string;
  /** The rest, once nothing more comes. */
  end(): string;
}
