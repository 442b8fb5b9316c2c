import { describe, expect, it } from "vitest";
import { errorOf, Stage } from "../../../test/support/stage.ts";
import { sha256 } from "../../digest.ts";

const ADMIN = "adm-test-0123456789-0123456789";
const PAGE = "/_sluiceway/rollouts/dashboard";
const OURS = "https://gateway.test";
const basic = (password: string, user = "ann") => `Basic ${btoa(`${user}:${password}`)}`;
const RIGHT = basic(ADMIN);
const MARK = { "x-sluiceway-dashboard": "1" };

const stage = new Stage({}, { ADMIN_KEY: ADMIN });
const ask = (method: string, path: string, headers: Record<string, string>) =>
  stage.ask({ method, path, headers: { authorization: RIGHT, ...headers }, ...(method === "POST" && { body: {} }) });

describe("the dashboard's page", () => {
  it("asks a browser for the admin key, and opens by it under any user name", async () => {
    const closed = await ask("GET", PAGE, { authorization: "" });
    expect(closed.status).toBe(401);
    expect(closed.headers.get("www-authenticate")).toMatch(/^Basic realm="[^"]+", charset="UTF-8"$/);
    for (const user of ["ann", "", "北京"]) {
      const bytes = new TextEncoder().encode(`${user}:${ADMIN}`);
      const page = await ask("GET", PAGE, { authorization: `Basic ${btoa(String.fromCharCode(...bytes))}` });
      expect([page.status, page.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
      expect(page.headers.get("cache-control")).toBe("no-store");
    }
    expect((await ask("GET", PAGE, { authorization: `Bearer ${ADMIN}` })).status).toBe(200);
  });

  it.each([
    ["a wrong key", basic("wrong")],
    ["the callers' key", basic("test-key")],
    ["the key as the user's name", `Basic ${btoa(`${ADMIN}:`)}`],
    ["the key without a user", `Basic ${btoa(ADMIN)}`],
    ["no base64", "Basic %%%"],
    ["half of a letter", `Basic ${btoa("ann:\xff")}`],
    ["nothing", "Basic "],
  ])("does not open by %s", async (_, authorization) => {
    const response = await ask("GET", PAGE, { authorization });
    expect([response.status, (await errorOf(response)).code]).toEqual([401, "invalid_admin_key"]);
  });

  it("runs the script that it came with and no other, talks to its own origin alone, and stands in no frame", async () => {
    const page = await ask("GET", PAGE, {});
    const policy = new Map(
      (page.headers.get("content-security-policy") ?? "").split("; ").map((rule) => {
        const [name = "", ...sources] = rule.split(" ");
        return [name, sources.join(" ")];
      }),
    );
    const text = await page.text();
    for (const [tag, rule] of [
      ["script", "script-src"],
      ["style", "style-src"],
    ] as const) {
      const [, inline] = new RegExp(`<${tag}>([^]*?)</${tag}>`).exec(text) ?? [];
      const digest = btoa(String.fromCharCode(...(await sha256(inline ?? ""))));
      expect(policy.get(rule)).toBe(`'sha256-${digest}'`);
      expect(text.split(`<${tag}`)).toHaveLength(2);
    }
    for (const rule of ["default-src", "base-uri", "form-action", "frame-ancestors"]) {
      expect(policy.get(rule)).toBe("'none'");
    }
    expect(policy.get("connect-src")).toBe("'self'");
    expect(text).not.toMatch(/ on[a-z]+=| style=|innerHTML|insertAdjacentHTML|outerHTML|document\.write/);
  });

  it("is as good as absent on a stage without an admin key", async () => {
    const bare = new Stage({}, { ADMIN_KEY: "" });
    const response = await bare.ask({ path: PAGE, headers: { authorization: basic("") } });
    expect([response.status, response.headers.get("www-authenticate")]).toEqual([404, null]);
  });
});

describe("a password", () => {
  it("is asked for on the dashboard and by its calls, nowhere else", async () => {
    for (const path of ["/_sluiceway/rollouts", "/_sluiceway/rollouts/chat", "/_sluiceway/keys", `${PAGE}/x`]) {
      const response = await ask("GET", path, { authorization: "" });
      expect([response.status, response.headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
      const own = await ask("GET", path, { authorization: "", ...MARK });
      expect([own.status, own.headers.get("www-authenticate")?.slice(0, 5)]).toEqual([401, "Basic"]);
    }
  });

  it("opens nothing but the rollouts", async () => {
    for (const path of ["/_sluiceway/keys", "/_sluiceway/spend", "/_sluiceway/rolloutsx", "/v1/models"]) {
      expect((await ask("GET", path, MARK)).status).toBe(401);
    }
    expect((await ask("POST", "/_sluiceway/keys", { ...MARK, origin: OURS })).status).toBe(401);
  });

  it.each([
    ["a form of another site", "POST", { origin: "https://evil.test" }],
    ["a form of another site that says nothing of itself", "POST", {}],
    ["a page of another site that could set the header", "POST", { ...MARK, origin: "https://evil.test" }],
    ["a page without an origin", "POST", { ...MARK, origin: "null" }],
    ["who tells no origin", "POST", MARK],
    ["our host by another port", "POST", { ...MARK, origin: `${OURS}:8443` }],
    ["our host in clear", "POST", { ...MARK, origin: "http://gateway.test" }],
    ["our own origin without the header", "POST", { origin: OURS }],
    ["another value of the header", "POST", { "x-sluiceway-dashboard": "0", origin: OURS }],
    ["a picture of another site", "GET", {}],
    ["a change by another method", "DELETE", { ...MARK, origin: "https://evil.test" }],
  ])("presses no button for %s", async (_, method, headers) => {
    const response = await ask(method, "/_sluiceway/rollouts/chat/promote", headers as Record<string, string>);
    expect([response.status, (await errorOf(response)).code]).toEqual([403, "not_the_dashboard"]);
  });

  it("lets the dashboard's own calls through to what they ask for", async () => {
    const calls = [
      await ask("GET", "/_sluiceway/rollouts/nowhere/at-all", MARK),
      await ask("POST", "/_sluiceway/rollouts/nowhere/at-all", { ...MARK, origin: OURS }),
    ];
    expect(calls.map(({ status }) => status)).toEqual([404, 404]);
  });

  it("is not asked of a program, whose bearer key needs no header and no origin", async () => {
    const authorization = `Bearer ${ADMIN}`;
    expect((await ask("POST", "/_sluiceway/rollouts/nowhere/at-all", { authorization })).status).toBe(404);
  });

  it("can't be tried out by a page of another origin: nothing answers its question before", async () => {
    const headers = { origin: "https://evil.test", "access-control-request-method": "POST", authorization: "" };
    const response = await ask("OPTIONS", "/_sluiceway/rollouts/chat/promote", headers);
    expect(response.status).toBe(401);
    expect([...response.headers.keys()].filter((name) => name.startsWith("access-control-"))).toEqual([]);
  });
});
