import { expect, it } from "vitest";
import { clientAddress } from "./client.ts";

const from = (address: string) =>
  clientAddress(new Request("https://x.test", { headers: { "cf-connecting-ip": address } }));

it.each([
  ["1.2.3.4", "1.2.3.4"],
  ["::ffff:1.2.3.4", "1.2.3.4"],
  ["::FFFF:1.2.3.4", "1.2.3.4"],
  ["::ffff:102:304", "1.2.3.4"],
  ["0:0:0:0:0:ffff:1.2.3.4", "1.2.3.4"],
  ["0000:0000:0000:0000:0000:ffff:0102:0304", "1.2.3.4"],
  ["2001:db8:0:1:aaaa::1", "2001:db8:0:1::/64"],
  ["2001:db8:0:1:bbbb:1:2:3", "2001:db8:0:1::/64"],
  ["2001:0DB8:0000:0001::", "2001:db8:0:1::/64"],
  ["2001:0db8::1", "2001:db8:0:0::/64"],
  ["fe80::1%eth0", "fe80:0:0:0::/64"],
  ["64:ff9b::1.2.3.4", "64:ff9b:0:0::/64"],
  ["::1", "0:0:0:0::/64"],
])("gw_12 takes %s for the client %s", (address, client) => {
  expect(from(address)).toBe(client);
});

it.each(["1::2::3", "1:2:3", "::ffff:1.2.3.999", "g::1", "1:2:3:4:5:6:7:8:9"])(
  "keeps %s, which is no address, as it is",
  (address) => {
    expect(from(address)).toBe(address);
  },
);

it("gw_12 doesn't believe x-forwarded-for", () => {
  expect(clientAddress(new Request("https://x.test", { headers: { "x-forwarded-for": "9.9.9.9" } }))).toBe("unknown");
});
