// Opens a socket to this machine's gateway, or returns the reason why there is none, as text for an operator.
import type { Problem } from "../../shared/protocol/answers.ts";
import { failure, type Result, success } from "../../shared/result.ts";
import type { Clock } from "../base/clock.ts";
import { openWebSocket, type UpgradeFault } from "./websocket.ts";
import { agentTo, connectionFault, lateText, type Outbound } from "./outbound.ts";
import { readProblem } from "./answers.ts";
import { MAX_ANSWER_BYTES, retryAfterMs } from "./exchange.ts";
import type { EnrolledMachine } from "./requests.ts";
import type { QuestionAnswering } from "./questions.ts";
import { makeSessionKeys } from "./session.ts";
import { signConnect } from "./sign.ts";
import { GatewaySocket, type SocketListener } from "./socket-transport.ts";

export interface Upgrading {
  machine: EnrolledMachine;
  outbound: Outbound;
  /** The time limit of the upgrade, and the time after which an answer is late. */
  deadlineMs: number;
  /** The longest wait for an answer while the Worker answers pings. */
  patienceMs: number;
  clock: Clock;
  /** Returns a random number from 0 to 1. Typically Math.random. */
  random: () => number;
  /** Returns the header that states until when this machine waits. Absent: none. Typically of the HTTP transport. */
  until?: () => Record<string, string>;
  /** How this machine answers questions; null if all are off. */
  answering?: QuestionAnswering | null;
}

export interface UpgradeRefusal {
  why: string;
  /** The reason of the Worker's problem; null if the Worker has not answered. */
  reason: string | null;
  /** The Retry-After of the Worker or of a proxy, in milliseconds; 0 if there is none. */
  retryAfterMs: number;
}

/** Opens a socket. `path` is the Worker's offer, with its ticket. Never rejects. */
export async function openSocket(
  { machine, outbound, deadlineMs, patienceMs, clock, random, until, answering = null }: Upgrading,
  path: string,
  listener: SocketListener,
  signal: AbortSignal,
  open = openWebSocket, // another function in tests without a network
): Promise<Result<GatewaySocket, UpgradeRefusal>> {
  const { name, origin, key, kid } = machine;
  const keys = makeSessionKeys();
  const url = new URL(path, origin);
  const claims = {
    sub: name,
    aud: origin,
    method: "GET",
    path: url.pathname,
    session: keys.publicKey,
  } as const;
  const agent = agentTo(origin, outbound, deadlineMs);
  const opened = await open({
    url,
    headers: { ...until?.(), authorization: `Bearer ${await signConnect(key, kid, claims)}` },
    agent,
    deadlineMs,
    signal,
    maxBytes: MAX_ANSWER_BYTES,
  });
  // Destroying the agent does not close an open WebSocket, whose connection the agent has released.
  agent.destroy();
  if (!opened.ok) return failure(refusalOf(opened.error, outbound, deadlineMs));
  const parts = { name, keys, clock, deadlineMs, patienceMs, random, answering };
  return success(new GatewaySocket(opened.value, parts, listener));
}

const BLOCKED = "a proxy on the way does not pass WebSockets on";

/** The texts of the Worker's refusals, by reason. */
const REFUSALS = new Map([
  ["upgrade-required", `${BLOCKED}: it takes the upgrade out of the request`],
  ["try-another", "its gateway has no room: the next answer names another one"],
  ["rate-limited", "the Worker asks this machine to wait"],
  ["busy", "the Worker is busy"],
]);

function refusalOf(fault: UpgradeFault, { proxy }: Outbound, deadlineMs: number): UpgradeRefusal {
  const refusal = (why: string) => ({ why, reason: null, retryAfterMs: 0 });
  if (fault.reason === "late")
    return refusal(`${lateText(deadlineMs)} to the upgrade: a proxy on the way may hold it back`);
  if (fault.reason === "failed") return refusal(`the upgrade failed: ${connectionFault(fault.error, proxy)}`);
  const { status, body, headers } = fault;
  const retry = { retryAfterMs: retryAfterMs(headers["retry-after"]) ?? 0 };
  const problem = problemOf(body);
  if (problem === null) return { ...refusal(`${BLOCKED}: it answers HTTP ${status}`), ...retry };
  const { reason, title } = problem;
  return { why: REFUSALS.get(reason) ?? `the Worker refuses it: ${title} (${reason})`, reason, ...retry };
}

/** Returns the problem in an answer; null if the answer is not the Worker's. */
function problemOf(body: string): Pick<Problem, "reason" | "title"> | null {
  try {
    return readProblem(JSON.parse(body));
  } catch {
    return null;
  }
}
