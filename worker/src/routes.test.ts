import { describe, expect, it } from "vitest";
import { type Context, pathOf } from "./context.ts";
import type { GatewayEnv } from "./env.ts";
import type { Handler } from "./gateway.ts";
import { Routes } from "./routes.ts";

const named =
  (name: string): Handler =>
  () =>
    new Response(name);

function routes(): Routes {
  const table = new Routes(
    () => new Response("not found", { status: 404 }),
    (thrown) => new Response(String(thrown), { status: 500 }),
  );
  table.add(null, "/*", async function first() {});
  table.add("GET", "/v1/models", named("list"));
  table.add("GET", "/v1/models/:id", (c) => new Response(c.req.param("id")));
  table.add(null, "/v1/models", named("others"));
  table.add(null, "/inner/*", named("inner"));
  return table;
}

const ask = async (table: Routes, method: string, path: string) => {
  const request = new Request(`https://gateway.test${path}`, { method });
  const answer = await table.fetch(request, {} as GatewayEnv, {} as ExecutionContext);
  return [answer.status, await answer.text()];
};

describe("routes", () => {
  it.each([
    ["GET", "/v1/models", 200, "list"],
    ["POST", "/v1/models", 200, "others"],
    ["HEAD", "/v1/models", 200, ""],
    ["GET", "/v1/models/chat", 200, "chat"],
    ["GET", "/v1/models/a%2Fb%20c%25", 200, "a/b c%"],
    ["GET", "/v1/models/%ff%zz", 200, "%ff%zz"],
    ["GET", "/v1/models/", 404, "not found"],
    ["GET", "/v1/models/a/b", 404, "not found"],
    ["GET", "/v1/models?limit=/1", 200, "list"],
    ["GET", "/v1/model%73", 200, "list"],
    ["POST", "/v1/models/chat", 404, "not found"],
    ["GET", "/inner", 200, "inner"],
    ["GET", "/inner/", 200, "inner"],
    ["PUT", "/inner/x/y", 200, "inner"],
    ["GET", "/innermost", 404, "not found"],
  ])("are found each time: %s %s", async (method, path, status, text) => {
    const table = routes();
    for (let time = 0; time < 3; time++) expect(await ask(table, method, path)).toEqual([status, text]);
  });

  it("tell one parameter from another, asked again and again", async () => {
    const table = routes();
    for (const id of ["a", "b", "a"]) expect(await ask(table, "GET", `/v1/models/${id}`)).toEqual([200, id]);
  });

  it("are in the order in which they were added, and end at the first that answers", async () => {
    const went: string[] = [];
    const table = new Routes(
      () => new Response("not found", { status: 404 }),
      () => new Response(null, { status: 500 }),
    );
    for (const name of ["one", "two"]) {
      table.add(null, "/*", {
        before: () => void went.push(name),
        after: () => void went.push(`${name} again`),
      });
    }
    table.add("GET", "/a", named("answer"));
    table.add("GET", "/a", async () => {
      went.push("never");
      return undefined;
    });
    table.add("GET", "/a", { after: () => void went.push("nor this") });
    expect(await ask(table, "GET", "/a")).toEqual([200, "answer"]);
    expect(went).toEqual(["one", "two", "two again", "one again"]);
  });

  it("let no answer pass by those whose way in it has not passed, and none that it has", async () => {
    const seen: [string, number][] = [];
    const table = new Routes(
      () => new Response(null, { status: 404 }),
      (thrown) => new Response(String(thrown), { status: 500 }),
    );
    const see = (name: string) => (c: Context) => void seen.push([name, c.res.status]);
    table.add(null, "/*", { after: see("outer") });
    table.add("GET", "/broken", () => {
      throw new Error("broken");
    });
    table.add("GET", "/rejected", async () => {
      throw new Error("rejected");
    });
    table.add("GET", "/late", {
      after: () => {
        throw new Error("late");
      },
    });
    table.add("GET", "/late", named("early"));
    table.add("GET", "/thrown", () => {
      throw "no error";
    });
    const shut = {
      before: () => {
        throw new Error("shut");
      },
      after: see("shut"),
    };
    table.add("GET", "/shut", shut, { after: see("inner") });
    table.add("GET", "/open", { before: named("by a layer"), after: see("open") }, { after: see("inner") });
    expect(await ask(table, "GET", "/broken")).toEqual([500, "Error: broken"]);
    expect(await ask(table, "GET", "/rejected")).toEqual([500, "Error: rejected"]);
    expect(await ask(table, "GET", "/late")).toEqual([500, "Error: late"]);
    expect(await ask(table, "GET", "/thrown")).toEqual([500, "no error"]);
    expect(await ask(table, "GET", "/shut")).toEqual([500, "Error: shut"]);
    expect(seen).toEqual([500, 500, 500, 500, 500].map((status) => ["outer", status]));
    expect(await ask(table, "GET", "/open")).toEqual([200, "by a layer"]);
    expect(seen.slice(5)).toEqual([
      ["open", 200],
      ["outer", 200],
    ]);
  });

  it("that are added later are found", async () => {
    const table = routes();
    expect(await ask(table, "GET", "/late")).toEqual([404, "not found"]);
    table.add("GET", "/late", named("late"));
    expect(await ask(table, "GET", "/late")).toEqual([200, "late"]);
  });
});

describe("a path", () => {
  it.each([
    ["https://a.test/", "/"],
    ["https://a.test:8443/v1/x?a=/b#c", "/v1/x"],
    ["https://a.test/%E4%B8%AD%20文", "/中 文"],
    ["https://a.test/a%2Fb%3Fc%23d", "/a%2Fb%3Fc%23d"],
    ["https://a.test/%2541", "/%2541"],
    ["https://a.test/%41%zz%ff", "/A%zz%ff"],
  ])("of %s is %s", (url, path) => {
    expect(pathOf(url)).toBe(path);
  });
});
