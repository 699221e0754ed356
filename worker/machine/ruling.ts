// Keeps the result of the deployment's rules for this machine's features. The result is stored, so that a report costs
// nothing more: rules are evaluated only when the features or the rules have changed.
import type { RuleObject } from "../../shared/features/rule-file.ts";
import type { RulesResult } from "../../shared/features/rules-result.ts";
import { withinRules } from "../../shared/from-report/rules-within-grant.ts";
import { ruleChanges } from "../../shared/node/rule-parts.ts";
import type { RulesTrial } from "../../shared/protocol/rules.ts";
import type { Timer } from "../clock.ts";
import { withDeadline } from "../kube/deadline.ts";
import { logNote } from "../log.ts";
import type { RulesOrder, RuleSet } from "../registry/rules.ts";
import type { Enrolment, NodeRecordStore } from "../storage/records.ts";
import { RATE_LIMITS, take, tokensAt } from "../storage/token-bucket.ts";
import type { KnownFacts } from "./known-facts.ts";

/** The time limit of a request to the registry: a report waits for it. */
const WITHIN_MS = 1000;
/** The time after a failed request until this object asks again. */
const AGAIN_MS = 60_000;

interface RulingDependencies {
  state: { records: NodeRecordStore; facts: Pick<KnownFacts, "features"> };
  registry: () => { ruleSet: (name: string, revision: number, known: string) => Promise<RuleSet> };
  timer: Timer | undefined;
  nowMs: () => number;
}

/** The last set of this isolate, whose objects share it: a set is the same for all machines. */
let latest: { revision: number; stamp: string; objects: RuleObject[] } | undefined;

/** What would change at a machine. `refused`: what its Node does not get, and why. */
export type RulesChange = Omit<RulesTrial["changes"][number], "name">;

export class Ruling {
  readonly #with: RulingDependencies;
  #againAtMs = 0;

  constructor(dependencies: RulingDependencies) {
    this.#with = dependencies;
  }

  /** Reports whether keepUp would evaluate the rules. */
  isDue(): boolean {
    const ruled = this.#with.state.records.get("ruled");
    const nowMs = this.#with.nowMs();
    if (!ruled?.isDue || nowMs < this.#againAtMs) return false;
    return tokensAt(ruled.bucket, RATE_LIMITS.rulings, nowMs) >= 1;
  }

  /** Evaluates the rules if that is due. Waits at most a second; after a failure a later report tries again. */
  async keepUp(): Promise<void> {
    const { revision = 0 } = this.#with.state.records.get("ruled") ?? {};
    if (!(await this.#follow(revision))) this.#againAtMs = this.#with.nowMs() + AGAIN_MS;
  }

  /** Follows a new set. Resolves to true if the Node changes, or would change and may not. Throws if it fails. */
  async follow({ revision, mayChange }: RulesOrder): Promise<boolean> {
    const enrolment = this.#enrolled();
    if (!enrolment) return false;
    const set = await this.#set(revision);
    if (set?.revision !== revision) throw new Error("the registry has sent no rules of this revision");
    const result = await this.#evaluate(set.objects);
    const isChanged = this.#changes(enrolment, result).length > 0;
    const { bucket } = this.#with.state.records.get("ruled") ?? {};
    if (!isChanged || mayChange)
      this.#with.state.records.put("ruled", { revision, result, ...(bucket && { bucket }) });
    return isChanged;
  }

  /** Returns what would change with these objects; null for nothing. Stores nothing. */
  async attempt(objects: RuleObject[]): Promise<RulesChange | null> {
    const enrolment = this.#enrolled();
    if (!enrolment) return null;
    const result = await this.#evaluate(objects);
    const changes = this.#changes(enrolment, result);
    const { leftOut } = withinRules(result, enrolment);
    const refused = [
      ...result.refused,
      ...leftOut.map((part) => `${part}: the machine's join token does not allow it`),
    ];
    return changes.length + refused.length === 0 ? null : { changes, refused };
  }

  async #follow(revision: number): Promise<boolean> {
    try {
      const set = await this.#set(revision);
      if (!set) return false;
      const { records } = this.#with.state;
      const known = records.get("ruled");
      const { bucket } = take(known?.bucket, RATE_LIMITS.rulings, this.#with.nowMs());
      // Stored first: an evaluation that ends the object must not begin again with each report.
      records.put("ruled", { revision, ...known, bucket });
      const result = await this.#evaluate(set.objects);
      // A rollout may have brought a later set while the registry answered.
      if ((records.get("ruled")?.revision ?? 0) === revision)
        records.put("ruled", { revision: set.revision, result, bucket });
      return true;
    } catch (error) {
      logNote({ message: "the rules were not evaluated", error: String(error) });
      return false;
    }
  }

  /** Returns the set of this revision, or the one that the registry wants instead; null without an answer in time. */
  async #set(revision: number): Promise<typeof latest | null> {
    const { registry, timer, state } = this.#with;
    const { name = "" } = state.records.get("enrolment") ?? {};
    const known = latest;
    const answer = await withDeadline(
      WITHIN_MS,
      () => registry().ruleSet(name, revision, known?.stamp ?? ""),
      null,
      timer,
    );
    if (answer?.objects === null) return known;
    if (!answer) return null;
    const { parseRuleObject } = await import("../../shared/features/rule-file.ts");
    const objects = (JSON.parse(answer.objects ?? "[]") as unknown[]).flatMap((value) => {
      const object = parseRuleObject(value);
      // A later Worker's objects may have fields that this one does not know.
      if (!object.ok) logNote({ message: "an object of the rules is not understood", error: object.error });
      return object.ok ? [object.value] : [];
    });
    latest = { revision: answer.revision, stamp: answer.stamp, objects };
    return latest;
  }

  async #evaluate(objects: readonly RuleObject[]): Promise<RulesResult> {
    const { rulesResult } = await import("../../shared/features/rules-result.ts");
    return rulesResult(objects, this.#with.state.facts.features());
  }

  #changes(enrolment: Enrolment, result: RulesResult) {
    const before = withinRules(this.#with.state.records.get("ruled")?.result, enrolment);
    return ruleChanges(before.parts, withinRules(result, enrolment).parts);
  }

  /** Returns the enrolment of a machine that has sent facts; undefined for a machine that no rule concerns. */
  #enrolled(): Enrolment | undefined {
    const { records } = this.#with.state;
    const enrolment = records.get("enrolment");
    const isGone = enrolment?.isRevoked || records.get("isLeaving") || !records.get("facts");
    return isGone ? undefined : enrolment;
  }
}

/** Notes the revisions that the registry wants machines to follow. If the machine follows another one, rules are due. */
export function noteFollowed(records: NodeRecordStore, followed: readonly number[]): void {
  const { revision = 0, ...known } = records.get("ruled") ?? {};
  if (followed.length > 0 && !followed.includes(revision))
    records.put("ruled", { ...known, revision, isDue: true });
}
