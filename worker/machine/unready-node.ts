// Keeps Ready Unknown on the Node of a machine whose reports do not count: of a clone, of a machine with a revoked
// key, and of a removed machine whose Node cannot be deleted. Also writes the conditions of a maintenance.
import { type Unready, unreadyOf } from "../../shared/fleet/unready.ts";
import { currentMs } from "../clock.ts";
import type { KubeClient, RequestKind } from "../kube/kube-client.ts";
import { machineLog } from "../log.ts";
import { writeUnready } from "../tick/unready.ts";
import type { MachineState } from "./machine-state.ts";

/** The waits before a failed write is repeated. Each wait is as long as the time since the machine's present state. */
export const UNREADY_AGAIN_MS = { least: 30_000, most: 600_000 } as const;

/** Returns why no report of the machine counts; null if its reports count, or the machine is being removed. */
export function unreadyIn({ records, senders }: Pick<MachineState, "records" | "senders">): Unready | null {
  const enrolment = records.get("enrolment");
  if (!enrolment || records.get("isLeaving")) return null;
  return unreadyOf({
    isRevoked: enrolment.isRevoked ?? false,
    isLeaving: false,
    phase: senders.notice(currentMs())?.phase ?? null,
  });
}

interface Keeping {
  state: Pick<MachineState, "records" | "journal" | "alarm" | "outbox" | "keys">;
  deployment: string;
  /** The version of the Node that was last read or written; undefined for the stored version. */
  nodeVersion: string | undefined;
  /** Makes a client. `mayAsk` may refuse a request. */
  client: (mayAsk: (what: RequestKind) => boolean) => KubeClient;
  requests: { take: (what: RequestKind) => boolean; spend: (what: RequestKind) => void };
  /** Sends the waiting events. */
  flush: (name: string) => Promise<void>;
}

/** Writes the conditions, and returns the Node's version afterwards. The alarm repeats a failed write. */
export async function keepUnready(
  { state, requests, client, flush, ...node }: Keeping,
  unready: Unready | null, // null if Ready stays
): Promise<string | undefined> {
  const { records, journal, alarm, outbox, keys } = state;
  const enrolment = records.get("enrolment");
  if (!enrolment) return node.nodeVersion;
  const { name } = enrolment;
  // The revocation or removal of a machine that has used up its requests must not wait for them.
  const mayAsk = (what: RequestKind) => {
    if (keys.enrolled()) return requests.take(what);
    requests.spend(what);
    return true;
  };
  const machine = { name, enrolment, records, journal, log: machineLog(name), nowMs: currentMs };
  const written = await writeUnready({ ...node, ...machine, client: () => client(mayAsk) }, unready);
  await flush(name);
  const { least, most } = UNREADY_AGAIN_MS;
  const sinceMs = currentMs() - (records.get("state")?.sinceMs ?? 0);
  // Events alone are not worth an alarm for ever: no report will come to send them.
  if (written.kind === "failed" || (!outbox.isEmpty() && sinceMs < most))
    await alarm.atLatest(currentMs() + Math.min(Math.max(sinceMs, least), most));
  return written.kind === "done" ? written.nodeVersion : node.nodeVersion;
}
