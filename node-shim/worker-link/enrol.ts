// Has this machine's key pinned under its name, once: with the join token that an operator gave it.
import { pause } from "../base/clock.ts";
import type { EnrolmentAnswer } from "../../shared/protocol/answers.ts";
import { afterEnrolment } from "./enrolment-wait.ts";
import { storeEnrolment } from "../identity/identity.ts";
import { joinTokenKey, readJoinToken } from "../identity/join-token.ts";
import type { Log } from "../base/log.ts";
import type { Machine } from "../machine/machine.ts";
import { enrol } from "./requests.ts";
import { type Transport } from "./exchange.ts";
import type { MachineKey } from "../identity/machine-key.ts";

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
