/**
 * Who an unauthenticated client is: the address that the edge saw. IPv6 counts by its /64, which one subscriber owns; an
 * IPv4 address is the same however it is written. What the client itself says of its address is not looked at.
 */
export function clientAddress(request: Request): string {
  const address = request.headers.get("cf-connecting-ip")?.trim().toLowerCase() ?? "";
  if (address === "") return "unknown";
  if (!address.includes(":")) return address;
  const groups = groupsOf(address.replace(/%.*$/, ""));
  return groups === null ? address.slice(0, 64) : (mapped(groups) ?? `${groups.slice(0, 4).map(hex).join(":")}::/64`);
}

/** The eight numbers of an IPv6 address, or null for anything else. */
function groupsOf(address: string): number[] | null {
  const [head = "", tail, ...more] = address.split("::");
  if (more.length > 0) return null;
  const left = numbers(head);
  const right = numbers(tail ?? "");
  const zeros = 8 - left.length - right.length;
  if (tail === undefined ? zeros !== 0 : zeros < 1) return null;
  const groups = [...left, ...Array<number>(zeros).fill(0), ...right];
  return groups.every((group) => group >= 0 && group <= 0xffff) ? groups : null;
}

/** The groups of one side of `::`; the last may be an IPv4 address, which is two. A group that is none is NaN. */
function numbers(side: string): number[] {
  if (side === "") return [];
  return side.split(":").flatMap((group) => {
    const ipv4 = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(group);
    if (ipv4 !== null) {
      const [a, b, c, d] = ipv4.slice(1).map(Number) as [number, number, number, number];
      return Math.max(a, b, c, d) > 255 ? [Number.NaN] : [a * 256 + b, c * 256 + d];
    }
    return [/^[0-9a-f]{1,4}$/.test(group) ? Number.parseInt(group, 16) : Number.NaN];
  });
}

/** The IPv4 address within an IPv4-mapped one, `::ffff:1.2.3.4`, or null. */
function mapped(groups: readonly number[]): string | null {
  const [high = 0, low = 0] = groups.slice(6);
  if (groups[5] !== 0xffff || groups.slice(0, 5).some((group) => group !== 0)) return null;
  return [high >> 8, high & 255, low >> 8, low & 255].join(".");
}

function hex(group: number): string {
  return group.toString(16);
}
