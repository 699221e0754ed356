// Enrols this machine once, and stores its key, its enrolment and the Worker's URL: `node-shim join`.
import { monotonicMs, pause } from "../base/clock.ts";
import type { LogMessage } from "../base/log.ts";
import { valueOr } from "../../shared/result.ts";
import {
  loadEnrolment,
  loadKey,
  loadOrMakeKey,
  type MachineKey,
  storedPending,
  storeEnrolment,
  storePending,
} from "../identity/identity.ts";
import { joinTokenKey, readJoinToken } from "../identity/join-token.ts";
import { InUse, lockFolder } from "../identity/lock.ts";
import { type MachineFlags, machineSettings } from "../machine/settings.ts";
import { machineID, systemUUID } from "../sources/kernel/names.ts";
import { diskReader } from "../sources/kernel/served-files.ts";
import { findOrigin } from "../worker-link/origin.ts";
import { type Outbound, outboundTo } from "../worker-link/outbound.ts";
import type { RequestFault } from "../worker-link/exchange.ts";
import { turnOf } from "../worker-link/enrol.ts";
import { enrol } from "../worker-link/requests.ts";
import { httpTransport } from "../worker-link/http-transport.ts";

export interface JoinFlags extends MachineFlags {
  url?: string;
  state: string;
  joinTokenFile?: string;
}

const DEADLINE_MS = 10_000;
const MAX_ATTEMPTS = 3;
const WAIT_MS = 1000;
/** The longest time for which `join` waits for the machines that are ahead. */
const TURN_WITHIN_MS = 3_600_000;

/** The error of a join that an operator has to approve. */
export class NotApproved extends Error {}

/**
 * Enrols this machine, unless that Worker has enrolled it already. Returns one line for the operator. Calls `warn` for
 * a token file that others can read, and while many machines enrol. Throws, with the remedy, if the enrolment fails; the
 * files stay for a retry. With `mayWait`, stores what a service needs to enrol after an operator's approval.
 */
export async function join(
  flags: JoinFlags,
  warn: (message: LogMessage) => void,
  mayWait = false,
): Promise<string> {
  // Throws for flags that `run` would refuse, before the first request to the Worker.
  const { name } = machineSettings(flags);
  const { origin } = findOrigin(flags, process.env);
  const outbound = outboundTo(origin, flags, process.env);
  // Checks the enrolment before taking the folder's lock, which a running shim holds.
  const known = await loadKey(flags.state);
  if (known && loadEnrolment(flags.state, { name, thumbprint: known.thumbprint })?.origin === origin)
    return `${name} is enrolled at ${origin} already, key ${known.thumbprint}`;
  const lock = lockUnlessWaiting(flags.state, name);
  try {
    const key = await loadOrMakeKey(flags.state);
    const { thumbprint } = key;
    const joinToken = await readJoinToken(flags.joinTokenFile, warn);
    const enrolled = await enrolOnce(key, { name, origin, joinToken }, outbound, warn);
    if (!enrolled.ok) {
      const text = refusal(enrolled.error, (await joinTokenKey(joinToken)).id);
      if (!isNotApproved(enrolled.error)) throw new Error(text);
      if (mayWait) storePending(flags.state, { origin, joinToken });
      throw new NotApproved(text);
    }
    storeEnrolment(flags.state, { name, thumbprint, kid: enrolled.value.kid, origin });
    return `enrolled as ${name} at ${origin}, key ${thumbprint}`;
  } finally {
    lock.release();
  }
}

/** Locks the folder. The error states whether the shim that uses the folder waits for an operator's approval. */
function lockUnlessWaiting(state: string, name: string): ReturnType<typeof lockFolder> {
  try {
    return lockFolder(state);
  } catch (error) {
    if (!(error instanceof InUse) || !storedPending(state)) throw error;
    throw new Error(
      `${name} waits for an operator's approval, and needs no second join. To use another token: ${error.message}`,
      { cause: error },
    );
  }
}

/** Tries up to MAX_ATTEMPTS times to enrol, without the attempts before this machine's turn. */
async function enrolOnce(
  key: MachineKey,
  { name, origin, joinToken }: { name: string; origin: string; joinToken: string },
  outbound: Outbound,
  warn: (message: LogMessage) => void,
): ReturnType<typeof enrol> {
  const endMs = monotonicMs() + TURN_WITHIN_MS;
  const read = diskReader("/");
  const ids = {
    machineID: valueOr(await machineID(read), ""),
    systemUUID: valueOr(await systemUUID(read), ""),
  };
  const { send, close } = httpTransport(origin, DEADLINE_MS, outbound);
  try {
    for (let attempt = 1; ;) {
      const outcome = await enrol(send, key, { name, origin, joinToken, ...ids });
      if (outcome.ok) return outcome;
      const fault = outcome.error;
      const detail = monotonicMs() < endMs && turnOf(fault);
      if (!detail && (attempt++ === MAX_ATTEMPTS || isFinal(fault))) return outcome;
      if (detail) warn(`waiting to enrol: ${detail}`);
      close();
      await pause((detail && fault.retryAfterMs) || WAIT_MS);
    }
  } finally {
    close();
  }
}

/** Returns whether a retry is useless, unlike after a stale challenge, which means only that the network was slow. */
const isFinal = (fault: RequestFault) =>
  fault.reason === "refused" && fault.problem.status < 500 && fault.problem.reason !== "challenge-stale";

const isNotApproved = (fault: RequestFault) =>
  fault.reason === "refused" && fault.problem.reason === "name-pinned";

function refusal(fault: RequestFault, token: string): string {
  if (fault.reason === "failed")
    return `not enrolled: ${fault.message}; try again, or run \`node-shim doctor\``;
  const { title, detail } = fault.problem;
  return `not enrolled: ${title}. ${detail} Join token: ${token}`;
}
