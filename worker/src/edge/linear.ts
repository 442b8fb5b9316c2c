const encoder = new TextEncoder();
/** What Python strips, of what NFKC leaves. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they count as blanks
const BLANKS = /^[\t-\r\x1c-\x20\x85\u1680\u2028\u2029]+|[\t-\r\x1c-\x20\x85\u1680\u2028\u2029]+$/g;

/**
 * A classifier of texts by hashed character n-grams, as `models/recipes/{intent,router}` train them: a sum of weights,
 * so plain TypeScript. `tests/contract/edge.json` holds it to what Python and onnxruntime answer.
 */
export class Linear {
  readonly labels: readonly string[];
  readonly #weights: Int8Array | Float32Array;
  readonly #scale: number;
  readonly #bias: Int8Array | Float32Array;
  /** Bit `n` for n-grams of n code points. */
  readonly #lengths: number;
  /** Most code points of a text that count. */
  readonly #cap: number;
  readonly #norm: boolean;
  readonly #buckets: number;
  /** The text, by its number, in which a bucket was last seen. */
  readonly #seen: Uint32Array;
  #text = 0;

  /** `properties`: labels, and where they differ from the first classifier's, lengths, cap, norm. Throws for what isn't one. */
  constructor(tensors: Record<string, Int8Array | Float32Array>, properties: Record<string, string>) {
    const { weights, bias, scale } = tensors;
    const { labels = "", lengths = "1,2,3,4", cap = "Infinity", norm } = properties;
    this.labels = labels.split(",");
    const classes = this.labels.length;
    if (weights === undefined || weights.length === 0 || weights.length % classes !== 0 || bias?.length !== classes) {
      throw new Error("the model is not a linear one");
    }
    this.#weights = weights;
    this.#bias = bias;
    this.#scale = scale?.[0] ?? 1;
    this.#lengths = lengths.split(",").reduce((bits, length) => bits | (1 << Number(length)), 0);
    this.#cap = Number(cap);
    this.#norm = norm === "l2";
    this.#buckets = weights.length / classes;
    this.#seen = new Uint32Array(this.#buckets);
  }

  /** What each label's probability is, in the order of `labels`. */
  probabilities(text: string): number[] {
    const start = beginning(text, this.#cap).normalize("NFKC").toLowerCase().replace(BLANKS, "");
    const { sums, count } = this.#sum(encoder.encode(` ${start} `));
    const scale = this.#norm ? this.#scale / Math.sqrt(count) : this.#scale;
    const logits = sums.map((sum, label) => sum * scale + (this.#bias[label] as number));
    const most = Math.max(...logits);
    const powers = logits.map((logit) => Math.exp(logit - most));
    const all = powers.reduce((sum, power) => sum + power, 0);
    return powers.map((power) => power / all);
  }

  /** Sums of the weights of all n-grams that occur, each once, and how many those are. The hash grows by a byte at a time. */
  #sum(bytes: Uint8Array): { sums: number[]; count: number } {
    const sums = this.labels.map(() => 0);
    const text = ++this.#text;
    let count = 0;
    for (let from = 0; from < bytes.length; from++) {
      if (isWithin(bytes[from])) continue;
      let hash = 0x811c9dc5;
      let length = 1;
      for (let at = from; at < bytes.length && this.#lengths >> length !== 0; at++) {
        hash = Math.imul(hash ^ (bytes[at] as number), 0x01000193);
        if (isWithin(bytes[at + 1])) continue;
        const bucket = (hash >>> 0) % this.#buckets;
        if ((this.#lengths >> length++) & 1 && this.#seen[bucket] !== text) {
          this.#seen[bucket] = text;
          count++;
          const first = bucket * sums.length;
          for (let label = 0; label < sums.length; label++) {
            sums[label] = (sums[label] as number) + (this.#weights[first + label] as number);
          }
        }
      }
    }
    return { sums, count };
  }
}

/** Whether a byte of UTF-8 goes on with the code point before it. */
function isWithin(byte: number | undefined): boolean {
  return ((byte ?? 0) & 0xc0) === 0x80;
}

/** The first code points of a text. */
function beginning(text: string, most: number): string {
  if (text.length <= most) return text;
  let end = 0;
  for (let count = 0; count < most && end < text.length; count++)
    end += (text.codePointAt(end) as number) > 0xffff ? 2 : 1;
  return text.slice(0, end);
}
