// From a reason to what goes over the wire: generic words for the machine's operator, nothing about the cluster.
import { type Problem, REASONS, type Reason } from "../../shared/protocol/report.ts";

const TITLES: Record<Reason, [title: string, detail: string]> = {
  "invalid-json": ["The body is not JSON", "Send the body as UTF-8 JSON."],
  "invalid-body": [
    "The body does not follow the protocol",
    "See docs/protocol.md; `pointer` names the first fault.",
  ],
  "invalid-name": [
    "This cannot be a Node's name",
    "Use lower case letters, digits, '-' and '.'; at most 253 characters.",
  ],
  unauthenticated: [
    "The request's signature was not accepted",
    "Keep the key and try again once a minute, or enrol again with a new join token.",
  ],
  "token-refused": [
    "The join token was not accepted",
    "Ask for a new join token: this one is unknown, expired, used up, or for other names.",
  ],
  "key-revoked": [
    "This machine's key is not valid any more",
    "An operator revoked it, or it was rotated out; to come back, leave the state folder empty and enrol with a new join token.",
  ],
  forbidden: [
    "This needs the operator's credentials",
    "Send the admin secret as a bearer token, or come through Cloudflare Access.",
  ],
  "not-found": ["There is nothing here", "See docs/protocol.md for the paths."],
  "method-not-allowed": ["This path does not take that method", "See docs/protocol.md for the methods."],
  "ticket-stale": ["The ticket is not the current one", "Repeat at once with the ticket of this answer."],
  "name-pinned": [
    "Another machine's key has this name",
    "An operator has to approve this machine's key; it waits until then.",
  ],
  "facts-unknown": [
    "These facts are not known here",
    "Repeat at once with the facts and the ticket of this answer.",
  ],
  "body-too-large": ["The body is too large", "A body may have at most 262144 bytes."],
  "rate-limited": ["These are too many requests", "Wait as long as Retry-After says, then try again."],
  "not-removed": ["The Node could not be removed from the cluster", "Nothing is forgotten yet; try again."],
  internal: ["Something went wrong here", "Try again; the Worker's log has more."],
};

/** The problem document of a reason; `more` overrides or adds members. */
export function problem(reason: Reason, more: Partial<Problem> = {}): Problem {
  const [title, detail] = TITLES[reason];
  return { type: "about:blank", status: REASONS[reason], title, detail, reason, ...more };
}

/** The same, with the status that it is served with. */
export function refusal(reason: Reason, more: Partial<Problem> = {}): { status: number; body: Problem } {
  return { status: REASONS[reason], body: problem(reason, more) };
}

export function problemResponse(body: Problem): Response {
  const headers: Record<string, string> = {
    "content-type": "application/problem+json",
    "cache-control": "no-store",
  };
  if (body.status === 401) headers["www-authenticate"] = "Bearer";
  if (body.retryAfterSeconds) headers["retry-after"] = String(body.retryAfterSeconds);
  return new Response(JSON.stringify(body), { status: body.status, headers });
}
