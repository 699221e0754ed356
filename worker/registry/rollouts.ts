// Defines the registry's methods that act on many machines: bulk actions, and rollouts of feature rules. Both go on in the
// object's alarm.
import type { BulkQuery } from "../../shared/protocol/administration-api.ts";
import type { NewRules } from "../../shared/protocol/rules.ts";
import type { Result } from "../../shared/result.ts";
import { currentMs } from "../clock.ts";
import { randomNonce } from "../identity/mac-keys.ts";
import { LazyAlarm } from "../storage/lazy-alarm.ts";
import { StoredObject } from "../storage/migrations.ts";
import {
  BULK_PACE,
  type BulkToPlan,
  bulkTurnOf,
  type ConfirmedBulk,
  listBulks,
  planBulk,
  showBulk,
  startPlanned,
  stopBulk,
} from "./bulk.ts";
import { applyRules, continueRules, listRules, ruleSet, rulesTurnOf, undoRules } from "./rules.ts";

export abstract class RegistryWithRollouts extends StoredObject {
  readonly #alarm = new LazyAlarm(this.ctx.storage, currentMs);

  /** Makes the alarm ring at this time or before, in milliseconds since 1970. */
  protected alarmAt(ms: number): Promise<void> {
    return this.#alarm.atLatest(ms);
  }

  /** Continues the actions on many machines, and the rollout of rules. */
  override async alarm(): Promise<void> {
    this.#alarm.rang();
    for (const turnOf of [bulkTurnOf, rulesTurnOf]) {
      const nextMs = await turnOf(this.ctx.storage, this.env);
      if (nextMs !== null) await this.#alarm.atLatest(nextMs);
    }
  }

  /** Stores the list of a dry run, for a confirmation. */
  planBulk(plan: BulkToPlan) {
    return this.ctx.storage.transactionSync(() =>
      planBulk(this.ctx.storage.sql, plan, randomNonce() + randomNonce(), currentMs()),
    );
  }

  /** Starts an action whose dry run was confirmed. */
  async startBulk(confirmed: ConfirmedBulk) {
    const started = this.ctx.storage.transactionSync(() =>
      startPlanned(this.ctx.storage.sql, confirmed, currentMs()),
    );
    if (started.ok) await this.#alarm.atLatest(currentMs());
    return started;
  }

  /** Returns the actions on many machines, newest first. */
  listBulks(limit: number) {
    return listBulks(this.ctx.storage.sql, limit);
  }

  /** Returns a bulk action; null if the ID is unknown. Sets the alarm of a running action, since alarms may be lost. */
  async showBulk(id: number, query: BulkQuery) {
    const bulk = showBulk(this.ctx.storage.sql, id, query);
    if (bulk?.state === "running") await this.#alarm.atLatest(currentMs() + BULK_PACE.againMs);
    return bulk ?? null;
  }

  /** Stops an action on many machines. Fails if no action has this ID. */
  stopBulk(id: number, who: string): Result<null> {
    return this.ctx.storage.transactionSync(() => stopBulk(this.ctx.storage.sql, id, who, currentMs()));
  }

  /** As ruleSet of rules.ts. */
  ruleSet(revision: number, known: string) {
    return ruleSet(this.ctx.storage.sql, revision, known);
  }

  /** Returns the rules with their rollout and earlier sets. Sets the alarm of a running rollout, since alarms may be lost. */
  async listRules() {
    const rules = listRules(this.ctx.storage.sql);
    if (rules.rollout?.state === "running") await this.#alarm.atLatest(currentMs() + BULK_PACE.againMs);
    return rules;
  }

  /** As applyRules of rules.ts. The route has checked the objects. */
  applyRules(rules: Omit<NewRules, "objects"> & { objects: string }, who: string) {
    return this.#rollOut((sql) => applyRules(sql, rules, who, currentMs()));
  }

  undoRules(to: number | undefined, who: string) {
    return this.#rollOut((sql) => undoRules(sql, to, who, currentMs()));
  }

  continueRules(mayChange: number, who: string) {
    return this.#rollOut((sql) => continueRules(sql, mayChange, who, currentMs()));
  }

  async #rollOut(change: (sql: SqlStorage) => Result<null>): Promise<Result<null>> {
    const { storage } = this.ctx;
    const changed = storage.transactionSync(() => change(storage.sql));
    if (changed.ok) await this.#alarm.atLatest(currentMs());
    return changed;
  }
}
