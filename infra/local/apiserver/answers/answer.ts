// Makes HTTP responses: JSON as Go writes it, or plain text. Chooses objects or `kubectl get`'s Table.
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

/** Escapes characters of HTML in JSON, like encoding/json. The keys in managedFields contain these escapes. */
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

/** Returns the answer for an unknown path. Like upstream, the answer is no Status. */
export function answerNothing(): Response {
  return answerText(404, "404 page not found\n");
}

export interface Representation {
  form: "object" | "table";
  /** The form of the object that each row of a Table contains in addition to the cells. */
  includeObject: "None" | "Metadata" | "Object";
  /** true if a Table has column definitions. */
  headers: boolean;
}

/** Returns the form of a range like "application/json;as=Table;v=v1;g=meta.k8s.io", or undefined if unsupported. */
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

/** Returns the first supported form in the Accept header. */
export function negotiate(accept: string | null, query: URLSearchParams): Outcome<Representation> {
  const forms = (accept || "*/*").split(",").map(formOf);
  const form = forms.find((each) => each !== undefined);
  if (!form) return failure(refuse.notAcceptable(["application/json"]));
  return success({ form, includeObject: includeObjectOf(query), headers: true });
}
