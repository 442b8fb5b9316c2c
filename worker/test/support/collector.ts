import { vi } from "vitest";

export interface Parcel {
  url: string;
  headers: Headers;
  body: string;
}

/** Takes what the gateway posts to collectors; `answer` decides what they say. Ends with `stop()`. */
export class Collector {
  readonly parcels: Parcel[] = [];
  answer: (url: string) => Response | Promise<Response> = () => new Response(null, { status: 200 });
  readonly #spy = vi.spyOn(globalThis, "fetch").mockImplementation(async (input: unknown, init?: RequestInit) => {
    const url = String(input);
    this.parcels.push({ url, headers: new Headers(init?.headers), body: String(init?.body) });
    return this.answer(url);
  });

  stop(): void {
    this.#spy.mockRestore();
  }
}
