// An answer in HTTP: JSON as Go writes it, or plain text; and the form that the Accept header and the query ask for:
// the objects, or a Table for `kubectl get`.
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

/** JSON that is safe within HTML, as encoding/json writes it: element keys of managedFields depend on it. */
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

/** For a path that is not served: upstream answers it without a Status. */
export function answerNothing(): Response {
  return answerText(404, "404 page not found\n");
}

export interface Representation {
  form: "object" | "table";
  /** What a Table's rows carry besides cells. */
  includeObject: "None" | "Metadata" | "Object";
  /** Whether a Table says what its columns are. */
  headers: boolean;
}

/** What a media range ("application/json;as=Table;v=v1;g=meta.k8s.io") makes of the answer; undefined for others. */
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

/** The first of the client's wishes that can be fulfilled. */
export function negotiate(accept: string | null, query: URLSearchParams): Outcome<Representation> {
  const forms = (accept || "*/*").split(",").map(formOf);
  const form = forms.find((each) => each !== undefined);
  if (!form) return failure(refuse.notAcceptable(["application/json"]));
  return success({ form, includeObject: includeObjectOf(query), headers: true });
}
