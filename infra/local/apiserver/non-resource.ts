// What is served besides resources: version, health, discovery, OpenAPI. Reads no store and knows no user.
import {
  answerBytes,
  answerDocument,
  answerIndented,
  answerNothing,
  answerStatus,
  answerText,
  type Notation,
} from "./answer.ts";
import { discoveryDocument, groupNames, isBelowServedGroup } from "./discovery.ts";
import { openApiV2 } from "./openapi/v2.ts";
import { openApiDocument } from "./openapi/v3.ts";
import * as refuse from "./status.ts";

const version = {
  major: "1",
  minor: "36",
  emulationMajor: "1",
  emulationMinor: "36",
  minCompatibilityMajor: "1",
  minCompatibilityMinor: "35",
  gitVersion: "v1.36.3",
  gitCommit: "",
  gitTreeState: "",
  buildDate: "1970-01-01T00:00:00Z",
  goVersion: "",
  compiler: "",
  platform: "",
};

const health = ["healthz", "livez", "readyz"];
const checks = ["ping", "etcd"];

/** One check, or all of them, said one by one with ?verbose (healthz.InstallPathHandler). */
function answerHealth(path: string, query: URLSearchParams): Response | undefined {
  const [, endpoint = "", check, ...rest] = path.split("/");
  if (!health.includes(endpoint) || rest.length > 0) return undefined;
  if (check !== undefined) return checks.includes(check) ? answerText(200, "ok") : undefined;
  if (!query.has("verbose")) return answerText(200, "ok");
  const excluded = query.getAll("exclude");
  const lines = checks.map((name) => `[+]${name} ${excluded.includes(name) ? "excluded: " : ""}ok\n`);
  return answerText(200, `${lines.join("")}${endpoint} check passed\n`);
}

function paths(): string[] {
  const groups = groupNames().flatMap((group) => [`/apis/${group}`, `/apis/${group}/v1`]);
  const healthPaths = health.flatMap((name) => [`/${name}`, ...checks.map((check) => `/${name}/${check}`)]);
  return [
    "/api",
    "/api/v1",
    "/apis",
    "/apis/",
    ...groups,
    ...healthPaths,
    "/openapi/v2",
    "/openapi/v3",
    "/version",
  ].sort();
}

/** The answer to a request for anything that is no resource. */
export function answerNonResource(request: Request, url: URL, notation: Notation): Response {
  const checked = answerHealth(url.pathname, url.searchParams);
  if (checked) return checked;
  if (url.pathname === "/") return answerIndented({ paths: paths() });
  const path = url.pathname.replace(/\/$/, "");
  if (path === "/openapi/v2") {
    const { body, contentType } = openApiV2(request.headers.get("accept") ?? "");
    return answerBytes(body, contentType);
  }
  const openApi = openApiDocument(path);
  if (openApi) return answerDocument(openApi, "application/json", false);
  const host = request.headers.get("host") ?? url.host;
  const document = discoveryDocument(path, request.headers.get("accept") ?? "", host);
  if (!document && path !== "/version") {
    return isBelowServedGroup(path) ? answerStatus(refuse.unknownResource(), notation) : answerNothing();
  }
  if (request.method !== "GET") return answerStatus(refuse.methodNotAllowed(), notation);
  if (!document) return answerIndented(version);
  return answerDocument(document.body, document.contentType, notation.pretty);
}
