import { exportJWK, exportSPKI, generateKeyPair, type JWK, type JWTPayload, SignJWT } from "jose";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { chatBody, errorOf, Stage } from "../../test/support/stage.ts";

const ISSUER = "https://id.example.test";
const AUDIENCE = "gateway";
const JWKS = `${ISSUER}/keys`;
const CERTS = "https://acme.cloudflareaccess.com/cdn-cgi/access/certs";

interface Pair {
  readonly privateKey: CryptoKey;
  readonly publicKey: CryptoKey;
  readonly jwk: JWK;
}

const pairs: Record<string, Pair> = {};

/** What the issuers publish, and how often they were asked. */
const published: { keys: unknown; status: number; asked: string[] } = { keys: [], status: 200, asked: [] };

async function makePair(kid: string, alg: string): Promise<void> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  pairs[kid] = { privateKey, publicKey, jwk: { ...(await exportJWK(publicKey)), kid, use: "sig" } };
}

function pair(kid: string): Pair {
  const found = pairs[kid];
  if (found === undefined) throw new Error(`no pair ${kid}`);
  return found;
}

beforeAll(async () => {
  await Promise.all([makePair("rsa-1", "RS256"), makePair("rsa-2", "RS256"), makePair("ec-1", "ES256")]);
});

beforeEach(() => {
  Object.assign(published, { keys: [pair("rsa-1").jwk, pair("ec-1").jwk], status: 200, asked: [] });
  vi.stubGlobal("fetch", async (url: string) => {
    published.asked.push(url);
    return Response.json({ keys: published.keys }, { status: published.status });
  });
});

afterEach(() => {
  vi.unstubAllGlobals();
});

const issuer = (changes: object = {}) => ({ issuer: ISSUER, jwks_uri: JWKS, audience: [AUDIENCE], ...changes });
const stageWith = (changes: object = {}, auth: object = {}) =>
  new Stage({ auth: { required: true, issuers: [issuer(changes)], ...auth } });

const seconds = (ahead: number) => Math.floor(Date.now() / 1000) + ahead;

/** A token; `claims` add to good ones, and take away where they say undefined. */
async function token(claims: JWTPayload = {}, { kid = "rsa-1", alg = "RS256", key = "" } = {}): Promise<string> {
  const good = { iss: ISSUER, aud: AUDIENCE, sub: "ann", exp: seconds(300), ...claims };
  return new SignJWT(good).setProtectedHeader({ alg, kid }).sign(pair(key || kid).privateKey);
}

const base64url = (value: unknown) =>
  btoa(typeof value === "string" ? value : JSON.stringify(value))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replace(/=+$/, "");

async function ask(stage: Stage, bearer: string, headers: Record<string, string> = {}): Promise<Response> {
  const authorization = bearer === "" ? "" : `Bearer ${bearer}`;
  return stage.ask({ path: "/v1/chat/completions", body: chatBody(), headers: { authorization, ...headers } });
}

/** Status, body without the request id, and headers that could tell one refusal from another. */
async function shown(response: Response): Promise<string> {
  const { request_id: _, ...error } = await errorOf(response);
  return JSON.stringify([response.status, response.headers.get("www-authenticate"), error]);
}

describe("a token", () => {
  it.each([
    ["RS256", "rsa-1", {}],
    ["ES256", "ec-1", {}],
    ["RS256", "rsa-1", { aud: ["other", AUDIENCE] }],
    ["RS256", "rsa-1", { exp: seconds(-30) }],
    ["RS256", "rsa-1", { nbf: seconds(30) }],
  ])("gw_18 signed by %s with %s and %j lets its caller in", async (alg, kid, claims) => {
    const stage = stageWith();
    const response = await ask(stage, await token(claims, { kid, alg }));
    expect(response.status).toBe(200);
  });

  it("gw_18 doesn't decide its own algorithm, nor forgo a claim: the same 401 for each, with the reason in the log", async () => {
    const payload = base64url({ iss: ISSUER, aud: AUDIENCE, sub: "ann", exp: seconds(300) });
    const good = await token();
    const [header, body, signature] = good.split(".") as [string, string, string];
    const pem = new TextEncoder().encode(await exportSPKI(pair("rsa-1").publicKey));
    const hmac = (alg: string) =>
      new SignJWT({ iss: ISSUER, aud: AUDIENCE, sub: "ann", exp: seconds(300) })
        .setProtectedHeader({ alg, kid: "rsa-1" })
        .sign(pem);
    const hostile: [string, string][] = [
      ["token_algorithm", `${base64url({ alg: "none" })}.${payload}.`],
      ["token_algorithm", `${base64url({ alg: "None", kid: "rsa-1" })}.${payload}.`],
      ["token_algorithm", `${base64url({ alg: "none", kid: "rsa-1" })}.${payload}.${signature}`],
      ["token_algorithm", `${base64url({ kid: "rsa-1" })}.${payload}.${signature}`],
      ["token_algorithm", `${base64url({ alg: ["RS256"], kid: "rsa-1" })}.${payload}.${signature}`],
      ["token_algorithm", `${base64url({ alg: "__proto__", kid: "rsa-1" })}.${payload}.${signature}`],
      ["token_algorithm", await hmac("HS256")],
      ["token_signature", `${header}.${body}.`],
      [
        "token_signature",
        `${header}.${payload}x.${signature}`.replace(
          `${payload}x`,
          base64url({ iss: ISSUER, aud: AUDIENCE, sub: "root", exp: seconds(300) }),
        ),
      ],
      ["token_signature", await token({}, { kid: "rsa-1", key: "rsa-2" })],
      ["token_key_unknown", await token({}, { kid: "ec-1", alg: "RS256", key: "rsa-1" })],
      ["token_key_unknown", await token({}, { kid: "rsa-9", key: "rsa-1" })],
      ["token_aud", await token({ aud: "another" })],
      ["token_aud", await token({ aud: undefined as never })],
      ["token_exp", await token({ exp: undefined as never })],
      ["token_exp", await token({ exp: "tomorrow" as never })],
      ["token_exp", await token({ exp: seconds(-120) })],
      ["token_nbf", await token({ nbf: seconds(120) })],
      ["token_issuer", await token({ iss: "https://evil.test" })],
      ["token_issuer", await token({ iss: `${ISSUER}/` })],
      ["token_subject", await token({ sub: undefined as never })],
      ["token_subject", await token({ sub: "" })],
      ["token_malformed", "a.b.c"],
      ["token_malformed", `${base64url("null")}.${base64url("[]")}.x`],
      ["wrong_key", `${good}.${good}`],
      ["wrong_key", `${"a".repeat(20_000)}.b.c`],
    ];
    const stage = stageWith();
    const told = new Set<string>();
    const reasons: [string, string][] = [];
    for (const [reason, text] of hostile) {
      const response = await ask(stage, text);
      expect([reason, response.status]).toEqual([reason, 401]);
      told.add(await shown(response));
      reasons.push([reason, String(stage.requestLogs.at(-1)?.refusal)]);
    }
    expect(reasons.map(([, found]) => found)).toEqual(reasons.map(([wanted]) => wanted));
    told.add(await shown(await ask(stage, "")));
    told.add(await shown(await ask(stage, "plain-wrong-key")));
    expect(told.size).toBe(1);
    expect((await ask(stage, good)).status).toBe(200);
  });

  it("gw_18 is taken by no stage that trusts no issuer, and asks nobody for keys", async () => {
    expect((await ask(new Stage(), await token())).status).toBe(401);
    expect(published.asked).toEqual([]);
  });

  it("signed by a key that is no public key of a signature is refused", async () => {
    const secret = { kty: "oct", k: base64url("x".repeat(32)), kid: "rsa-1" };
    const privateKey = { ...(await exportJWK(pair("rsa-1").privateKey)), kid: "rsa-1" };
    for (const jwk of [
      secret,
      privateKey,
      { ...pair("rsa-1").jwk, use: "enc" },
      { ...pair("rsa-1").jwk, alg: "PS256" },
      null,
      7,
    ]) {
      published.keys = [jwk];
      expect((await ask(stageWith(), await token())).status).toBe(401);
    }
    published.keys = [pair("rsa-1").jwk, { ...pair("rsa-2").jwk, kid: "rsa-1" }];
    expect((await ask(stageWith(), await token())).status).toBe(401);
  });

  it("is no longer good when its time is over, though its signature was checked before", async () => {
    const stage = stageWith();
    const text = await token({ exp: seconds(10) });
    expect((await ask(stage, text)).status).toBe(200);
    stage.ahead = 65_000;
    expect((await ask(stage, text)).status).toBe(200);
    stage.ahead = 75_000;
    expect((await ask(stage, text)).status).toBe(401);
  });

  it("names its caller: the same over tokens, another for another subject or issuer", async () => {
    const second = issuer({ issuer: "https://other.test", jwks_uri: "https://other.test/keys" });
    const stage = new Stage({ auth: { required: true, issuers: [issuer(), second] } });
    for (const claims of [{}, { exp: seconds(500) }, { sub: "bob" }, { iss: "https://other.test" }]) {
      expect((await ask(stage, await token(claims))).status).toBe(200);
    }
    const [ann, again, bob, other] = stage.requestLogs.map((line) => line.key_id);
    expect(again).toBe(ann);
    expect(new Set([ann, bob, other]).size).toBe(3);
  });
});

describe("claims", () => {
  const models = { models_claim: "realm_access.models" };

  it.each([
    [{ realm_access: { models: ["chat"] } }, 200],
    [{ realm_access: { models: "intent chat" } }, 200],
    [{ "realm_access.models": ["chat"], realm_access: { models: [] } }, 200],
    [{ realm_access: { models: ["intent"] } }, 403],
    [{ realm_access: { models: [] } }, 403],
    [{ realm_access: { models: { chat: true } } }, 403],
    [{ realm_access: "chat" }, 403],
    [{}, 403],
  ])("%j allow what they list: %d", async (claims, status) => {
    expect((await ask(stageWith(models), await token(claims))).status).toBe(status);
  });

  it("may name the subject", async () => {
    const stage = stageWith({ subject_claim: "client_id" });
    expect((await ask(stage, await token({ client_id: "svc" }))).status).toBe(200);
    expect((await ask(stage, await token())).status).toBe(401);
  });
});

describe("an issuer's keys", () => {
  it("are asked for once, however many tokens come", async () => {
    const stage = stageWith();
    for (let at = 0; at < 20; at++) expect((await ask(stage, await token({ jti: String(at) }))).status).toBe(200);
    expect(published.asked).toEqual([JWKS]);
  });

  it("rotate: a new one is found at once, by all who come with it", async () => {
    const stage = stageWith();
    expect((await ask(stage, await token())).status).toBe(200);
    published.keys = [pair("rsa-2").jwk];
    stage.ahead = 31_000;
    const tokens = await Promise.all(
      Array.from({ length: 8 }, (_, at) => token({ jti: String(at) }, { kid: "rsa-2" })),
    );
    const answers = await Promise.all(tokens.map((text) => ask(stage, text)));
    expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(200));
    expect(published.asked).toHaveLength(2);
    // The one that was withdrawn is good no more.
    expect((await ask(stage, await token({ jti: "old" }))).status).toBe(401);
  });

  it("are asked for by made-up ids at most once in 30 s", async () => {
    const stage = stageWith();
    await ask(stage, await token());
    const made = async () =>
      ask(stage, await token({ jti: crypto.randomUUID() }, { kid: crypto.randomUUID(), key: "rsa-1" }));
    for (let second = 0; second < 90; second++) {
      stage.ahead = second * 1_000;
      expect((await made()).status).toBe(401);
    }
    expect(published.asked.length).toBeLessThanOrEqual(4);
  });

  it("that can't be had make a 503, not a 401, and stand for a day once they were had", async () => {
    published.status = 500;
    const stage = stageWith();
    const response = await ask(stage, await token());
    expect([response.status, (await errorOf(response)).code]).toEqual([503, "access_unavailable"]);
    published.status = 200;
    stage.ahead = 3_000;
    expect((await ask(stage, await token())).status).toBe(200);
    published.status = 500;
    stage.ahead = 3_600_000;
    expect((await ask(stage, await token({ exp: seconds(4_000) }))).status).toBe(200);
    stage.ahead = 86_405_000;
    expect((await ask(stage, await token({ exp: seconds(90_000) }))).status).toBe(503);
  });

  it.each([["not JSON"], [{ keys: "none" }], [[]], [null]])("that are %j are none", async (answer) => {
    const body = typeof answer === "string" ? answer : JSON.stringify(answer);
    vi.stubGlobal("fetch", async () => new Response(body));
    expect((await ask(stageWith(), await token())).status).toBe(503);
  });

  it("are taken from no redirect", async () => {
    const asked = vi.fn(async (_: string, init: RequestInit) => {
      expect(init.redirect).toBe("manual");
      return new Response(null, { status: 302, headers: { location: "https://evil.test/keys" } });
    });
    vi.stubGlobal("fetch", asked);
    expect((await ask(stageWith(), await token())).status).toBe(503);
    expect(asked).toHaveBeenCalledOnce();
  });
});

describe("Cloudflare Access", () => {
  const auth = { required: true, access: { team_domain: "acme.cloudflareaccess.com", audience: ["app-1"] } };
  const person = { iss: "https://acme.cloudflareaccess.com", aud: ["app-1"], email: "ann@acme.test" };

  it.each([["acme"], ["https://acme.cloudflareaccess.com/"], ["acme.cloudflareaccess.com"]])(
    "lets in whom it vouches for, by the team %s",
    async (team_domain) => {
      const stage = new Stage({ auth: { required: true, access: { ...auth.access, team_domain } } });
      const assertion = await token(person);
      expect((await ask(stage, "", { "cf-access-jwt-assertion": assertion })).status).toBe(200);
      expect(published.asked).toEqual([CERTS]);
    },
  );

  it("lets in a service, whose assertion has no subject but a common name", async () => {
    const assertion = await token({ ...person, sub: "", common_name: "client.access" });
    expect((await ask(new Stage({ auth }), "", { "cf-access-jwt-assertion": assertion })).status).toBe(200);
  });

  it("lets nobody in by an assertion that was made for another application, or in another place", async () => {
    const other = await token({ ...person, aud: ["app-2"] });
    const good = await token(person);
    const stage = new Stage({ auth });
    expect((await ask(stage, "", { "cf-access-jwt-assertion": other })).status).toBe(401);
    expect((await ask(stage, "", { "cf-access-jwt-assertion": "x" })).status).toBe(401);
    expect((await ask(stage, good)).status).toBe(401);
    expect((await ask(new Stage(), "", { "cf-access-jwt-assertion": good })).status).toBe(401);
  });

  it("doesn't outweigh a key that was sent and is wrong", async () => {
    const headers = { "cf-access-jwt-assertion": await token(person) };
    expect((await ask(new Stage({ auth }), "wrong", headers)).status).toBe(401);
  });
});
