import { describe, expect, it } from "vitest";
import { SecretText } from "./secret-text.ts";

describe("a secret text", () => {
  const secret = "sk-slw-0123456789";

  it.each([
    ["itself", secret, true],
    ["nothing", "", false],
    ["its beginning", secret.slice(0, -1), false],
    ["more than it", `${secret}0`, false],
    ["it and a NUL, which it is padded with", `${secret}\0`, false],
    ["as long a text", secret.replace("9", "8"), false],
    ["a text that is cut to it", `${secret}${"x".repeat(1_000)}`, false],
  ])("is told from %s", (_, text, same) => {
    expect(new SecretText(secret).equals(text)).toBe(same);
  });

  it("compares each text by itself, whatever was compared before", () => {
    const compared = new SecretText(secret);
    for (const text of ["x".repeat(400), "", "y"]) {
      expect(compared.equals(text)).toBe(false);
      expect(compared.equals(secret)).toBe(true);
    }
  });

  it("leaves one that is too long to the digest, also to itself", () => {
    const long = "é".repeat(400);
    expect(new SecretText(long).equals(long)).toBe(false);
    expect(new SecretText("").equals("")).toBe(true);
  });
});
