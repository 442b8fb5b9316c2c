import { expect, it } from "vitest";
import { isPublicPicture } from "./pictures.ts";

it.each([
  "https://example.com/a.png",
  "http://cdn.example.co.uk:8080/a.png?x=1",
  "https://图片.example/猫.png",
  "data:image/png;base64,AA==",
  "data:image/svg+xml,%3Csvg/%3E",
])("lets a model's server see %s", (url) => {
  expect(isPublicPicture(url)).toBe(true);
});

it.each([
  "http://169.254.169.254/latest/meta-data/",
  "http://2852039166/",
  "http://0xa9.0xfe.0xa9.0xfe/",
  "http://127.1/",
  "http://①②⑦.0.0.1/",
  "http://0/",
  "http://[::1]:8000/",
  "http://[::ffff:10.0.0.1]/",
  "http://localhost:8000/metrics",
  "http://localhost./",
  "http://LOCALHOST/",
  "http://vllm/",
  "http://redis.default.svc/",
  "http://redis.default.svc.cluster.local./",
  "http://metadata.google.internal/",
  "https://user:pass@example.com/a.png",
  "file:///etc/passwd",
  "ftp://example.com/a.png",
  "data:text/html,x",
  "gopher://example.com/",
  "//example.com/a.png",
  "a.png",
  "",
])("sends no model's server to %s", (url) => {
  expect(isPublicPicture(url)).toBe(false);
});
