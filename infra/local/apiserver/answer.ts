// Bodies and codes as HTTP answers, in the notation that was asked for. Decides nothing about what is answered.
import { stringify as stringifyYaml } from "yaml";
import type { Status } from "../../../shared/kubernetes/types.ts";
import type { Negotiated } from "./negotiation.ts";

export type Notation = Pick<Negotiated, "mediaType" | "pretty">;

const escapes = new Map([
  ["<", "\\u003c"],
  [">", "\\u003e"],
  ["&", "\\u0026"],
  ["\u2028", "\\u2028"],
  ["\u2029", "\\u2029"],
]);

/** JSON as Go writes it, safe within HTML. */
export function goJson(body: object, pretty = false): string {
  return escapeHtml(JSON.stringify(body, null, pretty ? 2 : undefined));
}

export function escapeHtml(json: string): string {
  return /[<>&\u2028\u2029]/.test(json)
    ? json.replaceAll(/[<>&\u2028\u2029]/g, (letter) => escapes.get(letter) ?? letter)
    : json;
}

/** Upstream prints for people when the client is one of theirs (negotiation.isPrettyPrint). */
export function isForPeople(request: Request, query: URLSearchParams): boolean {
  const asked = query.get("pretty") ?? "";
  if (asked !== "") return ["1", "t", "T", "TRUE", "true", "True"].includes(asked);
  return /^(curl|Wget|Mozilla\/5\.0)/.test(request.headers.get("user-agent") ?? "");
}

/** A line; for people several, and no end of the last one. */
function jsonBody(body: object, pretty: boolean): string {
  return pretty ? goJson(body, true) : `${goJson(body)}\n`;
}

function respond(code: number, content: string | Uint8Array, headers: Record<string, string>): Response {
  const bytes = Buffer.from(content);
  return new Response(bytes, {
    status: code,
    headers: { ...headers, "content-length": String(bytes.length), "cache-control": "no-cache, private" },
  });
}

export function answerBody(code: number, body: object, { mediaType, pretty }: Notation): Response {
  const text =
    mediaType === "application/yaml"
      ? stringifyYaml(body, { version: "1.1", sortMapEntries: true, indentSeq: false })
      : jsonBody(body, pretty);
  return respond(code, text, { "content-type": mediaType });
}

export function answerStatus(status: Status, notation: Notation): Response {
  const response = answerBody(status.code ?? 500, status, notation);
  const seconds = status.details?.retryAfterSeconds ?? 0;
  if (seconds > 0) response.headers.set("retry-after", String(seconds));
  return response;
}

/** JSON of another media type than plain JSON. */
export function answerDocument(body: object, contentType: string, pretty: boolean): Response {
  return respond(200, jsonBody(body, pretty), { "content-type": contentType });
}

export function answerText(code: number, text: string): Response {
  return respond(code, text, { "content-type": "text/plain; charset=utf-8" });
}

export function answerBytes(body: Uint8Array, contentType: string): Response {
  return respond(200, body, { "content-type": contentType });
}

/** Indented JSON, for a few documents that upstream always prints so. */
export function answerIndented(body: object): Response {
  return respond(200, JSON.stringify(body, null, 2), { "content-type": "application/json" });
}

/** What nothing is served at, not even a Status. */
export function answerNothing(): Response {
  return answerText(404, "404 page not found\n");
}
