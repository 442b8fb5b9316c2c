import type { GateSpec, Outcome } from "./types.ts";

/** An answer shorter than this says nothing of speed. */
const LEAST_TOKENS = 8;

/**
 * Whether an outcome is bad for a gate; null when it says nothing of it. A failed request is bad for `errors`, and says
 * nothing good of anything else: what fails at once is not quick.
 */
export function isBad({ name, slo }: GateSpec, outcome: Outcome): boolean | null {
  if (outcome.part === "late") return name === "latency" ? true : null;
  if (name === "errors") return outcome.failed;
  if (name === "latency" && outcome.part === "rest") return null;
  const bad = fault(name, slo, outcome);
  return outcome.failed && bad === false ? null : bad;
}

/** Whether any of the gates that people's requests feed would call a probe bad; null when it has been told of before. */
export function isBadProbe(gates: readonly GateSpec[], outcome: Outcome): boolean | null {
  return outcome.part === "rest"
    ? null
    : gates.some((gate) => gate.mode === "enforce" && isBad(gate, outcome) === true);
}

function fault(name: GateSpec["name"], slo: number | null, outcome: Outcome): boolean | null {
  switch (name) {
    case "first_token":
      return over(outcome.first_token_ms, slo, 1000);
    case "latency":
      return over(outcome.total_ms, slo, 1000);
    case "speed":
      return isSlow(outcome, slo);
    case "cost":
      return over(outcome.cost_usd, slo, 1);
    case "json":
      return outcome.json;
    case "empty":
      return outcome.empty;
    case "refusals":
      return outcome.refusal;
    case "guard":
      return outcome.guard;
    default:
      return null;
  }
}

function over(value: number | null, slo: number | null, unit: number): boolean | null {
  return value === null || slo === null ? null : value > slo * unit;
}

/** Fewer tokens a second than the SLO, from the first token on where it is known. */
function isSlow({ tokens, first_token_ms, total_ms }: Outcome, slo: number | null): boolean | null {
  if (tokens === null || slo === null || tokens < LEAST_TOKENS) return null;
  const seconds = Math.max(0, total_ms - (first_token_ms ?? 0)) / 1000;
  return tokens < slo * seconds;
}
