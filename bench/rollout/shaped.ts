// Rollouts by the controller's own core under traffic as it is live: node shaped.ts healthy|common FIRST COUNT HOLD prints
// a JSON document a line, one for each seed. Same seeds, same output.
import { bothFail, healthy } from "../../worker/test/support/live-shaped-run.ts";

const [kind, ...numbers] = process.argv.slice(2);
const [first = 1, count = 1, hold = 120] = numbers.map(Number);
for (let seed = first; seed < first + count; seed++) {
  const run = kind === "common" ? bothFail(seed, hold) : healthy(seed, hold);
  console.log(JSON.stringify(run.run()));
}
