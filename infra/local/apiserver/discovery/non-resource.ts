// What is served besides resources: version, health, discovery, OpenAPI. Reads no store and knows no user.
import { answerBody, answerNothing, answerStatus, answerText } from "../answers/answer.ts";
import { discoveryDocument } from "./discovery.ts";
import { openApiDocument } from "./openapi.ts";
import * as refuse from "../status.ts";

const version = {
  major: "1",
  minor: "36",
  gitVersion: "v1.36.3",
  gitCommit: "",
  gitTreeState: "",
  buildDate: "1970-01-01T00:00:00Z",
  goVersion: "",
  compiler: "",
  platform: "",
};

const healthPaths = new Set(["/healthz", "/livez", "/readyz"]);

/** The answer to a request for anything that is no resource. */
export function answerNonResource(request: Request, { pathname, host }: URL): Response {
  const path = pathname.replace(/\/$/, "");
  if (healthPaths.has(path)) return answerText(200, "ok");
  const document = path === "/version" ? version : (openApiDocument(path) ?? discoveryDocument(path, host));
  if (!document) return answerNothing();
  return request.method === "GET" ? answerBody(200, document) : answerStatus(refuse.methodNotAllowed());
}
