import { expect, it } from "vitest";
import { modelsWith, rolloutSpec } from "../../test/support/rollout-spec.ts";
import { Stage } from "../../test/support/stage.ts";
import type { JournalPage } from "./port.ts";
import type { RolloutView } from "./types.ts";

const ADMIN = "adm-test-0123456789-0123456789";
const OURS = "https://gateway.test";
/** A terminal's request, and the one that the dashboard's button sends. */
const HANDS = {
  terminal: { authorization: `Bearer ${ADMIN}` },
  dashboard: { authorization: `Basic ${btoa(`bo:${ADMIN}`)}`, "x-sluiceway-dashboard": "1", origin: OURS },
} as const;

let stages = 0;

it.each([
  ["rollback", "rollback"],
  ["promote", "promote"],
  ["promote", "rollback"],
])(
  "of %s in a terminal and %s on the dashboard, pressed at once on the same view, one is done",
  async (first, second) => {
    const models = modelsWith(rolloutSpec());
    // Two people are two isolates at least; the controller is one.
    const name = `at-once-${++stages}`;
    const both = [1, 2].map(() => new Stage({ stage: name, models }, { ADMIN_KEY: ADMIN }));
    const [terminal, dashboard] = both as [Stage, Stage];
    const path = "/_sluiceway/rollouts/chat";
    const seen = await terminal.ask({ method: "GET", path, headers: HANDS.terminal });
    const { revision } = (await seen.json()) as RolloutView;
    const press = (stage: Stage, command: string, actor: string, headers: Record<string, string>) =>
      stage.ask({ method: "POST", path: `${path}/${command}`, body: { actor, expect: revision }, headers });
    const answers = await Promise.all([
      press(terminal, first, "ann", HANDS.terminal),
      press(dashboard, second, "bo", HANDS.dashboard),
    ]);
    const told = await Promise.all(answers.map((answer) => answer.json()));
    expect(answers.map(({ status }) => status).sort(), JSON.stringify(told)).toEqual([200, 409]);
    const refused = told[answers.findIndex(({ status }) => status === 409)];
    expect(refused).toMatchObject({ error: { code: "revision_moved" } });

    const journal = await terminal.ask({
      method: "GET",
      path: "/_sluiceway/rollouts/journal?model=chat",
      headers: HANDS.terminal,
    });
    const { entries } = (await journal.json()) as JournalPage;
    expect(entries.map(({ kind }) => kind).filter((kind) => kind !== "start" && kind !== "refused")).toHaveLength(1);
  },
);
