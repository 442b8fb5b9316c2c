const encoder = new TextEncoder();

/** The tensors of a model's file, by name. */
export type Tensors = Record<string, Int8Array | Float32Array>;

/**
 * A classifier of texts by hashed character n-grams, as `models/recipes/{intent,router}` train them: a sum of weights,
 * so plain TypeScript. `tests/contract/edge.json` holds it to what Python and onnxruntime answer.
 */
export class Linear {
  readonly labels: readonly string[];
  readonly #weights: Int8Array | Float32Array;
  readonly #scale: number;
  readonly #bias: number[];
  /** Bit `n` for n-grams of n code points. */
  readonly #lengths: number;
  /** Most code points of a text that count. */
  readonly #cap: number;
  readonly #norm: boolean;
  /** For each bucket the text, by its number, in which it was last seen. */
  readonly #seen: Uint32Array;
  #text = 0;

  /** `properties`: labels; lengths, cap and norm where they differ from the first classifier's. Throws for what isn't one. */
  constructor({ weights, bias, scale }: Tensors, properties: Record<string, string>) {
    const { labels = "", lengths = "1,2,3,4", cap = "Infinity", norm } = properties;
    this.labels = labels.split(",");
    const buckets = (weights?.length ?? 0) / this.labels.length;
    if (weights === undefined || bias?.length !== this.labels.length || !(buckets > 0 && Number.isInteger(buckets))) {
      throw new Error("the model is not a linear one");
    }
    this.#weights = weights;
    this.#bias = [...bias];
    this.#scale = scale?.[0] ?? 1;
    this.#lengths = lengths.split(",").reduce((bits, length) => bits | (1 << Number(length)), 0);
    this.#cap = Number(cap);
    this.#norm = norm === "l2";
    this.#seen = new Uint32Array(buckets);
  }

  /**
   * Each label's probability, in the order of `labels`. The text is one that was sanitised: of what else there is,
   * JavaScript and Python call other things blank.
   */
  probabilities(text: string): number[] {
    const start = beginning(text, this.#cap).normalize("NFKC").toLowerCase().trim();
    const { sums, count } = this.#sum(encoder.encode(` ${start} `));
    const scale = this.#norm ? this.#scale / Math.sqrt(count) : this.#scale;
    const logits = this.#bias.map((bias, label) => (sums[label] as number) * scale + bias);
    const most = Math.max(...logits);
    const powers = logits.map((logit) => Math.exp(logit - most));
    const all = powers.reduce((sum, power) => sum + power);
    return powers.map((power) => power / all);
  }

  /** Sums of the weights of all n-grams that occur, each once, and how many those are. The hash grows by a byte at a time. */
  #sum(bytes: Uint8Array): { sums: Float64Array; count: number } {
    const classes = this.labels.length;
    const weights = this.#weights;
    const seen = this.#seen;
    const lengths = this.#lengths;
    const sums = new Float64Array(classes);
    const text = ++this.#text;
    let count = 0;
    for (let from = 0; from < bytes.length; from++) {
      if (isWithin(bytes[from])) continue;
      let hash = 0x811c9dc5;
      let length = 1;
      for (let at = from; at < bytes.length && lengths >> length !== 0; at++) {
        hash = Math.imul(hash ^ (bytes[at] as number), 0x01000193);
        if (isWithin(bytes[at + 1])) continue;
        const bucket = (hash >>> 0) % seen.length;
        if (!((lengths >> length++) & 1) || seen[bucket] === text) continue;
        seen[bucket] = text;
        count++;
        for (let label = 0; label < classes; label++) {
          sums[label] = (sums[label] as number) + (weights[bucket * classes + label] as number);
        }
      }
    }
    return { sums, count };
  }
}

/** Whether a byte of UTF-8 goes on with the code point before it. */
function isWithin(byte = 0): boolean {
  return (byte & 0xc0) === 0x80;
}

/** The first code points of a text. */
function beginning(text: string, most: number): string {
  if (text.length <= most) return text;
  let end = 0;
  for (let count = 0; count < most; count++) end += (text.codePointAt(end) ?? 0) > 0xffff ? 2 : 1;
  return text.slice(0, end);
}
