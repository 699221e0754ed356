// Has this machine's key pinned under its name, once: with the join token that an operator gave it.
import type { EnrolmentAnswer } from "../../shared/protocol/answers.ts";
import { pause } from "../base/clock.ts";
import type { Log, LogMessage } from "../base/log.ts";
import { type MachineKey, storeEnrolment } from "../identity/identity.ts";
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
}

/**
 * Enrols; tries again while the Worker cannot be reached or an operator has to approve. Throws, with what to do, for a
 * refusal. null: stopped before.
 */
export async function enrolMachine({
  flags,
  machine,
  key,
  origin,
  send,
  log,
  stop,
}: Enrolling): Promise<EnrolmentAnswer | null> {
  const joinToken = await readJoinToken(flags.joinTokenFile);
  const { id: token } = await joinTokenKey(joinToken);
  const { facts } = await machine.gather();
  const { machineID = "", systemUUID = "" } = facts.machine ?? {};
  let said = "";
  while (!stop.aborted) {
    const outcome = await enrol(send, key, { name: machine.name, origin, joinToken, machineID, systemUUID });
    if (outcome.ok) {
      const { name } = machine;
      const { kid } = outcome.value;
      storeEnrolment(flags.state, { name, thumbprint: key.thumbprint, kid, origin });
      log("info", `enrolled as ${name} at ${origin}, key ${key.thumbprint}`);
      return outcome.value;
    }
    const next = afterEnrolment(outcome.error, token, Math.random);
    if (stop.aborted) break;
    if (next.say !== said) log("warn", next.say);
    said = next.say;
    await pause(next.waitMs, { signal: stop });
  }
  return null;
}

// Decides what follows a failed enrolment: when to ask again and what to log, or that asking again is no use.

/** The Worker could not be reached or had a fault: full jitter below this. */
const FAILURE_WAIT_MS = 5000;
/** An operator has to approve: people are slow, and a Worker has many machines. Up to twice this. */
const APPROVAL_WAIT_MS = 30_000;

/**
 * Throws, with what to do, where the machine was refused. `token`: the ID of the join token, which is no secret: operators
 * find it in their list and logs. `random`: typically Math.random.
 */
export function afterEnrolment(
  fault: RequestFault,
  token: string,
  random: () => number,
): { waitMs: number; say: LogMessage } {
  const { retryAfterMs = 0 } = fault;
  if (fault.reason === "failed") {
    const waitMs = retryAfterMs || random() * FAILURE_WAIT_MS;
    return { waitMs, say: `enrolment failed: ${fault.message}; trying again` };
  }
  const { title, detail, reason, status } = fault.problem;
  if (reason === "name-pinned") {
    const waitMs = Math.max(retryAfterMs, APPROVAL_WAIT_MS * (1 + random()));
    return { waitMs, say: `waiting for an operator: ${title}. ${detail} Join token: ${token}` };
  }
  // The network held it up until the challenge was good no more, or the name has just changed.
  const isLate = reason === "challenge-stale";
  if (status < 500 && status !== 429 && !isLate)
    throw new Error(`enrolment refused: ${title}. ${detail} Join token: ${token}`);
  // It will not pass by itself: whoever reads the log has to know whom to ask.
  const said = reason === "not-configured" ? `${title}. ${detail}` : title;
  return {
    waitMs: retryAfterMs || random() * FAILURE_WAIT_MS,
    say: `enrolment failed: ${said}; trying again`,
  };
}
