const encoder = new TextEncoder();

/** The tensors of a model's file, by name. */
export type Tensors = Record<string, Int8Array | Float32Array>;

/**
 * A classifier of texts by hashed character n-grams, as `models/recipes/{intent,router}` train them: a sum of weights,
 * so plain TypeScript. `tests/contract/edge.json` holds it to what Python and onnxruntime answer.
 */
export interface Linear {
  readonly labels: readonly string[];
  /**
   * Each label's probability, in the order of `labels`. The text is one that was sanitised: of what else there is,
   * JavaScript and Python call other things blank.
   */
  probabilities(text: string): number[];
}

/** `properties`: labels; lengths, cap and norm where they differ from the first classifier's. Throws for what isn't one. */
export function newLinear(
  { weights, bias, scale }: Tensors,
  { labels: names = "", lengths: sizes = "1,2,3,4", cap = "Infinity", norm }: Record<string, string>,
): Linear {
  const labels = names.split(",");
  const classes = labels.length;
  const buckets = (weights?.length ?? 0) / classes;
  if (weights === undefined || bias?.length !== classes || buckets < 1 || buckets % 1 !== 0) {
    throw new Error("the model is not a linear one");
  }
  // Bit `n` for n-grams of n code points.
  const lengths = sizes.split(",").reduce((bits, length) => bits | (1 << Number(length)), 0);
  // For each bucket the text, by its number, in which it was last seen: nothing to clear between two.
  const seen = new Uint32Array(buckets);
  let texts = 0;

  /** Sums of the weights of all n-grams that occur, each once, and how many those are. The hash grows by a byte at a time. */
  function sum(bytes: Uint8Array): { sums: Float64Array; count: number } {
    const sums = new Float64Array(classes);
    const text = ++texts;
    let count = 0;
    for (let from = 0; from < bytes.length; from++) {
      if (isWithin(bytes[from])) continue;
      let hash = 0x811c9dc5;
      let length = 1;
      for (let at = from; at < bytes.length && lengths >> length !== 0; at++) {
        hash = Math.imul(hash ^ (bytes[at] as number), 0x01000193);
        if (isWithin(bytes[at + 1])) continue;
        const bucket = (hash >>> 0) % buckets;
        if (!((lengths >> length++) & 1) || seen[bucket] === text) continue;
        seen[bucket] = text;
        count++;
        for (let label = 0; label < classes; label++) {
          (sums[label] as number) += (weights as Int8Array)[bucket * classes + label] as number;
        }
      }
    }
    return { sums, count };
  }

  return {
    labels,
    probabilities(text) {
      const start = beginning(text, Number(cap)).normalize("NFKC").toLowerCase().trim();
      const { sums, count } = sum(encoder.encode(` ${start} `));
      const unit = (scale?.[0] ?? 1) / (norm === "l2" ? Math.sqrt(count) : 1);
      const logits = labels.map((_, label) => (sums[label] as number) * unit + (bias[label] as number));
      const most = Math.max(...logits);
      const powers = logits.map((logit) => Math.exp(logit - most));
      const all = powers.reduce((total, power) => total + power);
      return powers.map((power) => power / all);
    },
  };
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
