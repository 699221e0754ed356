// Defines the requests and answers about feature rules: NodeFeatureRule objects (nfd.k8s-sigs.io/v1alpha1) that the
// deployment applies to the features of all machines. The Worker imports only the types of answers. Times are RFC 3339.
import * as z from "zod/mini";
import { LIMITS } from "./limits.ts";

export const RULE_SET_LIMITS = {
  /** The most bytes of a set, as ruleSetBytes counts them: less than the body of a request may have. */
  bytes: 224 * 1024,
  objects: 64,
  /** The most rules of all objects together. */
  rules: 256,
  /** The most steps of all regular expressions together, which take some 60 bytes each in a machine's object. */
  steps: 100_000,
  /** The most characters of the name of an object with that of a rule: `gpu/nvidia`. */
  nameLength: 128,
  /** The earlier sets that are kept, to which `rollcall rules undo` can return. */
  kept: 10,
  /** The most machines that one request tries rules on. */
  tried: 50,
  /** The share of the fleet that a change may touch without a confirmation. */
  unconfirmed: 0.1,
} as const;

/** Returns the bytes of a set in a page of a backup, where a text has it as JSON. A PUT of the set has fewer. */
export const ruleSetBytes = (objects: readonly unknown[]): number =>
  new TextEncoder().encode(JSON.stringify(JSON.stringify(objects))).length;

/** The objects are checked by parseRuleObject, whose errors name the field. */
const objects = z.array(z.unknown()).check(z.maxLength(RULE_SET_LIMITS.objects));

/** The body of PUT /v1/rules: the whole set, which replaces the set of revision `base`. */
export const newRulesSchema = z.strictObject({
  objects,
  /** The present revision, from which the change starts; 0 if no rules were ever applied. With another the PUT is refused. */
  base: z.int().check(z.minimum(0)),
  /** The most machines whose Nodes may change. With more the rollout stops. If absent, a tenth of the machines. */
  mayChange: z.optional(z.int().check(z.minimum(0))),
});
export type NewRules = z.infer<typeof newRulesSchema>;

/** The body of POST /v1/rules/try, which changes nothing. */
export const rulesTrialSchema = z.strictObject({
  objects,
  /** Machines whose names sort after this text are tried; "" begins with the first machine. */
  after: z._default(z.string().check(z.maxLength(LIMITS.nameLength)), ""),
});

/** The body of POST /v1/rules/undo. */
export const rulesUndoSchema = z.strictObject({
  /** The present revision. With another the request is refused, so that two operators do not undo one change twice. */
  base: z.int().check(z.minimum(0)),
  /**
   * The revision to return to. If absent: of a stopped rollout the last that reached all machines, else the one before.
   * Required if the present revision is itself the result of an undo.
   */
  to: z.optional(z.int().check(z.minimum(0))),
});
export type RulesUndo = z.infer<typeof rulesUndoSchema>;

/** The body of POST /v1/rules/continue. */
export const rulesContinueSchema = z.strictObject({
  /** The most machines whose Nodes may change in the whole rollout, those before the stop included. */
  mayChange: z.int().check(z.minimum(0)),
});

const revision = z.object({
  revision: z.number(),
  /** The names of the objects. */
  objects: z.array(z.string()),
  createdAt: z.string(),
  createdBy: z.string(),
  /** The revision whose objects an undo brought back; null if the set was applied. */
  backTo: z.nullable(z.number()),
});

/** How far the present set has come to the machines. */
const rollout = z.object({
  /** `running`, `stopped` (more Nodes would change than may) or `done`. */
  state: z.string(),
  /** The machines at the beginning, and those that the rollout has asked. */
  machines: z.number(),
  done: z.number(),
  /** The machines whose Nodes change, and how many may. */
  changed: z.number(),
  mayChange: z.number(),
  /** The machines whose objects did not answer: they follow within a day. */
  failed: z.number(),
});
export type RulesRollout = z.infer<typeof rollout>;

/** The body of a 200 answer to GET /v1/rules, PUT /v1/rules, POST /v1/rules/undo and POST /v1/rules/continue. */
export const rulesSchema = z.object({
  /** The number of the present set; 0 if no rules were ever applied. */
  revision: z.number(),
  /** The objects as they were applied, sorted by name. */
  objects: z.array(z.unknown()),
  /** null without rules. */
  rollout: z.nullable(rollout),
  /** The present set and the earlier ones that are kept, newest first. */
  revisions: z.array(revision),
  /** Each rule as `object/rule`, in the order of evaluation, with the number of machines that it matches. */
  matches: z.array(z.object({ rule: z.string(), machines: z.number() })),
});
export type RulesAnswer = z.infer<typeof rulesSchema>;

/** What would change at a Node. */
const nodeChange = z.object({
  /** `label`, `annotation`, `resource` or `taint`. */
  kind: z.string(),
  /** The key. Of a taint: `key:effect`. */
  key: z.string(),
  /** null: the part is added. */
  before: z.nullable(z.string()),
  /** null: the part is removed. */
  after: z.nullable(z.string()),
});
export type NodeChange = z.infer<typeof nodeChange>;

/** The body of a 200 answer to POST /v1/rules/try. */
export const rulesTrialAnswerSchema = z.object({
  /** The machines that were tried. */
  machines: z.number(),
  /** The machines whose Nodes would change, or do not get what the rules ask for. */
  changes: z.array(
    z.object({
      name: z.string(),
      changes: z.array(nodeChange),
      /** What the rules ask for and the machine's Node does not get: `label KEY: why`, `rule NAME: why`. */
      refused: z.array(z.string()),
    }),
  ),
  /** The machines whose objects did not answer. */
  failed: z.array(z.object({ name: z.string(), reason: z.string() })),
  /** The value of `after` for the next machines; null after the last machine. */
  next: z.nullable(z.string()),
});
export type RulesTrial = z.infer<typeof rulesTrialAnswerSchema>;
