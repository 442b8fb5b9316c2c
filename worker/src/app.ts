import { addAdmin } from "./endpoints/admin/admin.ts";
import { getArtifact } from "./endpoints/artifacts.ts";
import { chatCompletions } from "./endpoints/chat-completions.ts";
import { classify } from "./endpoints/classify.ts";
import { completions } from "./endpoints/completions.ts";
import { createConversation, deleteConversation, deleteResponse } from "./endpoints/conversations.ts";
import { embeddings } from "./endpoints/embeddings.ts";
import { feedback } from "./endpoints/feedback.ts";
import { healthz } from "./endpoints/healthz.ts";
import { methodNotAllowed } from "./endpoints/method-not-allowed.ts";
import { getModel, listModels } from "./endpoints/models.ts";
import { readyz } from "./endpoints/readyz.ts";
import { responses } from "./endpoints/responses.ts";
import { simple } from "./endpoints/simple.ts";
import type { Gateway } from "./gateway.ts";
import { access } from "./middleware/access.ts";
import { accessLog } from "./middleware/access-log.ts";
import { answerHeaders } from "./middleware/answer-headers.ts";
import { bodyLimit } from "./middleware/body-limit.ts";
import { cors } from "./middleware/cors.ts";
import { failure, notFound } from "./middleware/failure.ts";
import { rateLimit } from "./middleware/rate-limit.ts";
import { requestId } from "./middleware/request-id.ts";
import { type Endpoint, Routes } from "./routes.ts";

/** Each path takes one method; any other is answered with 405. */
const OPEN: readonly Endpoint[] = [
  ["GET", "/healthz", healthz],
  ["GET", "/readyz", readyz],
];
const ADMITTED: readonly Endpoint[] = [
  ["POST", "/", simple],
  ["POST", "/v1/chat/completions", chatCompletions],
  ["POST", "/v1/completions", completions],
  ["POST", "/v1/embeddings", embeddings],
  ["POST", "/v1/classify", classify],
  ["POST", "/v1/responses", responses],
  ["DELETE", "/v1/responses/:id", deleteResponse],
  ["POST", "/v1/feedback", feedback],
  ["POST", "/v1/conversations", createConversation],
  ["DELETE", "/v1/conversations/:id", deleteConversation],
  ["GET", "/v1/models", listModels],
  ["GET", "/v1/models/:id", getModel],
  ["GET", "/v1/models/:name/artifacts/:version/:file", getArtifact],
];

/** The way of a request, from the outside in: this file is the order. */
export function createApp(gateway: Gateway): Routes {
  const { config } = gateway;
  const app = new Routes(notFound, failure);
  app.add(null, "/*", requestId(gateway), accessLog());
  addAdmin(app, "/_sluiceway");
  app.add(null, "/*", cors(config.cors), answerHeaders());
  const admitted = [bodyLimit(config.limits.body_bytes), access(gateway), rateLimit(config.limits)];
  for (const [table, before] of [
    [OPEN, []],
    [ADMITTED, admitted],
  ] as const) {
    for (const [method, path, endpoint] of table) {
      app.add(method, path, ...before, endpoint);
      app.add(null, path, methodNotAllowed(method));
    }
  }
  return app;
}
