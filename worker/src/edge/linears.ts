import type { ModelVersion } from "../config.ts";
import { sha256Hex } from "../digest.ts";
import type { Linear } from "./linear.ts";
import { readLinear } from "./onnx.ts";

/** Larger files are no linear models of ours, and an isolate has little room. */
const MOST_BYTES = 4_000_000;
/** A load that takes longer belongs to a request that is gone. */
const STUCK_MS = 2_000;
const LOOKS = 25;
const LOOK_MS = 10;
/** What can't be read is not asked for again at once. */
const PAUSE_MS = 10_000;

/** A model that isn't here: whether someone is loading it or that has failed, and until when that counts. */
interface Absent {
  readonly until: number;
  readonly fault: string;
}

const LOADING = "it is being loaded";

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

  /** The classifier of a version. Throws when it can't be had, or not within a quarter of a second of another one's load. */
  async get(store: R2Bucket, { artifact }: ModelVersion): Promise<Linear> {
    const file = artifact?.files.find(({ name, bytes }) => name === "model.onnx" && bytes <= MOST_BYTES);
    if (file === undefined) throw new Error("the version has no linear model");
    const { sha256, key } = file;
    for (let look = 0; ; look++) {
      const known = this.#known.get(sha256);
      if (known !== undefined && "labels" in known) return known;
      if (known === undefined || known.until <= this.#now()) break;
      if (known.fault !== LOADING || look === LOOKS) throw new Error(known.fault);
      await this.#wait(LOOK_MS);
    }
    this.#known.set(sha256, { until: this.#now() + STUCK_MS, fault: LOADING });
    try {
      const object = await store.get(key);
      const bytes = new Uint8Array((await object?.arrayBuffer()) ?? []);
      if ((await sha256Hex(bytes)) !== sha256) {
        throw new Error(
          object === null ? "its artifact has not been uploaded" : "its artifact is not what its digest says",
        );
      }
      const linear = readLinear(bytes);
      this.#known.set(sha256, linear);
      return linear;
    } catch (error) {
      this.#known.set(sha256, { until: this.#now() + PAUSE_MS, fault: (error as Error).message });
      throw error;
    }
  }
}
