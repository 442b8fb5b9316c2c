import { expect, it } from "vitest";
import { gate, stage } from "../../test/support/rollout.ts";

it("a gate that has nothing to judge holds nobody up, once another has passed", () => {
  const gates = [gate("errors"), gate("json"), gate("first_token")];
  const made = stage({ gates });
  made.wait(600);
  expect(made.view().step).toBe(0);
  for (let round = 0; round < 12; round++) {
    made.batch([1, 2].flatMap((version) => made.requests(version, 25, { first_token_ms: null })));
  }
  expect(made.view().step).toBe(1);
  // A single request of either arm, and it has something to say.
  made.batch(made.requests(1, 1, { json: false, first_token_ms: null }));
  for (let round = 0; round < 12; round++) {
    made.batch([1, 2].flatMap((version) => made.requests(version, 25, { first_token_ms: null })));
  }
  made.wait(600);
  expect(made.view()).toMatchObject({ step: 1, waiting: expect.stringContaining("JSON") });
});

it.each([{ candidate: 3 }, { stable: 2 }, { stable: 3, candidate: 2 }])(
  "golden prompts of other versions, %j, say nothing of a rollout",
  (versions) => {
    const made = stage({ checks: ["golden"] });
    const refused = made.check("pass", "48 of 50", versions);
    expect(refused).toMatchObject([{ kind: "refuse", code: "other_versions" }]);
    expect(made.view().phase).toBe("checking");
    made.check("pass", "48 of 50", { stable: 1, candidate: 2 });
    expect(made.view().phase).toBe("stepping");
  },
);
