import { expect, it } from "vitest";
import contract from "../../tests/contract/rollout.json";
import { stageConfig } from "../test/support/stage.ts";
import { parseConfig } from "./config.ts";

const version = { backend: "workers-ai", id: "@cf/made/up" };
const versions = { "1": version, "2": version, "3": version };

it.each(contract.cases)("takes from planning, as it was written, $name", ({ split, rollout }) => {
  const models = { chat: { task: "chat", versions, split, rollout } };
  const { chat } = parseConfig(JSON.stringify(stageConfig({ models }))).models;
  expect(chat?.rollout).toStrictEqual(rollout);
  expect(chat?.split).toStrictEqual(split);
});

it("takes nothing of a rollout for granted: each field that planning writes is needed", () => {
  for (const { split, rollout } of contract.cases) {
    // Only a rollout that sends probes has them, so that the others stay what they were.
    for (const field of Object.keys(rollout).filter((name) => name !== "probes")) {
      const { [field as "strategy"]: _, ...rest } = rollout;
      const models = { chat: { task: "chat", versions, split, rollout: rest } };
      expect(() => parseConfig(JSON.stringify(stageConfig({ models })))).toThrow(`models.chat.rollout.${field}`);
    }
  }
});
