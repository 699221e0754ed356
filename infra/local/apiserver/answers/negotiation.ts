// In which form an answer is wanted: Accept header and query → objects as they are, or a Table for `kubectl get`.
// JSON is all there is. Shows nothing.
import { failure, success } from "../../../../shared/result.ts";
import type { Outcome } from "../object.ts";
import * as refuse from "../status.ts";

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
