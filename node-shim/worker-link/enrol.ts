// Enrols this machine with its join token: the Worker pins the machine's key under its name.
import type { EnrolmentAnswer } from "../../shared/protocol/answers.ts";
import { backOff } from "../../shared/back-off.ts";
import { pause } from "../base/clock.ts";
import type { Log, LogMessage } from "../base/log.ts";
import { type MachineKey, storedPending, storeEnrolment } from "../identity/identity.ts";
import { joinTokenKey, readJoinToken } from "../identity/join-token.ts";
import type { Machine } from "../machine/machine.ts";
import type { RequestFault, Transport } from "./exchange.ts";
import { enrol } from "./requests.ts";

interface Enrolling {
  flags: { state: string; joinTokenFile?: string };
  machine: Machine;
  key: MachineKey;
  origin: string;
  send: Transport;
  log: Log;
  stop: AbortSignal;
  /** Stores the enrolment now, or later if the state folder cannot be written. */
  store: (store: () => void) => Promise<void>;
}

/**
 * Enrols this machine. Tries again while the Worker is unreachable or an operator has to approve the machine.
 * Throws, with the remedy, for a refusal. Returns null if `stop` was aborted before the enrolment.
 */
export async function enrolMachine({
  flags,
  machine,
  key,
  origin,
  send,
  log,
  stop,
  store,
}: Enrolling): Promise<EnrolmentAnswer | null> {
  // The token of `join --install-service`, which has asked for this name and was told to wait.
  const pending = { ROLLCALL_JOIN_TOKEN: storedPending(flags.state)?.joinToken };
  const environment = process.env["ROLLCALL_JOIN_TOKEN"] ? process.env : pending;
  const joinToken = await readJoinToken(flags.joinTokenFile, (message) => log("warn", message), environment);
  const { id: token } = await joinTokenKey(joinToken);
  const { facts } = await machine.gather();
  const { machineID = "", systemUUID = "" } = facts.machine ?? {};
  let lastMessage = "";
  for (let failures = 1; !stop.aborted; failures++) {
    const outcome = await enrol(send, key, { name: machine.name, origin, joinToken, machineID, systemUUID });
    if (outcome.ok) {
      const { name } = machine;
      const { kid } = outcome.value;
      await store(() => storeEnrolment(flags.state, { name, thumbprint: key.thumbprint, kid, origin }));
      log("info", `enrolled as ${name} at ${origin}, key ${key.thumbprint}`);
      return outcome.value;
    }
    const next = afterEnrolment(outcome.error, token, failures, Math.random);
    if (stop.aborted) break;
    if (next.message !== lastMessage) log("warn", next.message);
    lastMessage = next.message;
    await pause(next.waitMs, { signal: stop });
  }
  return null;
}

/** Returns the text about the machines that are ahead; null if the fault is another one. */
export const turnOf = (fault: RequestFault): string | null =>
  fault.reason === "refused" && fault.problem.reason === "busy" ? fault.problem.detail : null;

/**
 * Calls `asked` again at each turn that the Worker names. `asked` is typically `enrol` for one machine. `wait` returns
 * after this number of milliseconds; it is typically `pause`.
 */
export async function atItsTurn(
  asked: () => ReturnType<typeof enrol>,
  wait: (ms: number) => Promise<void>,
  stop?: AbortSignal,
): ReturnType<typeof enrol> {
  for (;;) {
    const outcome = await asked();
    if (outcome.ok || turnOf(outcome.error) === null || stop?.aborted) return outcome;
    await wait(outcome.error.retryAfterMs ?? FAILURE_WAIT_MS.first);
  }
}

/** The limits of the random wait after a fault of the Worker or the network: at first, and after more failures. */
const FAILURE_WAIT_MS = { first: 5000, longest: 60_000 } as const;
/** The least wait for an operator's approval. The actual wait is random, up to twice this time. */
const APPROVAL_WAIT_MS = 30_000;

/**
 * Returns the wait before the next attempt after a failed enrolment, and the line to log. Throws, with the remedy,
 * for a refusal. `token` is the join token's ID, which is no secret. `failures` counts the failures in a row, from 1.
 * `random` is typically Math.random.
 */
export function afterEnrolment(
  fault: RequestFault,
  token: string,
  failures: number,
  random: () => number,
): { waitMs: number; message: LogMessage } {
  const { retryAfterMs = 0 } = fault;
  const { first, longest } = FAILURE_WAIT_MS;
  const waitMs = retryAfterMs || random() * backOff(failures, first, longest);
  if (fault.reason === "failed") {
    return { waitMs, message: `enrolment failed: ${fault.message}; trying again` };
  }
  const { title, detail, reason, status } = fault.problem;
  if (reason === "name-pinned") {
    const approvalMs = Math.max(retryAfterMs, APPROVAL_WAIT_MS * (1 + random()));
    return {
      waitMs: approvalMs,
      message: `waiting for an operator: ${title}. ${detail} Join token: ${token}`,
    };
  }
  // Many machines enrol at once: the detail has the machines that are ahead.
  if (reason === "busy") return { waitMs, message: `waiting to enrol: ${detail}` };
  // The challenge is too old on a slow network, or was made for the name that the machine had before.
  const isLate = reason === "challenge-stale";
  if (status < 500 && status !== 429 && !isLate)
    throw new Error(`enrolment refused: ${title}. ${detail} Join token: ${token}`);
  // An operator has to fix a missing configuration, so the log gets the whole problem.
  const what = reason === "not-configured" ? `${title}. ${detail}` : title;
  return { waitMs, message: `enrolment failed: ${what}; trying again` };
}
