import type { HonoBase } from "hono/hono-base";
import { admin } from "./endpoints/admin/admin.ts";
import { getArtifact } from "./endpoints/artifacts.ts";
import { chatCompletions } from "./endpoints/chat-completions.ts";
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
import type { Gateway, GatewayHono } from "./gateway.ts";
import { access } from "./middleware/access.ts";
import { accessLog } from "./middleware/access-log.ts";
import { answerHeaders } from "./middleware/answer-headers.ts";
import { bodyLimit } from "./middleware/body-limit.ts";
import { cors } from "./middleware/cors.ts";
import { failure, notFound, onlyErrors } from "./middleware/failure.ts";
import { rateLimit } from "./middleware/rate-limit.ts";
import { requestId } from "./middleware/request-id.ts";
import { newRoutes } from "./routes.ts";

/** The way of a request, from the outside in: this file is the order. */
export function createApp(gateway: Gateway): HonoBase<GatewayHono> {
  const { config } = gateway;
  const app = newRoutes();
  app.onError(failure);
  app.notFound(notFound);
  app.use(requestId(gateway), accessLog());
  app.route("/_sluiceway", admin());
  app.use(cors(config.cors), answerHeaders(), onlyErrors());

  app.get("/healthz", healthz);
  app.all("/healthz", methodNotAllowed("GET"));
  app.get("/readyz", readyz);
  app.all("/readyz", methodNotAllowed("GET"));

  const admitted = [bodyLimit(config.limits.body_bytes), access(gateway), rateLimit(config.limits)] as const;
  app.post("/", ...admitted, simple);
  app.all("/", methodNotAllowed("POST"));
  app.post("/v1/chat/completions", ...admitted, chatCompletions);
  app.all("/v1/chat/completions", methodNotAllowed("POST"));
  app.post("/v1/completions", ...admitted, completions);
  app.all("/v1/completions", methodNotAllowed("POST"));
  app.post("/v1/embeddings", ...admitted, embeddings);
  app.all("/v1/embeddings", methodNotAllowed("POST"));
  app.post("/v1/responses", ...admitted, responses);
  app.all("/v1/responses", methodNotAllowed("POST"));
  app.delete("/v1/responses/:id", ...admitted, deleteResponse);
  app.all("/v1/responses/:id", methodNotAllowed("DELETE"));
  app.post("/v1/feedback", ...admitted, feedback);
  app.all("/v1/feedback", methodNotAllowed("POST"));
  app.post("/v1/conversations", ...admitted, createConversation);
  app.all("/v1/conversations", methodNotAllowed("POST"));
  app.delete("/v1/conversations/:id", ...admitted, deleteConversation);
  app.all("/v1/conversations/:id", methodNotAllowed("DELETE"));
  app.get("/v1/models", ...admitted, listModels);
  app.all("/v1/models", methodNotAllowed("GET"));
  app.get("/v1/models/:id", ...admitted, getModel);
  app.all("/v1/models/:id", methodNotAllowed("GET"));
  app.get("/v1/models/:name/artifacts/:version/:file", ...admitted, getArtifact);
  app.all("/v1/models/:name/artifacts/:version/:file", methodNotAllowed("GET"));
  return app;
}
