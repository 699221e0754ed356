// Forgets a machine that has left, in storage and in memory, once the fleet index knows. Removes nothing from the cluster.
import { FORGOTTEN } from "./answers.ts";
import type { IndexTeller } from "./index-teller.ts";
import type { MachineState } from "./machine-state.ts";
import { currentMs } from "../clock.ts";

export class Forgetting {
  readonly #ctx: DurableObjectState;
  readonly #state: Pick<MachineState, "records" | "alarm">;
  readonly #teller: Pick<IndexTeller, "remove">;

  constructor(
    ctx: DurableObjectState,
    state: Pick<MachineState, "records" | "alarm">,
    teller: Pick<IndexTeller, "remove">,
  ) {
    this.#ctx = ctx;
    this.#state = state;
    this.#teller = teller;
  }

  /** A machine that has enrolled again meanwhile stays. `keptForMs`: what it has used up is kept for so long. */
  async forget(keptForMs: () => number = () => 0): Promise<void> {
    if (!(await this.#isRemovalTold())) return;
    // One that enrols again at once finds what it has used up; the alarm forgets it.
    const leftMs = keptForMs();
    await (leftMs > 0 ? this.#state.alarm.atLatest(currentMs() + leftMs) : this.#erase());
  }

  /** False: the alarm tells the fleet index; or a machine is enrolled. */
  async #isRemovalTold(): Promise<boolean> {
    const { records } = this.#state;
    const [enrolment, isLeaving] = [records.get("enrolment"), records.get("isLeaving")];
    if (!enrolment) return true;
    if (!isLeaving) return false;
    const text = isLeaving === "forgotten" ? "forgotten by an operator" : "left";
    const isTold = await this.#teller.remove(enrolment, text);
    return isTold && records.get("isLeaving") !== undefined;
  }

  async #erase(): Promise<void> {
    const { storage } = this.#ctx;
    await storage.deleteAlarm();
    await storage.deleteAll();
    await storage.sync();
    // Nothing else that runs in this object may write any more.
    this.#ctx.abort(FORGOTTEN);
  }
}
