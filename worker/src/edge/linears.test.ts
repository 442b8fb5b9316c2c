import { env } from "cloudflare:test";
import { beforeEach, expect, it } from "vitest";
import { published, ROUTER } from "../../test/support/models.ts";
import type { ModelVersion } from "../config.ts";
import type { GatewayEnv } from "../env.ts";
import { Linears } from "./linears.ts";

const { MODELS } = env as unknown as GatewayEnv;
let now = 1_000;
let asked = 0;
/** The bucket, counting. `before` runs before each read. */
function counted(before: () => Promise<void> = async () => {}): R2Bucket {
  const get = async (key: string) => {
    asked++;
    await before();
    return MODELS.get(key);
  };
  return { get } as unknown as R2Bucket;
}
const waits = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
const newLinears = () => new Linears(() => now, waits);
let version: ModelVersion;

beforeEach(async () => {
  asked = 0;
  version = (await published(MODELS, "router", ROUTER)) as ModelVersion;
});

it("reads a model once, however many ask at the same time", async () => {
  const linears = newLinears();
  const store = counted(() => waits(30));
  const all = await Promise.all(Array.from({ length: 20 }, () => linears.get(store, version)));
  expect(new Set(all).size).toBe(1);
  expect(await linears.get(store, version)).toBe(all[0]);
  expect(asked).toBe(1);
});

it("lets nobody wait for long for another one's load", async () => {
  const linears = newLinears();
  let release = () => {};
  const stuck = counted(() => new Promise((resolve) => (release = resolve)));
  const first = linears.get(stuck, version);
  await expect(linears.get(stuck, version)).rejects.toThrow("is being loaded");
  expect(asked).toBe(1);
  release();
  expect((await first).labels).toEqual(["complex", "simple"]);
});

it("takes over from a request that never came back", async () => {
  const linears = newLinears();
  void linears.get(
    counted(() => new Promise(() => {})),
    version,
  );
  now += 2_001;
  expect((await linears.get(counted(), version)).labels).toEqual(["complex", "simple"]);
});

it("doesn't ask again at once for what can't be read, and does later", async () => {
  const linears = newLinears();
  const broken = counted(async () => {
    throw new Error("R2 is down");
  });
  await expect(linears.get(broken, version)).rejects.toThrow("R2 is down");
  await expect(linears.get(counted(), version)).rejects.toThrow("R2 is down");
  expect(asked).toBe(1);
  now += 10_001;
  expect((await linears.get(counted(), version)).labels).toEqual(["complex", "simple"]);
});

it("takes no bytes but those of the digest", async () => {
  const bytes = ROUTER.slice();
  bytes[20_000] = (bytes[20_000] as number) ^ 1;
  await MODELS.put(version.artifact?.files[0]?.key as string, bytes);
  await expect(newLinears().get(MODELS, version)).rejects.toThrow("not what its digest says");
});

it("says that an artifact has not been uploaded", async () => {
  await MODELS.delete(version.artifact?.files[0]?.key as string);
  await expect(newLinears().get(MODELS, version)).rejects.toThrow("has not been uploaded");
});

it("reads no file that is larger than an isolate has room for", async () => {
  const files = version.artifact?.files.map((file) => ({ ...file, bytes: 5_000_000 })) ?? [];
  await expect(newLinears().get(counted(), { ...version, artifact: { files } })).rejects.toThrow("no linear model");
  expect(asked).toBe(0);
});
