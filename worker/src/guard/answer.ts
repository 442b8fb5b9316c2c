import type { Answer, Piece } from "../backends/backend.ts";
import type { GatewayContext } from "../gateway.ts";

/** What the client may see of a whole answer. */
export function guardAnswer(_c: GatewayContext, answer: Answer): Answer {
  return answer;
}

/** What the client may see of a stream; holds back no more than could begin a hit. */
export function guardPieces(
  _c: GatewayContext,
  pieces: AsyncGenerator<Piece, void, undefined>,
): AsyncGenerator<Piece, void, undefined> {
  return pieces;
}
