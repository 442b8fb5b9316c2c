import { describe, expect, it } from "vitest";
import { S3Faults } from "../s3_faults.ts";

const MET = { after: true, drop: false, delay_ms: 0, answer: { status: 503, headers: {}, body: "<Error/>" } };

function asked(answer: () => Promise<Response>) {
  const calls: unknown[] = [];
  const faults = new S3Faults("http://control/fault", (async (_url: string, init: RequestInit) => {
    calls.push(JSON.parse(String(init.body)));
    return answer();
  }) as typeof fetch);
  return { faults, calls };
}

describe("faults of the S3 API", () => {
  it("nobody is asked while there are none", async () => {
    const { faults, calls } = asked(async () => Response.json(MET));
    expect(await faults.ask("PUT", "/models/a")).toBeNull();
    expect(calls).toEqual([]);
  });

  it("a call is told what it meets", async () => {
    const { faults, calls } = asked(async () => Response.json(MET));
    faults.on = true;
    expect(await faults.ask("PUT", "/models/a")).toEqual(MET);
    expect(calls).toEqual([{ method: "PUT", path: "/models/a" }]);
  });

  it("a control plane that is away hurts no call", async () => {
    const { faults } = asked(() => Promise.reject(new Error("away")));
    faults.on = true;
    expect(await faults.ask("GET", "/models/a")).toBeNull();
    expect(await new S3Faults(null).ask("GET", "/")).toBeNull();
  });
});
