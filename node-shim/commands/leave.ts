// node-shim leave: has the Node removed and this machine forgotten, then forgets its own key and enrolment.
import { setTimeout as wait } from "node:timers/promises";
import { asEnrolled, type EnrolledFlags } from "./as-enrolled.ts";
import { forgetIdentity } from "../identity/identity.ts";
import { requestFaultText } from "../worker-link/exchange.ts";
import { leave } from "../worker-link/requests.ts";

/** Longer than the Worker takes to end a tick and to ask the apiserver. */
const DEADLINE_MS = 20_000;
const MAX_ATTEMPTS = 3;
const WAIT_MS = 1000;

/** Throws with what to do while the machine has not left; the files stay, so that it can be tried again. */
export function leaveWorker(flags: EnrolledFlags): Promise<void> {
  return asEnrolled(flags, DEADLINE_MS, "nothing to leave", async (machine, { send, reconnect }) => {
    const { name } = machine;
    let wasUnanswered = false;
    for (let attempt = 1; ; attempt++) {
      const outcome = await leave(send, machine);
      if (outcome.ok) break;
      const fault = outcome.error;
      // A machine that has left is no longer known: the answer to an earlier attempt was lost.
      if (fault.reason === "refused" && fault.problem.status === 401 && wasUnanswered) break;
      const why = requestFaultText(fault);
      const isFinal = fault.reason === "refused" && fault.problem.status < 500;
      if (isFinal || attempt === MAX_ATTEMPTS) {
        throw new Error(`not left: ${why}; try again, or ask your operator to remove the node ${name}`);
      }
      wasUnanswered ||= fault.reason === "failed";
      reconnect();
      await wait(WAIT_MS);
    }
    forgetIdentity(flags.state);
    console.error(`node-shim: ${name} has left; its key is gone`);
  });
}
