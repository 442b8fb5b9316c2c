/** Who an unauthenticated client is: the address that the edge saw, IPv6 by its /64, which one subscriber owns. */
export function clientAddress(request: Request): string {
  const address = request.headers.get("cf-connecting-ip")?.trim().toLowerCase() ?? "";
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/.exec(address);
  if (mapped !== null) return mapped[1] as string;
  if (!address.includes(":")) return address === "" ? "unknown" : address;
  return `${firstHextets(address).join(":")}::/64`;
}

/** First four groups of an IPv6 address, with `::` written out. */
function firstHextets(address: string): string[] {
  const [head = "", tail] = address.split("::", 2);
  const left = head === "" ? [] : head.split(":");
  const right = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - left.length - right.length);
  const groups = [...left, ...Array<string>(zeros).fill("0"), ...right];
  return groups.slice(0, 4).map((group) => group.replace(/^0+(?=.)/, ""));
}
