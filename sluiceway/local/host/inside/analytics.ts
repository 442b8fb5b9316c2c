/** An Analytics Engine dataset whose points reach the host. Returns nothing and throws for bad points, as the real one does. */

interface Env {
  dataset: string;
  script: string;
  version: string;
  SINK: Fetcher;
}

interface Point {
  indexes?: unknown[];
  doubles?: number[];
  blobs?: unknown[];
}

const LIMITS = { indexes: 1, doubles: 20, blobs: 20 } as const;

function plain(value: unknown): unknown {
  return value instanceof ArrayBuffer ? new TextDecoder().decode(value) : value;
}

function checked(point: Point): Point {
  for (const [name, most] of Object.entries(LIMITS)) {
    const list = point[name as keyof Point] ?? [];
    if (!Array.isArray(list)) throw new TypeError(`writeDataPoint(): "${name}" must be an array.`);
    if (list.length > most) throw new TypeError(`writeDataPoint(): Maximum of ${most} ${name} supported.`);
  }
  return point;
}

export function dataset(env: Env): { writeDataPoint(point?: Point): void } {
  return {
    writeDataPoint(point: Point = {}): void {
      const { indexes = [], doubles = [], blobs = [] } = checked(point);
      const told = {
        kind: "analytics",
        dataset: env.dataset,
        script: env.script,
        version: env.version,
        timestamp: Date.now(),
        indexes: indexes.map(plain),
        doubles,
        blobs: blobs.map(plain),
      };
      void env.SINK.fetch("http://host/sink", { method: "POST", body: JSON.stringify([told]) });
    },
  };
}

// A default export that is a function would be taken for a Durable Object class.
export default {};
