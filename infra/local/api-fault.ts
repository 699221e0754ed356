// What went wrong at the apiserver, in one line. Loads no client: whoever only reports an error need not wait for one.
import type { ApiException } from "@kubernetes/client-node";
import { faultOf } from "../../node-shim/base/fault.ts";

/** A request that failed: an apiserver's refusal in its own words, without the whole answer. */
export function apiFault(error: unknown): string {
  if (!isApiException(error)) return faultOf(error);
  const { body, code } = error;
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const message = /"message":\s*("(?:[^"\\]|\\.)*")/.exec(text ?? "")?.[1];
  return `the apiserver refused: HTTP ${code}${message ? `, ${faultOf(new Error(String(JSON.parse(message))))}` : ""}`;
}

/** The client's own error has these; `instanceof` would load the client. */
function isApiException(error: unknown): error is ApiException<unknown> {
  return error instanceof Error && "headers" in error && "body" in error && "code" in error;
}
