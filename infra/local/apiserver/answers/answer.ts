// HTTP responses: JSON as Go writes it, or plain text. Also chooses between objects and a Table for `kubectl get`, by the
// Accept header and the query.
import type { Status } from "../../../../shared/kubernetes/types.ts";
import { failure, success } from "../../../../shared/result.ts";
import type { Outcome } from "../object.ts";
import * as refuse from "../status.ts";

const escapes: Record<string, string> = {
  "<": "\\u003c",
  ">": "\\u003e",
  "&": "\\u0026",
  "\u2028": "\\u2028",
  "\u2029": "\\u2029",
};

/** Escapes JSON for HTML as encoding/json does. The keys in managedFields contain these escapes. */
export function escapeHtml(json: string): string {
  return json.replaceAll(/[<>&\u2028\u2029]/g, (letter) => escapes[letter] ?? letter);
}

function respond(code: number, text: string, contentType: string): Response {
  const bytes = Buffer.from(text);
  return new Response(bytes, {
    status: code,
    headers: {
      "content-type": contentType,
      "content-length": String(bytes.length),
      "cache-control": "no-cache, private",
    },
  });
}

export function answerBody(code: number, body: object): Response {
  return respond(code, `${escapeHtml(JSON.stringify(body))}\n`, "application/json");
}

export function answerStatus(status: Status): Response {
  const response = answerBody(status.code ?? 500, status);
  const seconds = status.details?.retryAfterSeconds ?? 0;
  if (seconds > 0) response.headers.set("retry-after", String(seconds));
  return response;
}

export function answerText(code: number, text: string): Response {
  return respond(code, text, "text/plain; charset=utf-8");
}

/** The answer for an unknown path, which upstream sends without a Status. */
export function answerNothing(): Response {
  return answerText(404, "404 page not found\n");
}

export interface Representation {
  form: "object" | "table";
  /** The objects in a Table's rows, next to the cells. */
  includeObject: "None" | "Metadata" | "Object";
  /** Whether a Table has column definitions. */
  headers: boolean;
}

/** The form for a media range ("application/json;as=Table;v=v1;g=meta.k8s.io"); undefined if it is not supported. */
function formOf(range: string): Representation["form"] | undefined {
  const [mediaType = "", ...parameters] = range.split(";").map((part) => part.trim());
  if (!["application/json", "application/*", "*/*"].includes(mediaType.toLowerCase())) return undefined;
  const has = (text: string) => parameters.includes(text);
  if (has("as=Table") && has("v=v1") && has("g=meta.k8s.io")) return "table";
  return parameters.some((text) => text.startsWith("as=")) ? undefined : "object";
}

function includeObjectOf(query: URLSearchParams): Representation["includeObject"] {
  const wanted = query.get("includeObject");
  return wanted === "None" || wanted === "Object" ? wanted : "Metadata";
}

/** Returns the first form in the Accept header that is supported. */
export function negotiate(accept: string | null, query: URLSearchParams): Outcome<Representation> {
  const forms = (accept || "*/*").split(",").map(formOf);
  const form = forms.find((each) => each !== undefined);
  if (!form) return failure(refuse.notAcceptable(["application/json"]));
  return success({ form, includeObject: includeObjectOf(query), headers: true });
}
