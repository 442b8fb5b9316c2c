import { describe, expect, it } from "vitest";
import { isPrivate } from "./loopback.ts";

describe("isPrivate", () => {
  it.each([
    "https://example.com/",
    "https://localhost.example.com/",
    "http://localhost/",
    "http://LOCALHOST:9000/a",
    "http://127.0.0.1:1/",
    "http://127.1.2.3/",
    "http://0x7f000001/",
    "http://[::1]:8000/v1",
  ])("takes %s", (url) => expect(isPrivate(new URL(url))).toBe(true));

  it.each([
    "http://example.com/",
    "http://127.0.0.1.example.com/",
    "http://localhost.example.com/",
    "http://localhost@example.com/",
    "http://127.0.0.1:80@example.com/",
    "http://10.0.0.1/",
    "http://[::2]/",
    "ftp://localhost/",
    "data:text/plain,localhost",
  ])("refuses %s", (url) => expect(isPrivate(new URL(url))).toBe(false));
});
