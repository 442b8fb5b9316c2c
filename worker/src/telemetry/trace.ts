/** W3C trace context (level 1): what of it comes in, and what goes out to backends. */

/** One request's place in a trace. Ids are lower-case hex: 32 digits the trace's, 16 a span's. */
export interface Trace {
  readonly traceId: string;
  /** The caller's span, null when the trace begins here. */
  readonly parentId: string | null;
  /** The span of this request. */
  readonly spanId: string;
  /** The span of the calls to backends, below it. */
  readonly backendSpanId: string;
  /** Whether the request's spans are exported; told to backends too. */
  readonly sampled: boolean;
  /** The vendors' own field, passed on as it came. */
  readonly state: string | null;
}

interface Incoming {
  readonly traceId: string;
  readonly parentId: string;
  readonly sampled: boolean;
}

const SHAPE = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const ZEROS = /^0+$/;
const LONGEST_STATE = 512;

/** Reads a `traceparent`, null when it is malformed: then the trace starts anew, as the standard says. */
export function parseTraceparent(header: string): Incoming | null {
  const found = SHAPE.exec(header);
  if (found === null) return null;
  const [, version, traceId = "", parentId = "", flags = "", rest] = found;
  // A later version may append fields; this one may not, and ff is none.
  if (version === "ff" || (version === "00" && rest !== undefined)) return null;
  if (ZEROS.test(traceId) || ZEROS.test(parentId)) return null;
  return { traceId, parentId, sampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

/** The `traceparent` that a backend gets. */
export function traceparentOf({ traceId, backendSpanId, sampled }: Trace): string {
  return written(traceId, backendSpanId, sampled);
}

/** The `traceparent` of the request's own span, for its caller. */
export function callerTraceparent({ traceId, spanId, sampled }: Trace): string {
  return written(traceId, spanId, sampled);
}

function written(traceId: string, spanId: string, sampled: boolean): string {
  return `00-${traceId}-${spanId}-${sampled ? "01" : "00"}`;
}

/**
 * The request's trace, or null when nobody asked for one: neither the caller by header nor the stage by exporting.
 * `share` null: the stage exports nothing, and the caller's flag goes on as it came.
 */
export function traceOf(headers: Headers, share: number | null, random: () => number): Trace | null {
  const header = headers.get("traceparent");
  if (header === null && share === null) return null;
  const incoming = header === null ? null : parseTraceparent(header.trim());
  if (incoming === null && share === null) return null;
  const traceId = incoming?.traceId ?? randomHex(16, random);
  const wanted = incoming?.sampled ?? true;
  return {
    traceId,
    parentId: incoming?.parentId ?? null,
    spanId: randomHex(8, random),
    backendSpanId: randomHex(8, random),
    sampled: share === null ? wanted : wanted && inShare(traceId, share),
    state: incoming === null ? null : stateOf(headers),
  };
}

/**
 * By the trace's id and not by chance, so that services with the same share keep the same traces, and a caller that
 * marks every request as sampled still costs no more than the share. One that picks its ids for it can: that is the price
 * of a share on which services agree.
 */
function inShare(traceId: string, share: number): boolean {
  return Number.parseInt(traceId.slice(-8), 16) < share * 0x1_0000_0000;
}

function stateOf(headers: Headers): string | null {
  const state = headers.get("tracestate");
  return state !== null && state.length <= LONGEST_STATE ? state : null;
}

/** `bytes` random bytes in hex, never all zero: that is no id. */
function randomHex(bytes: number, random: () => number): string {
  let hex = "";
  for (let at = 0; at < bytes; at += 4) {
    hex += (Math.floor(random() * 0xffff_ffff) + 1).toString(16).padStart(8, "0");
  }
  return hex;
}
