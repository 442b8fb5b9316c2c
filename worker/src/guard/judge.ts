import type { Linear } from "../edge/linear.ts";

/** How likely it is that a text is an attack, from 0 to 1; 0 below the stage's threshold. */
export type Judge = (plain: string) => number;

const LABEL = "attack";
/** Characters that are read at once: as long as what the classifier learned from. */
const WINDOW = 500;
/** A window begins before the last one ends, so that a sentence is whole in one of them. */
const STEP = 400;
/** Windows of each end of a longer text: what a request costs has a bound. */
const MOST = 20;

/** Judges a text by its worst window. Throws for a classifier of something else. */
export function newJudge({ labels, probabilities }: Linear, threshold: number): Judge {
  const at = labels.indexOf(LABEL);
  if (at < 0) throw new Error(`it has no label ${LABEL}`);
  return (plain) => {
    const windows = Math.max(0, Math.ceil((plain.length - WINDOW) / STEP));
    let worst = 0;
    for (let index = 0; index <= windows; index++) {
      if (index >= MOST && index <= windows - MOST) continue;
      const from = index * STEP;
      worst = Math.max(worst, probabilities(plain.slice(from, from + WINDOW))[at] as number);
    }
    return worst < threshold ? 0 : worst;
  };
}
