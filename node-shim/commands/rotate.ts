// node-shim rotate: has a next key pinned for this machine. The shim signs with it from its next start on, and its
// first report ends the old key.
import { asEnrolled, type EnrolledFlags } from "./as-enrolled.ts";
import { loadNextKey, makeNextKey, storeNextEnrolment } from "../identity/next-key.ts";
import { requestFaultText } from "../worker-link/exchange.ts";
import { rotate } from "../worker-link/requests.ts";

const DEADLINE_MS = 10_000;

/** Returns what was done, in one line. Throws with what to do; it can be tried again, with the same next key. */
export function rotateKey(flags: EnrolledFlags): Promise<string> {
  return asEnrolled(flags, DEADLINE_MS, "join first", async (machine, { send }) => {
    const { name, origin } = machine;
    const next = (await loadNextKey(flags.state)) ?? (await makeNextKey(flags.state));
    const { thumbprint } = next.key;
    if (!next.enrolment) {
      const outcome = await rotate(send, machine, next.key);
      if (!outcome.ok) {
        throw new Error(
          `not rotated: ${requestFaultText(outcome.error)}; the key is the one before, try again`,
        );
      }
      storeNextEnrolment(flags.state, next.key, { name, thumbprint, kid: outcome.value.kid, origin });
    }
    return `${name} has the next key ${thumbprint}: start the shim again, its first report ends the key before`;
  });
}
