// node-shim leave: has the Node removed and this machine forgotten, then forgets its own key and enrolment.
import { setTimeout as wait } from "node:timers/promises";
import { forgetIdentity, loadEnrolment, loadOrMakeKey } from "./identity.ts";
import { lockFolder } from "./lock.ts";
import { nodeName } from "./machine.ts";
import { workerOrigin } from "./origin.ts";
import { leave } from "./post.ts";
import { httpTransport } from "./transport.ts";

export interface LeaveFlags {
  /** --url, else ROLLCALL_URL, else the Worker that enrolled this machine. */
  url?: string;
  state: string;
  hostnameOverride?: string;
}

/** Longer than the Worker takes to end a tick and to ask the apiserver. */
const DEADLINE_MS = 20_000;
const MAX_ATTEMPTS = 3;
const WAIT_MS = 1000;

/** Throws with what to do while the machine has not left; what is on disk then stays, and it can be tried again. */
export async function leaveWorker(flags: LeaveFlags): Promise<void> {
  const origin = workerOrigin(flags);
  const name = nodeName(flags);
  const lock = lockFolder(flags.state);
  const { send, close } = httpTransport(origin, DEADLINE_MS);
  try {
    const key = await loadOrMakeKey(flags.state);
    const enrolment = loadEnrolment(flags.state, { name, thumbprint: key.thumbprint });
    if (enrolment === null) throw new Error(`${flags.state} holds no enrolment of ${name}: nothing to leave`);
    let wasUnanswered = false;
    for (let attempt = 1; ; attempt++) {
      const outcome = await leave(send, { name, origin, key, kid: enrolment.kid });
      if (outcome.kind === "ok") break;
      // Whoever has left is known no more: the answer to an earlier attempt was lost.
      if (outcome.kind === "refused" && outcome.problem.status === 401 && wasUnanswered) break;
      const why = outcome.kind === "failed" ? outcome.message : outcome.problem.title;
      const isFinal = outcome.kind === "refused" && outcome.problem.status < 500;
      if (isFinal || attempt === MAX_ATTEMPTS) {
        throw new Error(`not left: ${why}; try again, or ask your operator to remove the node ${name}`);
      }
      wasUnanswered ||= outcome.kind === "failed";
      close();
      await wait(WAIT_MS);
    }
    forgetIdentity(flags.state);
    console.error(`node-shim: ${name} has left; its key is gone`);
  } finally {
    close();
    lock.release();
  }
}
