import { expect, it } from "vitest";
import contract from "../../../tests/contract/gates.json";
import { logEvidence, type Sums } from "./block.ts";
import { difference, newGate, observe, restep } from "./gate.ts";
import { judge } from "./verdict.ts";

it("places each bet as the implementation apart from it does", () => {
  for (const { rates, block, margin, log } of contract.bets) {
    const [ts = 0, tc = 0] = rates;
    // Where the rates lie on the border itself nobody bets.
    if (tc === ts + margin) continue;
    const own = logEvidence(ts, tc, block as unknown as Sums, margin);
    expect(Math.abs(own - log)).toBeLessThan(1e-6 + 1e-7 * Math.abs(log));
  }
});

it.each(contract.runs)("comes to the same states: $name", ({ settings, batches, steps, states }) => {
  let state = newGate();
  for (let count = 0; count <= batches.length; count++) {
    const [ms = 0, ys = 0, mc = 0, yc = 0] = batches[count - 1] ?? [];
    if (count > 0) state = observe(state, { ms, ys, mc, yc }, settings);
    const expected = states.find(({ after }) => after === count);
    if (expected !== undefined) {
      const { verdict, reason } = judge(state, settings);
      const wealth = [...state.fail, state.pass, ...state.alarms].map((value) => value.toFixed(5));
      const wanted = [...expected.fail, expected.pass, ...expected.alarms].map((value) => value.toFixed(5));
      expect({ count, verdict, reason, difference: difference(state), wealth }).toEqual({
        ...{ count, verdict: expected.verdict, reason: expected.reason },
        ...{ difference: expected.difference, wealth: wanted },
      });
    }
    if ((steps as number[]).includes(count)) state = restep(state);
  }
  expect(states.at(-1)?.after).toBe(batches.length - (batches.length % 5));
});
