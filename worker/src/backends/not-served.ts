import { ApiError } from "../errors.ts";
import type { Answer, Backend, EmbedCall, Embeddings } from "./backend.ts";
import type { Pieces } from "./pieces.ts";

/** Stands where a backend would be for versions that this Worker can't run: every call says so. */
export class NotServed implements Backend {
  readonly #name: string;

  constructor(name: string) {
    this.#name = name;
  }

  async complete(): Promise<Answer> {
    throw this.#refusal();
  }

  async stream(): Promise<Pieces> {
    throw this.#refusal();
  }

  async embed(_call: EmbedCall): Promise<Embeddings> {
    throw this.#refusal();
  }

  #refusal(): ApiError {
    const message = `This gateway does not run the \`${this.#name}\` backend: the model is listed and its artifacts can be read, but it answers no requests.`;
    return new ApiError(501, "backend_not_served", message, { param: "model", lasting: true });
  }
}
