// What follows a recall that its gateway did not answer: the lease is written here, so that the order's next PUT conflicts.
// What fails is repeated by the alarm for as long as an order may last. Renews nothing.
import { GATEWAY_LIMITS } from "../../shared/protocol/limits.ts";
import { registeredUid } from "../tick/own-node.ts";
import { touchLease } from "../tick/lease.ts";
import type { MachineState } from "./machine-state.ts";
import type { Upkeep } from "./upkeep.ts";

const TOUCH_WITHIN_MS = 2000;
/** From one attempt to the next. */
export const TOUCH_AGAIN_MS = 10_000;
/** From a recall on: the order may have been on its way, and its last PUT under way, for some seconds each. */
export const ORDER_LASTS_MS = 1000 * GATEWAY_LIMITS.quietSeconds + 15_000;

export class UnansweredRecall {
  readonly #state: Pick<MachineState, "records" | "alarm">;
  readonly #upkeep: Pick<Upkeep, "connector" | "spend">;
  readonly #nowMs: () => number;

  constructor(
    state: Pick<MachineState, "records" | "alarm">,
    upkeep: Pick<Upkeep, "connector" | "spend">,
    nowMs: () => number, // typically currentMs
  ) {
    this.#state = state;
    this.#upkeep = upkeep;
    this.#nowMs = nowMs;
  }

  /** Call it as the order is forgotten, before anything is awaited: nobody else remembers that it may be renewed still. */
  note(): void {
    this.#state.records.put("untouched", { untilMs: this.#nowMs() + ORDER_LASTS_MS });
  }

  /** For the alarm, whoever has the name by now. Costs nothing where nothing is left to be done. */
  async again(name: string): Promise<void> {
    const { records } = this.#state;
    const { untilMs } = records.get("untouched") ?? {};
    if (untilMs === undefined) return undefined;
    // By now the order has ended by itself.
    return untilMs <= this.#nowMs() ? records.remove("untouched") : this.touch(name);
  }

  /** Never fails: it holds nobody up. */
  async touch(name: string): Promise<void> {
    const { records, alarm } = this.#state;
    if (await this.#touched(name).catch(() => false)) records.remove("untouched");
    else await alarm.atLatest(this.#nowMs() + TOUCH_AGAIN_MS);
  }

  /** It has to be done, whatever the machine has left of its requests. */
  #touched(name: string): Promise<boolean> {
    const connect = this.#upkeep.connector((what) => {
      this.#upkeep.spend(what);
      return true;
    });
    return touchLease(connect(TOUCH_WITHIN_MS), name, registeredUid(this.#state.records), this.#nowMs());
  }
}
