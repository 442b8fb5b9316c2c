import type { ModelVersion } from "../config.ts";
import { sha256Hex } from "../digest.ts";
import { Linear } from "./linear.ts";
import { readLinear } from "./onnx.ts";

/** Larger files are no linear models of ours, and an isolate has room for few. */
const MOST_BYTES = 4_000_000;
/** A load that takes longer belongs to a request that is gone. */
const STUCK_MS = 2_000;
const WAIT_MS = 250;
const LOOK_MS = 10;
/** What can't be read now is not asked for again at once. */
const PAUSE_MS = 10_000;

/** Until when others leave a file to the one who loads it, or to nobody, since that failed. */
interface Absent {
  readonly until: number;
  readonly failed: boolean;
}

/**
 * The linear classifiers of an isolate, by the digest of their files: read from R2 once, and checked. What requests
 * share are plain values: a promise would die with the request that made it.
 */
export class Linears {
  readonly #now: () => number;
  readonly #wait: (ms: number) => Promise<void>;
  readonly #known = new Map<string, Linear | Absent>();

  constructor(now: () => number, wait: (ms: number) => Promise<void>) {
    this.#now = now;
    this.#wait = wait;
  }

  /** The classifier of a version. Throws when it can't be had now, within a quarter of a second if another one loads it. */
  async get(store: R2Bucket, { artifact }: ModelVersion): Promise<Linear> {
    const file = artifact?.files.find(({ name }) => name === "model.onnx");
    if (file === undefined || file.bytes > MOST_BYTES) throw new Error("the version has no linear model");
    const { sha256, key } = file;
    let known = this.#known.get(sha256);
    for (let waited = 0; this.#isLoading(known); waited += LOOK_MS) {
      if (waited >= WAIT_MS) throw new Error("the model is being loaded");
      await this.#wait(LOOK_MS);
      known = this.#known.get(sha256);
    }
    if (known instanceof Linear) return known;
    if (known?.failed && known.until > this.#now()) throw new Error("the model could not be loaded a moment ago");
    this.#known.set(sha256, { until: this.#now() + STUCK_MS, failed: false });
    try {
      const linear = await load(store, key, sha256);
      this.#known.set(sha256, linear);
      return linear;
    } catch (error) {
      this.#known.set(sha256, { until: this.#now() + PAUSE_MS, failed: true });
      throw error;
    }
  }

  #isLoading(known: Linear | Absent | undefined): boolean {
    return known !== undefined && !(known instanceof Linear) && !known.failed && known.until > this.#now();
  }
}

async function load(store: R2Bucket, key: string, sha256: string): Promise<Linear> {
  const object = await store.get(key);
  if (object === null) throw new Error("the artifact has not been uploaded");
  const bytes = new Uint8Array(await object.arrayBuffer());
  if ((await sha256Hex(bytes)) !== sha256) throw new Error("the artifact is not what its digest says");
  return readLinear(bytes);
}
