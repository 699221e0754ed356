// Makes the problem document for a reason. The texts are for the machine's operator and reveal no cluster details.
import { ASKING_LIMITS, LIMITS } from "../shared/protocol/limits.ts";
import { type Problem, type Reason, REASON_STATUSES } from "../shared/protocol/answers.ts";
import type { Refusal } from "./machine/answers.ts";

const PROBLEMS: Record<Reason, [title: string, detail: string]> = {
  "invalid-json": ["The body is not JSON", "Send the body as UTF-8 JSON."],
  "invalid-body": [
    "The body does not follow the protocol",
    "See docs/protocol.md; `pointer` names the first fault.",
  ],
  "invalid-query": [
    "The query is not one that this path takes",
    "See docs/protocol.md; `parameter` names the first fault.",
  ],
  "invalid-name": [
    "This cannot be a Node's name",
    `Use lower case letters, digits, '-' and '.'; at most ${LIMITS.nameLength} characters.`,
  ],
  "shim-too-old": [
    "This shim is too old to enrol here",
    "Upgrade it as it was installed, and enrol again: it signs over no challenge. A machine that is enrolled may go on with it.",
  ],
  unauthenticated: [
    "The request's signature was not accepted",
    "Keep the key and try again once a minute, or enrol again with a new join token.",
  ],
  "wrong-origin": [
    "The request is signed for another origin",
    "The operator has to add the origin by which this machine reaches the Worker to ORIGINS, or this machine has to use another one (--url).",
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
    "Send an operator's secret as a bearer token, sign in, or come through Cloudflare Access.",
  ],
  "not-found": ["There is nothing here", "See docs/protocol.md for the paths."],
  "one-sender": [
    "There was nothing to end",
    "This machine is neither `cloned` nor `two shims`, so that nothing has changed.",
  ],
  "method-not-allowed": ["This path does not take that method", "See docs/protocol.md for the methods."],
  "ticket-stale": ["The ticket is not the current one", "Repeat at once with the ticket of this answer."],
  "challenge-stale": [
    "The enrolment is not signed over a challenge that is good now",
    "Repeat at once, with the challenge of this answer in both signatures.",
  ],
  conflict: ["This cannot be done as things are", "Look again, and repeat it if it is still wanted."],
  "machine-silent": [
    "This machine is silent",
    "It cannot be asked before it reports again: find out whether it is up and online.",
  ],
  "no-socket": [
    "This machine has no socket now",
    `It reports over HTTP. A bundle or a followed log needs its socket, as does a question to a machine that reports less often than every ${ASKING_LIMITS.reportWithinSeconds - ASKING_LIMITS.graceSeconds} s.`,
  ],
  "question-off": [
    "This machine does not answer this question",
    "Its owner turns questions on: --questions of its shim names them (docs/questions.md).",
  ],
  "name-pinned": [
    "Another machine's key has this name",
    "An operator has to approve this machine's key; it waits until then.",
  ],
  "facts-unknown": [
    "These facts are not known here",
    "Repeat at once with the facts and the ticket of this answer.",
  ],
  "body-too-large": ["The body is too large", `A body may have at most ${LIMITS.bodyBytes} bytes.`],
  "upgrade-required": [
    "This path is a WebSocket",
    "Ask for it with `Upgrade: websocket`; see docs/feed.md, and docs/protocol.md for machines.",
  ],
  "rate-limited": ["These are too many requests", "Wait as long as Retry-After says, then try again."],
  busy: ["The Worker is busy", "Wait as long as Retry-After says, then try again."],
  "not-removed": ["The Node could not be removed from the cluster", "Nothing is forgotten yet; try again."],
  "try-another": ["This gateway has no room", "Report over HTTP; the answer names another one."],
  "not-configured": [
    "The Worker is not configured",
    "Nothing is wrong with this machine. Ask the Worker's operator, to whom GET /readyz says what is missing.",
  ],
  "newer-state": [
    "The Worker is older than what it has stored",
    "Nothing is wrong with this machine, and nothing is lost. The Worker's operator has to deploy the later version again.",
  ],
  internal: ["Something went wrong here", "Try again; the Worker's log has more."],
};

/** Returns the problem document of a reason. `more` overrides or adds members. */
export function problem(reason: Reason, more: Partial<Problem> = {}): Problem {
  const [title, detail] = PROBLEMS[reason];
  return { type: "about:blank", status: REASON_STATUSES[reason], title, detail, reason, ...more };
}

/** Returns the problem document of a machine object's refusal. */
export function problemOf(refusal: Refusal): Problem {
  if (refusal.reason === "invalid-body") {
    const { path, message } = refusal.fault;
    return problem(refusal.reason, { detail: message, pointer: path });
  }
  const { reason, ...more } = refusal;
  return problem(reason, more);
}
