import { describe, expect, it } from "vitest";
import { Places } from "./places.ts";

describe("places", () => {
  it("are as many as there are, and free again when their work is over", () => {
    const places = new Places(2, 1_000);
    const first = places.take(0);
    expect(places.take(0)).not.toBeNull();
    expect(places.take(0)).toBeNull();
    first?.();
    first?.();
    expect(places.take(0)).not.toBeNull();
    expect(places.take(0)).toBeNull();
  });

  it("are free again when nothing was heard of their work for too long", () => {
    const places = new Places(1, 1_000);
    const lost = places.take(0);
    expect(places.take(1_000)).toBeNull();
    expect(places.take(1_001)).not.toBeNull();
    // Who comes back late frees no one else's place.
    lost?.();
    expect(places.take(1_001)).toBeNull();
  });
});
