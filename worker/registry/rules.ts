// Stores the deployment's feature rules as sets with a revision, and decides which set a machine follows.
import type { RulesAnswer } from "../../shared/protocol/rules.ts";
import { cell, type Row } from "../storage/query.ts";

/** Adds the sets of rules, and the rollout of the present one. */
export const RULES_MIGRATION = `
  CREATE TABLE rule_sets (
    revision INTEGER PRIMARY KEY, objects TEXT NOT NULL, created_at_ms INTEGER NOT NULL, created_by TEXT NOT NULL
  );
  CREATE TABLE rules_rollout (
    only INTEGER PRIMARY KEY CHECK (only = 1), state TEXT NOT NULL, after TEXT NOT NULL, machines INTEGER NOT NULL,
    done INTEGER NOT NULL, changed INTEGER NOT NULL, may_change INTEGER NOT NULL, failed INTEGER NOT NULL, former INTEGER NOT NULL
  );`;

/** Adds the revision whose objects a set has again since an undo. Earlier Workers insert rows of four columns into `rule_sets`. */
export const RULE_UNDOS_MIGRATION =
  "CREATE TABLE rule_undos (revision INTEGER PRIMARY KEY, back_to INTEGER NOT NULL);";

/** The rollout of the present set. */
export type Rollout = NonNullable<RulesAnswer["rollout"]> & {
  state: "running" | "stopped" | "done";
  after: string;
  /** The revision of the last set that reached all machines before this rollout began. */
  former: number;
};

/** A set of rules for machines' objects. */
export interface RuleSet {
  revision: number;
  /** Identifies the set among those of all registries. */
  stamp: string;
  /** The objects as JSON; null if the caller knows this set. */
  objects: string | null;
}

/** Returns the number of the present set; 0 without one. */
export function presentRevision(sql: SqlStorage): number {
  return cell<number | null>(sql, "SELECT MAX(revision) FROM rule_sets") ?? 0;
}

/**
 * Returns the revisions that a machine may follow, first that of machines which no rollout asks: new ones, and those whose
 * object did not answer. Only the rollout itself brings its set to the machines before it, so that none changes uncounted.
 * Sets of earlier rollouts that did not end stay at the machines that have them.
 */
export function followedRevisions(sql: SqlStorage, name: string): number[] {
  const present = presentRevision(sql);
  const rollout = rolloutOf(sql);
  const isPast = rollout?.state === "running" && name <= rollout.after;
  if (!rollout || rollout.state === "done" || isPast) return [present];
  return Array.from({ length: present - rollout.former + 1 }, (_, at) => rollout.former + at);
}

/** Returns the set for the machine `name` that follows `revision`. `known`: the stamp of the set that the caller knows. */
export function ruleSet(sql: SqlStorage, name: string, revision: number, known: string): RuleSet {
  const followed = followedRevisions(sql, name);
  const to = followed.includes(revision) ? revision : (followed[0] ?? 0);
  const query = `SELECT revision, revision || '/' || created_at_ms || '/' || created_by AS stamp, objects FROM rule_sets
    WHERE revision = ?`;
  const [found] = sql.exec<Row<{ revision: number; stamp: string; objects: string }>>(query, to);
  if (!found) return { revision: 0, stamp: "none", objects: "[]" };
  return found.stamp === known ? { ...found, objects: null } : found;
}

/** Asks a machine's object to follow the rules. */
export interface RulesOrder {
  revision: number;
  /** false if the Node may not change: the object then only reports whether it would. */
  mayChange: boolean;
}

/** Returns the rollout of the present set; undefined if no set was ever applied here. */
export function rolloutOf(sql: SqlStorage): Rollout | undefined {
  const query = `SELECT state, after, machines, done, changed, may_change AS mayChange, failed, former
    FROM rules_rollout`;
  return sql.exec<Row<Rollout>>(query).toArray()[0];
}
