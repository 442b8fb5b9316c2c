import { describe, expect, it } from "vitest";
import { KnownPaths } from "./routes.ts";

function routes(): KnownPaths<string> {
  const paths = new KnownPaths<string>();
  paths.add("ALL", "*", "first");
  paths.add("GET", "/v1/models", "list");
  paths.add("GET", "/v1/models/:id", "one");
  paths.add("ALL", "/v1/models", "others");
  return paths;
}

const handlers = (paths: KnownPaths<string>, method: string, path: string) =>
  paths.match(method, path)[0].map(([handler]) => handler);

describe("routes", () => {
  it.each([
    ["GET", "/v1/models", ["first", "list", "others"]],
    ["POST", "/v1/models", ["first", "others"]],
    ["BREW", "/v1/models", ["first", "others"]],
    ["GET", "/v1/models/chat", ["first", "one"]],
    ["GET", "/nowhere", ["first"]],
  ])("are in the order in which they were declared, each time: %s %s", (method, path, expected) => {
    const paths = routes();
    for (let time = 0; time < 3; time++) expect(handlers(paths, method, path)).toEqual(expected);
  });

  it("tell one parameter from another, asked again and again", () => {
    const paths = routes();
    for (const id of ["a", "b", "a"]) {
      const [[, one]] = paths.match("GET", `/v1/models/${id}`) as [[unknown, [string, { id: string }]]];
      expect(one[1].id).toBe(id);
    }
  });

  it("that are added later are found", () => {
    const paths = routes();
    handlers(paths, "GET", "/v1/models");
    paths.add("GET", "/v1/models", "late");
    expect(handlers(paths, "GET", "/v1/models")).toEqual(["first", "list", "others", "late"]);
  });
});
