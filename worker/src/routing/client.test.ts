import { expect, it } from "vitest";
import { clientAddress } from "./client.ts";

const from = (address: string) =>
  clientAddress(new Request("https://x.test", { headers: { "cf-connecting-ip": address } }));

it.each([
  ["1.2.3.4", "1.2.3.4"],
  ["::ffff:1.2.3.4", "1.2.3.4"],
  ["2001:db8:0:1:aaaa::1", "2001:db8:0:1::/64"],
  ["2001:0db8::1", "2001:db8:0:0::/64"],
  ["::1", "0:0:0:0::/64"],
])("takes %s for the client %s", (address, client) => {
  expect(from(address)).toBe(client);
});

it("doesn't believe x-forwarded-for", () => {
  expect(clientAddress(new Request("https://x.test", { headers: { "x-forwarded-for": "9.9.9.9" } }))).toBe("unknown");
});
