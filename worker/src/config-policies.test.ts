import { expect, it } from "vitest";
import policies from "../../tests/contract/policies.json";
import { stageConfig } from "../test/support/stage.ts";
import { parseConfig } from "./config.ts";

it("assumes of what a config leaves out what planning decides", () => {
  const { auth, ...blocks } = policies;
  const config = parseConfig(JSON.stringify(stageConfig({ auth: { required: auth.required } })));
  expect(config.auth).toEqual(auth);
  for (const [block, decided] of Object.entries(blocks)) {
    expect({ [block]: config[block as keyof typeof blocks] }).toEqual({ [block]: decided });
  }
});
