import type { Split } from "../config.ts";
import type { GateName, GateView, RolloutSpec } from "./types.ts";

/** 90 -> "1 min 30 s", 7200 -> "2 h": at most two units, of whole seconds. */
export function duration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  const parts = [
    [Math.floor(seconds / 86_400), "d"],
    [Math.floor(seconds / 3600) % 24, "h"],
    [Math.floor(seconds / 60) % 60, "min"],
    [seconds % 60, "s"],
  ] as const;
  const first = parts.findIndex(([count]) => count > 0);
  if (first < 0) return "0 s";
  const shown = parts.slice(first, first + 2).filter(([count]) => count > 0);
  return shown.map(([count, unit]) => `${count} ${unit}`).join(" ");
}

/** 1100 -> "1,100". */
export function count(number: number): string {
  return String(number).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** "chat@1 90 %, chat@2 10 %". */
export function splitText(name: string, weights: Split): string {
  return weights.map(([version, weight]) => `${name}@${version} ${weight} %`).join(", ");
}

/** "canary of chat@2 against chat@1". */
export function rolloutText(name: string, { strategy, stable, candidates }: RolloutSpec): string {
  const named = candidates.map((version) => `${name}@${version}`).join(", ");
  return `${strategy === "ab" ? "A/B" : strategy} of ${named} against ${name}@${stable}`;
}

/** A gate as the subject of a sentence. */
export function gateText(gate: GateName): string {
  if (gate === "first_token") return "the first token's time";
  if (gate === "json") return "JSON";
  if (gate === "guard") return "guard hits";
  if (gate === "empty") return "empty answers";
  return gate === "golden" ? "golden prompts" : gate;
}

/** "errors, latency and cost". */
export function listed(words: readonly string[]): string {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
}

/** "errors fail", "latency fails". */
export function failText(gate: GateName): string {
  const plural =
    gate === "errors" ||
    gate === "refusals" ||
    gate === "guard" ||
    gate === "empty" ||
    gate === "golden" ||
    gate === "probes";
  return `${gateText(gate)} ${plural ? "fail" : "fails"}`;
}

/** "errors fail, 12 of 58 requests of chat@2 were bad and 4 of 1,100 of chat@1". */
export function evidenceText(name: string, view: GateView, stable: number, version: number): string {
  const bad = `${count(view.candidate.bad)} of ${count(view.candidate.requests)} requests of ${name}@${version}`;
  return `${failText(view.name)}, ${bad} were bad and ${count(view.stable.bad)} of ${count(view.stable.requests)} of ${name}@${stable}`;
}

/** Text, as one in the code would be looked at whenever an isolate starts. */
const BLANK = "[\\p{Cc}\\p{Zl}\\p{Zp}\\s]+";

/** What a person wrote, on one line of bounded length. */
export function oneLine(text: string, most = 200): string {
  const line = text.replace(new RegExp(BLANK, "gu"), " ").trim();
  return [...line].length > most ? `${[...line].slice(0, most).join("")}...` : line;
}
