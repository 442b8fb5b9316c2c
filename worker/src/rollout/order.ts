/**
 * Which of two specs was uploaded later: above 0 when `left` was. An order is a time (ISO 8601, UTC), a LF, and an id;
 * clocks write fractions of any length, so text alone would put `…07Z` after `…07.5Z`.
 */
export function compareOrders(left: string, right: string): number {
  const [a, b] = [sortable(left), sortable(right)];
  return a < b ? -1 : a > b ? 1 : 0;
}

function sortable(order: string): string {
  const [time = "", id = ""] = order.split("\n");
  const [seconds = "", fraction = ""] = time.replace(/Z$/, "").split(".");
  return `${seconds}.${fraction.padEnd(9, "0")}\n${id}`;
}
