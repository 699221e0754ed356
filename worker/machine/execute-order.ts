// Executes what the registry orders for many machines at once: this machine's part of it. Never acts on a machine that
// enrolled after the order was made.
import { type Environment, removeSilentNodesDays } from "../env.ts";
import type { MachineOrder } from "../registry/bulk.ts";
import { recordPhase } from "../tick/phase.ts";
import type { MachineState } from "./machine-state.ts";
import type { Removal } from "./removal.ts";
import { currentMs } from "../clock.ts";

export interface OrderDependencies {
  env: Environment;
  state: MachineState;
  removal: Pick<Removal, "remove" | "removeNode">;
  /** What an operator may also have it do alone. */
  acts: {
    revoke: (generation: number) => void | Promise<void>;
    registerAgain: () => boolean;
    believe: () => boolean;
  };
}

const DAY_MS = 24 * 3600 * 1000;
/** By then the registry has asked the object to forget the machine. */
const FORGOTTEN_WITHIN_MS = 60_000;

/** null: it is done; else why not. Safe to repeat. Throws where it may be tried again. */
export async function executeOrder(
  dependencies: OrderDependencies,
  name: string,
  { act, generation, unpinned }: MachineOrder,
): Promise<string | null> {
  const { state, removal, acts } = dependencies;
  const { records, alarm, keys } = state;
  if (act === "revoke") {
    await acts.revoke(unpinned);
    return null;
  }
  if (act === "forget") {
    const removed = await removal.remove(name, { unpinned });
    if (!removed.ok) return "its Node could not be removed yet: its object goes on trying";
    await alarm.atLatest(currentMs() + FORGOTTEN_WITHIN_MS);
    return null;
  }
  if (!keys.enrolled() || (records.get("enrolment")?.generation ?? 0) !== generation)
    return "its key has changed, or is refused by now";
  if (act === "register") return acts.registerAgain() ? null : "it has never registered";
  if (act === "believe") return acts.believe() ? null : "it is neither cloned nor two shims";
  return removeSilentNode(dependencies, name);
}

/** The machine stays enrolled, and its next report registers, whatever REGISTER_AGAIN says: nobody else deleted it. */
async function removeSilentNode(
  { env, state, removal }: OrderDependencies,
  name: string,
): Promise<string | null> {
  const { records, journal, facts } = state;
  const days = removeSilentNodesDays(env);
  const silentSinceMs = records.get("silentSinceMs") ?? null;
  if (days === null || silentSinceMs === null || currentMs() - silentSinceMs < days * DAY_MS)
    return "it is not silent for so long any more";
  if (facts.current()?.settings.registerNode === false) return "it would not create its Node again";
  // The last attempt may have been interrupted.
  const isOurs = records.get("deletion")?.silentDays !== undefined;
  const phase = records.get("registration")?.phase;
  if (phase !== "registered" && !(phase === "node deleted" && isOurs)) return "it has no Node";
  // Stored before: the watch of the Nodes may notice it first, and must not take it for somebody's deletion.
  noteRemoved(state, days);
  if (!(await removal.removeNode(name))) throw new Error("the Node could not be removed");
  // A report that came meanwhile may have registered what was just removed: the next one does it again.
  noteRemoved(state, days);
  const nowMs = currentMs();
  journal.note("registration", `the Node was removed after ${days} days of silence`, nowMs);
  recordPhase(state, "node deleted", nowMs);
  return null;
}

function noteRemoved({ records }: MachineState, silentDays: number): void {
  const registration = records.get("registration");
  if (!registration) return;
  records.put("deletion", { atMs: currentMs(), wasReady: false, waitMs: 0, soon: 0, silentDays });
  records.put("registration", { ...registration, phase: "node deleted" });
}
