// Changes the deployment's feature rules, and brings each new set to all machines: a part of the registry's alarm asks the
// machines' objects in the order of their names. The rollout stops before more Nodes change than may.
import {
  type NewRules,
  RULE_SET_LIMITS,
  type RulesAnswer,
  type RulesUndo,
} from "../../shared/protocol/rules.ts";
import { failure, type Result, success } from "../../shared/result.ts";
import { currentMs, pause, type Timer } from "../clock.ts";
import { inTime } from "../kube/deadline.ts";
import { logNote } from "../log.ts";
import { paced } from "../paced.ts";
import { hasRow, type Row } from "../storage/query.ts";
import { audit } from "./audit.ts";
import { BULK_PACE } from "./bulk.ts";
import { countPinned, pinnedNames } from "./pins.ts";
import { presentRevision, type Rollout, rolloutOf, type RulesOrder } from "./rules.ts";

/** The most characters of the objects' names in the audit log. */
const DETAIL_LENGTH = 500;

/** Replaces the set, and starts its rollout. Fails if another set than `base` is present. `objects`: as JSON. */
export function applyRules(
  sql: SqlStorage,
  { objects, base, mayChange }: Omit<NewRules, "objects"> & { objects: string },
  who: string,
  nowMs: number,
): Result<null> {
  const present = presentRevision(sql);
  if (base !== present) return failure(replacedText(present, base));
  const tenth = Math.floor(countPinned(sql) * RULE_SET_LIMITS.unconfirmed);
  put(sql, objects, who, nowMs, mayChange ?? tenth);
  const detail = `objects: ${namesIn(objects).join(", ")}`.slice(0, DETAIL_LENGTH);
  audit(sql, { who, what: "rules.apply", target: String(present + 1), detail }, nowMs);
  return success(null);
}

const replacedText = (present: number, base: number) =>
  `the rules have revision ${present} by now, not ${base}: read them before you change them`;

/**
 * Makes an earlier set the present one, by default the one before; of a stopped rollout, the last set that reached all
 * machines. Its rollout never stops. Fails without such a set, if another set than `base` is present, and if the present
 * set is itself the result of an undo and `to` is absent: two operators who undo a set would bring it back.
 */
export function undoRules(
  sql: SqlStorage,
  { base, to: revision }: RulesUndo,
  who: string,
  nowMs: number,
): Result<null> {
  const present = presentRevision(sql);
  if (base !== present) return failure(replacedText(present, base));
  const query = "SELECT revision, objects FROM rule_sets WHERE revision < ? ORDER BY revision DESC";
  const earlier = sql.exec<Row<{ revision: number; objects: string }>>(query, present).toArray();
  const none = { revision: 0, objects: "[]" };
  const [before = none] = earlier;
  const rollout = rolloutOf(sql);
  const to = revision ?? (rollout?.state === "stopped" ? rollout.former : undefined);
  const found = to === undefined ? before : [...earlier, none].find((each) => each.revision === to);
  if (present === 0) return failure("there are no rules");
  if (revision === undefined && hasRow(sql, "SELECT 1 FROM rule_undos WHERE revision = ?", present))
    return failure(
      `revision ${present} is the result of an undo: state with \`to\` which revision to return to, ` +
        `since ${before.revision} has the rules that were taken back`,
    );
  if (!found) {
    const kept = earlier.map((each) => each.revision).join(", ");
    return failure(`the revision ${to} is not kept${kept && `: ${kept} are`}`);
  }
  put(sql, found.objects, who, nowMs, Number.MAX_SAFE_INTEGER);
  sql.exec("INSERT OR REPLACE INTO rule_undos VALUES (?, ?)", present + 1, found.revision);
  audit(sql, { who, what: "rules.undo", target: String(present + 1), detail: `to ${found.revision}` }, nowMs);
  return success(null);
}

/** Continues a stopped rollout, in which so many Nodes may change. Fails if no rollout is stopped. */
export function continueRules(sql: SqlStorage, mayChange: number, who: string, nowMs: number): Result<null> {
  if (rolloutOf(sql)?.state !== "stopped") return failure("no rollout of rules is stopped");
  sql.exec("UPDATE rules_rollout SET state = 'running', may_change = ?", mayChange);
  const target = String(presentRevision(sql));
  audit(sql, { who, what: "rules.continue", target, detail: `machines: ${mayChange}` }, nowMs);
  return success(null);
}

function put(sql: SqlStorage, objects: string, who: string, nowMs: number, mayChange: number): void {
  const present = presentRevision(sql);
  const revision = present + 1;
  const rollout = rolloutOf(sql);
  const former = !rollout || rollout.state === "done" ? present : rollout.former;
  sql.exec("INSERT INTO rule_sets VALUES (?, ?, ?, ?)", revision, objects, nowMs, who);
  const isOld = "revision <= ? AND revision <> ?";
  sql.exec(`DELETE FROM rule_sets WHERE ${isOld}`, revision - 1 - RULE_SET_LIMITS.kept, former);
  sql.exec("DELETE FROM rule_undos WHERE revision NOT IN (SELECT revision FROM rule_sets)");
  const machines = countPinned(sql);
  const start = "INSERT OR REPLACE INTO rules_rollout VALUES (1, 'running', '', ?, 0, 0, ?, 0, ?)";
  sql.exec(start, machines, Math.min(mayChange, machines), former);
}

/** The rules as operators see them. `objects`: as JSON. */
export type ListedRules = Omit<RulesAnswer, "matches" | "objects"> & { objects: string };

/** Returns the rules for operators. */
export function listRules(sql: SqlStorage): ListedRules {
  type SetRow = {
    revision: number;
    objects: string;
    createdAtMs: number;
    createdBy: string;
    backTo: number | null;
  };
  const query = `SELECT revision, objects, created_at_ms AS createdAtMs, created_by AS createdBy, back_to AS backTo
    FROM rule_sets LEFT JOIN rule_undos USING (revision) ORDER BY revision DESC`;
  const sets = sql.exec<SetRow>(query).toArray();
  const rollout = rolloutOf(sql);
  const { after: _, former: __, ...shown } = rollout ?? { after: "", former: 0 };
  return {
    revision: sets[0]?.revision ?? 0,
    objects: sets[0]?.objects ?? "[]",
    rollout: rollout ? (shown as Rollout) : null,
    revisions: sets.map(({ revision, objects, createdAtMs, createdBy, backTo }) => ({
      revision,
      objects: namesIn(objects),
      createdAt: new Date(createdAtMs).toISOString(),
      createdBy,
      backTo,
    })),
  };
}

/** The names of stored objects, which the route has checked. */
const namesIn = (objects: string) =>
  (JSON.parse(objects) as { metadata: { name: string } }[]).map(({ metadata }) => metadata.name);

interface Surroundings {
  sql: SqlStorage;
  /** Asks a machine's object. Resolves to true if its Node changes. Throws if the object does not answer. */
  order: (name: string, order: RulesOrder) => Promise<boolean>;
  nowMs: () => number;
  pause: (ms: number) => Promise<void>;
}

/** Runs one turn of the rollout. Returns when the next one is due, in milliseconds since 1970; null if none is. */
export async function rulesTurn(surroundings: Surroundings): Promise<number | null> {
  const { sql, nowMs } = surroundings;
  const before = rolloutOf(sql);
  if (before?.state !== "running") return null;
  const revision = presentRevision(sql);
  const turn = new Turn(surroundings, before, revision, pinnedNames(sql, before.after, BULK_PACE.aTurn));
  await paced(turn.orders(), BULK_PACE, surroundings.pause);
  // An operator may have replaced the rules meanwhile.
  if (presentRevision(sql) !== revision || rolloutOf(sql)?.state !== "running") return nowMs();
  const { after, done, changed, failed, isStopped, isDone } = turn.outcome();
  const state = isStopped ? "stopped" : isDone ? "done" : "running";
  sql.exec(
    "UPDATE rules_rollout SET state = ?, after = ?, done = ?, changed = ?, failed = ?",
    state,
    after,
    before.done + done,
    before.changed + changed,
    before.failed + failed,
  );
  return state === "running" ? nowMs() : null;
}

/** Asks the machines of one turn. A machine that would be one too many is asked again in the next turn. */
class Turn {
  readonly #with: Surroundings;
  readonly #rollout: Rollout;
  readonly #revision: number;
  readonly #names: readonly string[];
  /** The outcome of each machine that was asked, in the order of names. */
  readonly #outcomes: ("changed" | "same" | "failed" | "withheld" | undefined)[] = [];
  #underWay = 0;

  constructor(surroundings: Surroundings, rollout: Rollout, revision: number, names: readonly string[]) {
    this.#with = surroundings;
    this.#rollout = rollout;
    this.#revision = revision;
    this.#names = names;
  }

  *orders(): Generator<Promise<void>> {
    const untilMs = this.#with.nowMs() + BULK_PACE.turnMs;
    for (const [index, name] of this.#names.entries()) {
      const isReplaced = presentRevision(this.#with.sql) !== this.#revision;
      if (isReplaced || this.#outcomes.includes("withheld") || this.#with.nowMs() >= untilMs) return;
      yield this.#ask(index, name);
    }
  }

  async #ask(index: number, name: string): Promise<void> {
    const mayChange =
      this.#rollout.changed + this.#count("changed") + this.#underWay < this.#rollout.mayChange;
    if (mayChange) this.#underWay++;
    try {
      const isChanged = await this.#with.order(name, { revision: this.#revision, mayChange });
      this.#outcomes[index] = isChanged ? (mayChange ? "changed" : "withheld") : "same";
    } catch (error) {
      this.#outcomes[index] = "failed";
      logNote({ node: name, message: "the object did not follow the rules", error: String(error) });
    } finally {
      if (mayChange) this.#underWay--;
    }
  }

  outcome() {
    const first = this.#outcomes.indexOf("withheld");
    const counted = first === -1 ? this.#outcomes : this.#outcomes.slice(0, first);
    // Machines after the first withheld one may have changed already. They count, and are the same the next time.
    const changed = this.#count("changed");
    return {
      after: this.#names[counted.length - 1] ?? this.#rollout.after,
      done: counted.length,
      changed,
      failed: counted.filter((each) => each === "failed").length,
      isStopped: first !== -1 && this.#rollout.changed + changed >= this.#rollout.mayChange,
      isDone: first === -1 && counted.length === this.#names.length && this.#names.length < BULK_PACE.aTurn,
    };
  }

  #count(outcome: "changed"): number {
    return this.#outcomes.filter((each) => each === outcome).length;
  }
}

interface FollowingObject {
  followRules: (order: RulesOrder) => Promise<boolean>;
}

/** Runs the rollout's part of the registry's alarm. */
export function rulesTurnOf(
  storage: DurableObjectStorage,
  { NODES, timer }: { NODES: { getByName: (name: string) => FollowingObject }; timer?: Timer | undefined },
): Promise<number | null> {
  return rulesTurn({
    sql: storage.sql,
    order: (name, order) =>
      inTime(BULK_PACE.withinMs, () => NODES.getByName(name).followRules(order), undefined, timer),
    nowMs: currentMs,
    pause,
  });
}
