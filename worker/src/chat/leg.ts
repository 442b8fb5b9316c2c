import type { Message } from "../backends/backend.ts";
import type { WorstCase } from "../budget/reserve.ts";
import type { ModelVersion } from "../config.ts";
import type { Route } from "../routing/route.ts";
import { estimatePrompt, estimateTokens } from "../tokens/estimate.ts";
import { checkWindow } from "../tokens/window.ts";
import type { JsonObject } from "./json-body.ts";
import { effective } from "./parameters.ts";
import type { ChatRequest } from "./request.ts";

/** Parameters that are written into the prompt, or may be. */
const DECLARED = ["tools", "response_format", "chat_template_kwargs", "guided_json", "structured_outputs"];

/** A request as one version gets it, and the most that it may come to there. */
export class Leg implements WorstCase {
  readonly spec: ModelVersion;
  readonly messages: readonly Message[];
  /** With `max_tokens` as far as the version's window allows. */
  readonly parameters: JsonObject;
  /** Most tokens of each choice that were asked for, and that there is room for. */
  readonly askedTokens: number;
  readonly maxTokens: number;
  #promptTokens: number | null = null;

  /** Throws the 400 of a prompt that the version's window can't hold. */
  constructor(request: ChatRequest, { spec }: Route) {
    this.spec = spec;
    // The version's own system prompt comes before whatever the client says.
    this.messages = spec.prompt ? [{ role: "system", content: spec.prompt }, ...request.messages] : request.messages;
    const wanted = effective(spec.parameters, request.parameters);
    this.askedTokens = Number(wanted.max_tokens);
    this.maxTokens = checkWindow(spec, this.messages, this.askedTokens, wanted.tools);
    this.parameters = this.maxTokens === this.askedTokens ? wanted : { ...wanted, max_tokens: this.maxTokens };
  }

  /** By estimate, which is made only where somebody asks: a stage may have no limits. */
  get promptTokens(): number {
    this.#promptTokens ??= DECLARED.reduce((sum, name) => {
      const declared = this.parameters[name];
      return declared === undefined ? sum : sum + estimateTokens(JSON.stringify(declared));
    }, estimatePrompt(this.messages));
    return this.#promptTokens;
  }

  /** Most tokens of all choices together. */
  get mostTokens(): number {
    return this.maxTokens * Number(this.parameters.n ?? 1);
  }
}
