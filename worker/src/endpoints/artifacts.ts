import { assertModelAllowed } from "../access/allowed.ts";
import { ApiError } from "../errors.ts";
import type { GatewayContext } from "../gateway.ts";
import { modelNotFound } from "../routing/route.ts";

/** `GET /v1/models/{name}/artifacts/{version}/{file}`: a file of a model version, streamed from R2, by its sha256. */
export async function getArtifact(c: GatewayContext): Promise<Response> {
  const name = c.req.param("name") ?? "";
  const version = c.req.param("version") ?? "";
  const wanted = c.req.param("file");
  assertModelAllowed(c.get("principal"), `${name}@${version}`);
  const { models } = c.get("gateway").config;
  const versions = Object.hasOwn(models, name) ? models[name]?.versions : undefined;
  if (versions === undefined || !Object.hasOwn(versions, version)) throw modelNotFound(`${name}@${version}`);
  const file = versions[version]?.artifact?.files.find((candidate) => candidate.name === wanted);
  if (file === undefined) throw notFound("This model version has no such artifact.");
  const etag = `"${file.sha256}"`;
  const headers = { etag, "cache-control": "private, max-age=31536000, immutable" };
  if (isNamed(etag, c.req.header("if-none-match") ?? "")) return new Response(null, { status: 304, headers });
  const object = await c.env.MODELS.get(file.key);
  if (object === null) throw notFound("The artifact is declared but has not been uploaded.");
  c.get("record").bytesOut = object.size;
  return new Response(object.body, {
    headers: { ...headers, "content-type": "application/octet-stream", "x-content-type-options": "nosniff" },
  });
}

/** Whether `If-None-Match` names the tag: among others, by `*`, or weakened, as the edge does when it compresses. */
function isNamed(etag: string, header: string): boolean {
  return header.split(",").some((one) => ["*", etag, `W/${etag}`].includes(one.trim()));
}

function notFound(message: string): ApiError {
  return new ApiError(404, "artifact_not_found", message);
}
