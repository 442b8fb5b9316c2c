import { afterEach, describe, expect, it, vi } from "vitest";
import { parseConfig } from "../config.ts";
import { durableClasses } from "../durable.ts";
import { Gate } from "../gate.ts";
import { routing } from "../routing.ts";
import { Sink } from "../sink.ts";
import { startupMessage } from "../validate.ts";
import { parseWorld, type Version, type Worker } from "../world.ts";

function version(id: string, number: number, classes: Record<string, string> = {}): Version {
  const exports = Object.fromEntries(
    Object.entries(classes).map(([name, storage]) => [name, { type: "durable-object", storage }]),
  );
  const modules = [{ name: "index.js", type: "esm" as const, sha256: id, path: `/${id}` }];
  return {
    id,
    number,
    tag: "",
    created_on: "",
    main_module: "index.js",
    modules,
    compatibility_date: "2026-07-01",
    compatibility_flags: [],
    bindings: [],
    exports,
    migrations: null,
  };
}

function worker(versions: Version[], shares: Record<string, number>): Worker {
  const deployment = {
    versions: Object.entries(shares).map(([version_id, percentage]) => ({ version_id, percentage })),
  };
  return { name: "w", versions, deployment, subdomain: { enabled: false, previews_enabled: false }, crons: [] };
}

describe("the version that owns a class", () => {
  const [a, b, c] = [
    version("a", 1, { Old: "legacy-kv", Both: "sqlite" }),
    version("b", 2, { Both: "sqlite" }),
    version("c", 3, { Both: "sqlite", New: "sqlite" }),
  ];

  it("is the newest deployed one that declares it, else the newest of all", () => {
    const hosts = durableClasses([worker([a, b, c], { a: 50, b: 50 })]).map(({ className, sqlite, host }) => [
      className,
      sqlite,
      host.id,
    ]);
    expect(hosts).toEqual([
      ["Both", true, "b"],
      ["Old", false, "a"],
      ["New", true, "c"],
    ]);
  });

  it("may be declared by migrations", () => {
    const migrated = {
      ...version("m", 1),
      migrations: { new_tag: "v1", steps: [{ new_sqlite_classes: ["S"] }, { new_classes: ["K"] }] },
    };
    expect(
      durableClasses([worker([migrated], { m: 100 })]).map(({ className, sqlite }) => [className, sqlite]),
    ).toEqual([
      ["S", true],
      ["K", false],
    ]);
  });
});

describe("a world", () => {
  it.each([
    [[], "must be an object"],
    [{}, "generation"],
    [{ generation: 1, workers: [{}] }, "name"],
    [{ generation: 1, workers: [worker([version("a", 1)], { b: 100 })] }, "deployed but not in the world"],
    [{ generation: 1, workers: [worker([], {}), worker([], {})] }, "same name"],
    [{ generation: 1, workers: [worker([{ ...version("a", 1), main_module: "other.js" }], {})] }, "main_module"],
    [
      {
        generation: 1,
        workers: [
          worker(
            [
              {
                ...version("a", 1),
                bindings: [
                  { name: "X", type: "ai" },
                  { name: "X", type: "ai" },
                ],
              },
            ],
            {},
          ),
        ],
      },
      "twice",
    ],
  ])("%# is refused with its reason", (world, words) => {
    expect(() => parseWorld(world)).toThrow(words);
  });

  it("has the newest version first in its split, whatever the order of the deployment", () => {
    const world = parseWorld({
      generation: 1,
      workers: [worker([version("a", 1), version("b", 2)], { a: 90, b: 10 })],
    });
    const { table } = routing(world, "workers.dev");
    expect(table.workers.w?.split).toEqual([
      { id: "b", percentage: 10 },
      { id: "a", percentage: 90 },
    ]);
    expect(table.main).toBe("w");
    expect(table.suffix).toBe("local.workers.dev");
  });
});

describe("the gate", () => {
  it("holds who comes while it is closed, and waits for who is inside", async () => {
    const gate = new Gate();
    const leave = await gate.enter();
    const order: string[] = [];
    const closing = gate.close(60_000).then((left) => order.push(`closed with ${left}`));
    const late = gate.enter().then(() => order.push("entered"));
    leave();
    leave();
    await closing;
    expect(order).toEqual(["closed with 0"]);
    gate.open();
    await late;
    expect(order).toEqual(["closed with 0", "entered"]);
    expect(gate.inside).toBe(1);
  });

  it("gives up waiting at its limit and says how many are left", async () => {
    const gate = new Gate();
    await gate.enter();
    expect(await gate.close(5)).toBe(1);
  });
});

describe("the sink", () => {
  afterEach(() => vi.restoreAllMocks());

  it("posts what comes together in one batch, in order", async () => {
    const bodies: unknown[][] = [];
    const post = vi.fn(async (_url: unknown, init?: RequestInit) => {
      bodies.push(JSON.parse(String(init?.body)));
      return new Response("{}");
    });
    const sink = new Sink("http://sink/", post as unknown as typeof fetch);
    sink.add([1]);
    sink.add([2]);
    sink.add([3, 4]);
    await vi.waitFor(() => expect(bodies.flat()).toHaveLength(4));
    expect(bodies).toEqual([[1, 2, 3, 4]]);
  });

  it("drops rather than grows without end", async () => {
    const said = vi.spyOn(process.stderr, "write").mockReturnValue(true);
    const post = vi.fn(async () => {
      throw new Error("down");
    });
    const sink = new Sink("http://sink/", post as unknown as typeof fetch);
    sink.add(Array.from({ length: 20_000 }));
    await vi.waitFor(() => expect(said.mock.calls.join("")).toContain("events were dropped"));
    expect(said.mock.calls.join("")).toContain('"count":20000');
  });
});

describe("the config", () => {
  const good = { data: "/d", admin_token: "t", ai_url: "http://a", s3: { access_key_id: "i", secret_access_key: "s" } };

  it("fills in what is not given", () => {
    expect(parseConfig(JSON.stringify(good))).toMatchObject({
      frontPort: 8787,
      sinkUrl: null,
      hostSuffix: "workers.dev",
      drainMs: 5000,
    });
  });

  it.each([
    ["not json", "not JSON"],
    [JSON.stringify({ ...good, data: "" }), "data"],
    [JSON.stringify({ ...good, front_port: "80" }), "front_port"],
    [JSON.stringify({ ...good, s3: null }), "access_key_id"],
  ])("%# names what is wrong", (line, words) => {
    expect(() => parseConfig(line)).toThrow(words);
  });
});

it("a start-up message is the script's own fault without the runtime's decoration", () => {
  const noise = "The Workers runtime failed to start.\nRuntime stderr:\n";
  const stderr =
    "\u001b[31mservice core:user:candidate: Uncaught Error: boom\u001b[0m\n  at index.js:1:7\n*** Received signal\nstack: 55a 55b\n";
  expect(startupMessage(new Error(noise + stderr))).toBe("Uncaught Error: boom\n  at index.js:1:7");
});
