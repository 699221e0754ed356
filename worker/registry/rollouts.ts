// Defines the registry's methods that act on many machines: bulk actions, and rollouts of feature rules. Both go on in the
// object's alarm.
import type { BulkQuery } from "../../shared/protocol/administration-api.ts";
import type { NewRules, RulesUndo } from "../../shared/protocol/rules.ts";
import type { Result } from "../../shared/result.ts";
import { currentMs } from "../clock.ts";
import { randomNonce } from "../identity/mac-keys.ts";
import { LazyAlarm } from "../storage/lazy-alarm.ts";
import { StoredObject } from "../storage/migrations.ts";
import type { BulkToPlan, ConfirmedBulk } from "./bulk.ts";
import { ruleSet } from "./rules.ts";

// No machine's request needs this code, so that an isolate loads it with the first action.
const bulkCode = () => import("./bulk.ts");
const rulesCode = () => import("./rules-rollout.ts");

export abstract class RegistryWithRollouts extends StoredObject {
  readonly #alarm = new LazyAlarm(this.ctx.storage, currentMs);

  /** Makes the alarm ring at this time or before, in milliseconds since 1970. */
  protected alarmAt(ms: number): Promise<void> {
    return this.#alarm.atLatest(ms);
  }

  /** Continues the actions on many machines, and the rollout of rules. */
  override async alarm(): Promise<void> {
    this.#alarm.rang();
    for (const turnOf of [(await bulkCode()).bulkTurnOf, (await rulesCode()).rulesTurnOf]) {
      const nextMs = await turnOf(this.ctx.storage, this.env);
      if (nextMs !== null) await this.#alarm.atLatest(nextMs);
    }
  }

  /** Stores the list of a dry run, for a confirmation. */
  async planBulk(plan: BulkToPlan) {
    const { planBulk } = await bulkCode();
    return this.ctx.storage.transactionSync(() =>
      planBulk(this.ctx.storage.sql, plan, randomNonce() + randomNonce(), currentMs()),
    );
  }

  /** Starts an action whose dry run was confirmed. */
  async startBulk(confirmed: ConfirmedBulk) {
    const { startPlanned } = await bulkCode();
    const started = this.ctx.storage.transactionSync(() =>
      startPlanned(this.ctx.storage.sql, confirmed, currentMs()),
    );
    if (started.ok) await this.#alarm.atLatest(currentMs());
    return started;
  }

  /** Returns the actions on many machines, newest first. */
  async listBulks(limit: number) {
    return (await bulkCode()).listBulks(this.ctx.storage.sql, limit);
  }

  /** Returns a bulk action; null if the ID is unknown. Sets the alarm of a running action, since alarms may be lost. */
  async showBulk(id: number, query: BulkQuery) {
    const { BULK_PACE, showBulk } = await bulkCode();
    const bulk = showBulk(this.ctx.storage.sql, id, query);
    if (bulk?.state === "running") await this.#alarm.atLatest(currentMs() + BULK_PACE.againMs);
    return bulk ?? null;
  }

  /** Stops an action on many machines. Fails if no action has this ID. */
  async stopBulk(id: number, who: string): Promise<Result<null>> {
    const { stopBulk } = await bulkCode();
    return this.ctx.storage.transactionSync(() => stopBulk(this.ctx.storage.sql, id, who, currentMs()));
  }

  /** As ruleSet of rules.ts. */
  ruleSet(name: string, revision: number, known: string) {
    return ruleSet(this.ctx.storage.sql, name, revision, known);
  }

  /** Returns the rules with their rollout and earlier sets. Sets the alarm of a running rollout, since alarms may be lost. */
  async listRules() {
    const { listRules } = await rulesCode();
    const { BULK_PACE } = await bulkCode();
    const rules = listRules(this.ctx.storage.sql);
    if (rules.rollout?.state === "running") await this.#alarm.atLatest(currentMs() + BULK_PACE.againMs);
    return rules;
  }

  /** As applyRules of rules-rollout.ts. The route has checked the objects. */
  applyRules(rules: Omit<NewRules, "objects"> & { objects: string }, who: string) {
    return this.#rollOut((sql, code) => code.applyRules(sql, rules, who, currentMs()));
  }

  undoRules(undo: RulesUndo, who: string) {
    return this.#rollOut((sql, code) => code.undoRules(sql, undo, who, currentMs()));
  }

  continueRules(mayChange: number, who: string) {
    return this.#rollOut((sql, code) => code.continueRules(sql, mayChange, who, currentMs()));
  }

  async #rollOut(
    change: (sql: SqlStorage, code: Awaited<ReturnType<typeof rulesCode>>) => Result<null>,
  ): Promise<Result<null>> {
    const { storage } = this.ctx;
    const code = await rulesCode();
    const changed = storage.transactionSync(() => change(storage.sql, code));
    if (changed.ok) await this.#alarm.atLatest(currentMs());
    return changed;
  }
}
