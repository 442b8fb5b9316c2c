import { describe, expect, it } from "vitest";
import { type Context, pathOf } from "./context.ts";
import type { GatewayEnv } from "./env.ts";
import type { GatewayMiddleware } from "./gateway.ts";
import { Routes } from "./routes.ts";

const named =
  (name: string): GatewayMiddleware =>
  () =>
    new Response(name);

function routes(): Routes {
  const table = new Routes(
    () => new Response("not found", { status: 404 }),
    (error) => new Response(error.message, { status: 500 }),
  );
  table.add(null, "/*", async function first(_c, next) {
    await next();
  });
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
      table.add(null, "/*", async (_c, next) => {
        went.push(name);
        await next();
        went.push(`${name} again`);
      });
    }
    table.add("GET", "/a", named("answer"));
    table.add("GET", "/a", async () => {
      went.push("never");
      return undefined;
    });
    expect(await ask(table, "GET", "/a")).toEqual([200, "answer"]);
    expect(went).toEqual(["one", "two", "two again", "one again"]);
  });

  it("answer an error where it was thrown, so that those around see an answer", async () => {
    const seen: number[] = [];
    const table = new Routes(
      () => new Response(null, { status: 404 }),
      (error) => new Response(error.message, { status: 500 }),
    );
    table.add(null, "/*", async (c: Context, next) => {
      await next();
      seen.push(c.res.status);
    });
    table.add("GET", "/broken", () => {
      throw new Error("broken");
    });
    table.add("GET", "/late", async (c: Context, next) => {
      c.res = new Response("too early");
      await next();
      throw new Error("late");
    });
    table.add("GET", "/thrown", () => {
      throw "no error";
    });
    expect(await ask(table, "GET", "/broken")).toEqual([500, "broken"]);
    expect(await ask(table, "GET", "/late")).toEqual([500, "late"]);
    expect(seen).toEqual([500, 500]);
    await expect(ask(table, "GET", "/thrown")).rejects.toBe("no error");
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
