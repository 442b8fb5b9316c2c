import type { Gateway, Layer } from "../gateway.ts";
import { newRecord } from "../record.ts";
import { traceOf, traceparentOf } from "../telemetry/trace.ts";

/** No key of ours, put there by mistake: the id is in the log. */
const ACCEPTED = /^(?!sk-)[A-Za-z0-9._-]{8,64}$/;

/**
 * Opens the request's record, and its place in the caller's trace. A well-formed `x-request-id` of the caller's is
 * kept, so that its logs and ours meet.
 */
export function requestId(gateway: Gateway): Layer {
  const { ambient } = gateway;
  const share = gateway.config.telemetry.otlp?.share ?? null;
  return {
    before(c) {
      const { headers } = c.req.raw;
      const theirs = headers.get("x-request-id") ?? "";
      const id = ACCEPTED.test(theirs) ? theirs : ambient.newId();
      const record = newRecord(id, ambient.now());
      record.trace = traceOf(headers, share, ambient.random);
      if (record.trace !== null) record.traceparent = traceparentOf(record.trace);
      c.set("gateway", gateway);
      c.set("record", record);
    },
    after(c) {
      const { headers } = c.res;
      headers.set("x-request-id", c.get("record").id);
      // Answers hold what clients and models wrote: no browser is to take them for a page.
      headers.set("x-content-type-options", "nosniff");
    },
  };
}
