// node-shim rotate: has a new key pinned for this machine. The next start speaks with it; its first report ends the
// key before it.
import { loadEnrolment, loadOrMakeKey } from "./identity.ts";
import { lockFolder } from "./lock.ts";
import { nodeName } from "./machine.ts";
import { loadNextKey, makeNextKey, storeNextEnrolment } from "./next-key.ts";
import { workerOrigin } from "./origin.ts";
import { rotate } from "./post.ts";
import { httpTransport } from "./transport.ts";

export interface RotateFlags {
  /** --url, else ROLLCALL_URL, else the Worker that enrolled this machine. */
  url?: string;
  state: string;
  hostnameOverride?: string;
}

const DEADLINE_MS = 10_000;

/** Returns what was done, in one line. Throws with what to do; it can be tried again, with the same next key. */
export async function rotateKey(flags: RotateFlags): Promise<string> {
  const origin = workerOrigin(flags);
  const name = nodeName(flags);
  const lock = lockFolder(flags.state);
  const { send, close } = httpTransport(origin, DEADLINE_MS);
  try {
    const key = await loadOrMakeKey(flags.state);
    const enrolment = loadEnrolment(flags.state, { name, thumbprint: key.thumbprint });
    if (enrolment === null) throw new Error(`${flags.state} holds no enrolment of ${name}: join first`);
    const next = (await loadNextKey(flags.state)) ?? (await makeNextKey(flags.state));
    const { thumbprint } = next.key;
    if (!next.enrolment) {
      const outcome = await rotate(send, { name, origin, key, kid: enrolment.kid }, next.key);
      if (outcome.kind !== "ok") {
        const why = outcome.kind === "failed" ? outcome.message : outcome.problem.title;
        throw new Error(`not rotated: ${why}; the key is the one before, try again`);
      }
      storeNextEnrolment(flags.state, next.key, { name, thumbprint, kid: outcome.answer.kid, origin });
    }
    return `${name} has the next key ${thumbprint}: start the shim again, its first report ends the key before`;
  } finally {
    close();
    lock.release();
  }
}
