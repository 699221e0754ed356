// Gives the commands of an enrolled machine, except `run`, its key, its enrolment and a connection to the Worker.
import { loadEnrolment, loadKey, storedEnrolment } from "../identity/identity.ts";
import { lockFolder } from "../identity/lock.ts";
import { nodeName } from "../machine/settings.ts";
import { workerOrigin } from "../worker-link/origin.ts";
import { outboundTo } from "../worker-link/outbound.ts";
import type { EnrolledMachine } from "../worker-link/requests.ts";
import type { Transport } from "../worker-link/exchange.ts";
import { httpTransport } from "../worker-link/http-transport.ts";

export interface EnrolledFlags {
  /** The Worker's URL. Absent: ROLLCALL_URL, else the URL of the Worker that enrolled this machine. */
  url?: string;
  state: string;
  /** The machine's name. Absent: the enrolment's name. */
  hostnameOverride?: string;
  caFile?: string;
}

/** The work of one command. `reconnect` drops the connection; the next request opens another connection. */
type Work<T> = (
  machine: EnrolledMachine,
  connection: { send: Transport; reconnect: () => void },
) => Promise<T>;

/** Does `work` while no shim runs (state folder locked). Throws an error ending with `otherwise` if not enrolled. */
export function asEnrolled<T>(
  flags: EnrolledFlags,
  deadlineMs: number,
  otherwise: string, // typically what the operator must do first
  work: Work<T>,
): Promise<T> {
  return connected(flags, deadlineMs, otherwise, work, () => lockFolder(flags.state));
}

/** Does `work` like asEnrolled, but without the lock: a shim may run. `work` must write no file of the state folder. */
export function besideShim<T>(
  flags: EnrolledFlags,
  deadlineMs: number,
  otherwise: string,
  work: Work<T>,
): Promise<T> {
  return connected(flags, deadlineMs, otherwise, work, () => ({ release: () => undefined }));
}

async function connected<T>(
  flags: EnrolledFlags,
  deadlineMs: number,
  otherwise: string,
  work: Work<T>,
  takeLock: () => { release: () => void },
): Promise<T> {
  const stored = storedEnrolment(flags.state);
  if (stored === null) throw new Error(`${flags.state} holds no enrolment: ${otherwise}`);
  const name = flags.hostnameOverride === undefined ? stored.name : nodeName(flags);
  const origin = workerOrigin(flags);
  const outbound = outboundTo(origin, flags, process.env);
  const lock = takeLock();
  const { send, close } = httpTransport(origin, deadlineMs, outbound);
  try {
    const key = await loadKey(flags.state);
    const enrolment = key && loadEnrolment(flags.state, { name, thumbprint: key.thumbprint });
    if (!enrolment) throw new Error(`${flags.state} holds no enrolment of ${name}: ${otherwise}`);
    return await work({ name, origin, key, kid: enrolment.kid }, { send, reconnect: close });
  } finally {
    close();
    lock.release();
  }
}
