// Serves the operators' routes about feature rules.
import { Hono } from "hono/tiny";
import type { Context } from "hono";
import { parseRuleObject, type RuleObject } from "../../shared/features/rule-file.ts";
import { rulesInOrder } from "../../shared/features/rules-result.ts";
import {
  RULE_SET_LIMITS,
  ruleSetBytes,
  type RulesAnswer,
  type RulesTrial,
} from "../../shared/protocol/rules.ts";
import { failure, type Result, success } from "../../shared/result.ts";
import { fleetIndex, registry } from "../env.ts";
import { inTime } from "../kube/deadline.ts";
import { paced } from "../paced.ts";
import { type App, refuse } from "./responses.ts";
import { serve } from "./route.ts";

export const rulesRoutes = new Hono<App>();

/** How one request tries rules on machines. */
const TRIALS = { atOnce: 6, withinMs: 5000 } as const;

serve(rulesRoutes, "GET /v1/rules", (c) => rulesAnswer(c));

serve(rulesRoutes, "PUT /v1/rules", async (c, { body: { objects, ...change } }) => {
  const checked = checkedObjects(objects);
  if (!checked.ok) return refuse("invalid-body", checked.error);
  const text = JSON.stringify(checked.value.map(({ given }) => given));
  return changed(c, await registry(c.env).applyRules({ ...change, objects: text }, c.var.operator.who));
});

serve(rulesRoutes, "POST /v1/rules/undo", async (c, { body }) =>
  changed(c, await registry(c.env).undoRules(body, c.var.operator.who)),
);

serve(rulesRoutes, "POST /v1/rules/continue", async (c, { body: { mayChange } }) =>
  changed(c, await registry(c.env).continueRules(mayChange, c.var.operator.who)),
);

serve(rulesRoutes, "POST /v1/rules/try", async (c, { body }) => {
  const checked = checkedObjects(body.objects);
  if (!checked.ok) return refuse("invalid-body", checked.error);
  const objects = checked.value.map(({ object }) => object);
  const names = await registry(c.env).names(body.after, RULE_SET_LIMITS.tried);
  const changes: RulesTrial["changes"] = [];
  const failed: RulesTrial["failed"] = [];
  const attempt = async (name: string) => {
    try {
      const tried = () => c.env.NODES.getByName(name).tryRules(objects);
      const change = await inTime(TRIALS.withinMs, tried, undefined, undefined);
      if (change) changes.push({ name, ...change });
    } catch (error) {
      failed.push({ name, reason: String(error).slice(0, 200) });
    }
  };
  await paced(each(names, attempt), { aSecond: Infinity, ...TRIALS }, () => Promise.resolve());
  const byName = (a: { name: string }, b: { name: string }) => (a.name < b.name ? -1 : 1);
  const next = names.length < RULE_SET_LIMITS.tried ? null : (names.at(-1) ?? null);
  return c.json({
    machines: names.length,
    changes: changes.sort(byName),
    failed: failed.sort(byName),
    next,
  } satisfies RulesTrial);
});

function* each(names: readonly string[], work: (name: string) => Promise<void>) {
  for (const name of names) yield work(name);
}

async function rulesAnswer(c: Context<App>): Promise<Response> {
  const [rules, counted] = await Promise.all([registry(c.env).listRules(), fleetIndex(c.env).ruleMatches()]);
  const machines = new Map(counted.map(({ rule, machines: count }) => [rule, count]));
  const objects = JSON.parse(rules.objects) as unknown[];
  const checked = checkedObjects(objects);
  const known = checked.ok ? checked.value.map(({ object }) => object) : [];
  const matches = rulesInOrder(known).map(({ name: rule }) => ({ rule, machines: machines.get(rule) ?? 0 }));
  return c.json({ ...rules, objects, matches } satisfies RulesAnswer);
}

const changed = (c: Context<App>, done: Result<null>) =>
  done.ok ? rulesAnswer(c) : refuse("conflict", { detail: done.error });

interface CheckedObject {
  /** The object as it was sent. */
  given: unknown;
  object: RuleObject;
}

/** Checks the objects of a set, and sorts them by name. */
function checkedObjects(
  given: readonly unknown[],
): Result<CheckedObject[], { detail: string; pointer: string }> {
  const objects: CheckedObject[] = [];
  const names = new Set<string>();
  let [rules, steps] = [0, 0];
  for (const [index, value] of given.entries()) {
    const place = `/objects/${index}`;
    const fault = (detail: string, pointer = place) => failure({ detail, pointer });
    const parsed = parseRuleObject(value);
    if (!parsed.ok) {
      const [pointer = "", ...detail] = parsed.error.split(": ");
      return fault(detail.join(": "), `${place}${pointer}`);
    }
    const { name } = parsed.value;
    if (names.has(name)) return fault(`two objects have the name ${name}`);
    names.add(name);
    rules += parsed.value.rules.length;
    const long = rulesInOrder([parsed.value]).find((rule) => rule.name.length > RULE_SET_LIMITS.nameLength);
    if (long) return fault(`a name of more than ${RULE_SET_LIMITS.nameLength} characters: ${long.name}`);
    steps += parsed.value.steps;
    objects.push({ given: value, object: parsed.value });
  }
  const fault = (detail: string) => failure({ detail, pointer: "/objects" });
  if (rules > RULE_SET_LIMITS.rules) return fault(`${rules} rules, of at most ${RULE_SET_LIMITS.rules}`);
  if (steps > RULE_SET_LIMITS.steps)
    return fault(`regular expressions of ${steps} steps, of at most ${RULE_SET_LIMITS.steps}`);
  const bytes = ruleSetBytes(given);
  if (bytes > RULE_SET_LIMITS.bytes)
    return fault(`${bytes} bytes in a backup, of at most ${RULE_SET_LIMITS.bytes}`);
  return success(objects.sort((a, b) => (a.object.name < b.object.name ? -1 : 1)));
}
