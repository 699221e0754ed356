// Asks the Worker to remove the Node and this machine, then deletes the key and the enrolment: `node-shim leave`.
import { pause } from "../base/clock.ts";
import { asEnrolled, type EnrolledFlags } from "./as-enrolled.ts";
import { forgetIdentity, leftName } from "../identity/identity.ts";
import { lockFolder } from "../identity/lock.ts";
import { requestFaultText } from "../worker-link/exchange.ts";
import { leave } from "../worker-link/requests.ts";

/** The time limit of one request. Longer than the Worker needs to end a tick and to send requests to the apiserver. */
const DEADLINE_MS = 20_000;
const MAX_ATTEMPTS = 3;
const WAIT_MS = 1000;

const NOT_ENROLLED = "nothing to leave; if another folder keeps the enrolment, pass --state";

/** Removes this machine from the Worker. Returns the operator's line. Throws, with the remedy; files stay for retry. */
export async function leaveWorker(flags: EnrolledFlags): Promise<string> {
  const left = leftName(flags.state);
  if (left !== null) return forgetLeft(flags.state, left);
  return asEnrolled(flags, DEADLINE_MS, NOT_ENROLLED, async (machine, { send, reconnect }) => {
    const { name } = machine;
    let wasUnanswered = false;
    for (let attempt = 1; ; attempt++) {
      const outcome = await leave(send, machine);
      if (outcome.ok) break;
      const fault = outcome.error;
      // A Worker answers 401 to a machine that has left. The earlier, unanswered request has therefore succeeded.
      if (fault.reason === "refused" && fault.problem.status === 401 && wasUnanswered) break;
      const why = requestFaultText(fault);
      const isFinal = fault.reason === "refused" && fault.problem.status < 500;
      if (isFinal || attempt === MAX_ATTEMPTS) {
        throw new Error(`not left: ${why}; try again, or ask your operator to remove the node ${name}`);
      }
      wasUnanswered ||= fault.reason === "failed";
      reconnect();
      await pause(WAIT_MS);
    }
    forgetIdentity(flags.state, name);
    return `${name} has left; its key is gone`;
  });
}

/** Deletes the files that a crash in an earlier `leave` may have left. Returns one line for the operator. */
function forgetLeft(state: string, name: string): string {
  const lock = lockFolder(state);
  try {
    forgetIdentity(state, name);
  } finally {
    lock.release();
  }
  return `${name} has left already: nothing has changed`;
}
