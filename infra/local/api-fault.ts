// What went wrong at the apiserver, in one line.
import { faultOf } from "../../node-shim/base/fault.ts";

/** An answer of the apiserver's that is none of success. */
export class ApiRefusal extends Error {
  readonly code: number;
  /** As it came: a Status in JSON, or something else. */
  readonly body: string;

  constructor(code: number, body: string) {
    super(`HTTP ${code}`);
    this.code = code;
    this.body = body;
  }
}

/** A request that failed: an apiserver's refusal in its own words, without the whole answer. */
export function apiFault(error: unknown): string {
  if (!(error instanceof ApiRefusal)) return faultOf(error);
  const message = /"message":\s*("(?:[^"\\]|\\.)*")/.exec(error.body)?.[1];
  return `the apiserver refused: HTTP ${error.code}${message ? `, ${faultOf(new Error(String(JSON.parse(message))))}` : ""}`;
}
