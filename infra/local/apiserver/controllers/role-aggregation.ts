// Gathers the rules of cluster roles into those that select them by label. Mirrors clusterroleaggregation.
import { isJsonObject, type Json, type JsonObject, jsonEqual } from "../../../../shared/kubernetes/json.ts";
import { type ApiObject, fieldsOf, listOf, textOf } from "../object.ts";
import { rbacGroup } from "../rbac/resolver.ts";
import type { World } from "./world.ts";

const resource = `clusterroles.${rbacGroup}`;

type Labels = Readonly<Record<string, string>>;

function expressionHolds(expression: JsonObject, labels: Labels): boolean {
  const value = labels[textOf(expression["key"])];
  const values = listOf(expression["values"]);
  switch (expression["operator"]) {
    case "In":
      return value !== undefined && values.includes(value);
    case "NotIn":
      return value === undefined || !values.includes(value);
    case "Exists":
      return value !== undefined;
    default:
      return value === undefined;
  }
}

/** metav1.LabelSelectorAsSelector */
function selects(selector: JsonObject, labels: Labels): boolean {
  const wanted = Object.entries(fieldsOf(selector["matchLabels"]));
  const expressions = listOf(selector["matchExpressions"]).map(fieldsOf);
  return (
    wanted.every(([key, value]) => labels[key] === value) &&
    expressions.every((expression) => expressionHolds(expression, labels))
  );
}

/** The rules of all roles that a role selects, in the order of their names and each once; undefined when it selects none. */
export function aggregatedRules(role: ApiObject, roles: readonly ApiObject[]): Json[] | undefined {
  if (!isJsonObject(role["aggregationRule"])) return undefined;
  const rules: Json[] = [];
  for (const selector of listOf(role["aggregationRule"]["clusterRoleSelectors"]).map(fieldsOf)) {
    const selected = roles.filter(
      ({ metadata }) => metadata.name !== role.metadata.name && selects(selector, metadata.labels ?? {}),
    );
    for (const rule of selected.flatMap((each) => listOf(each["rules"])))
      if (!rules.some((known) => jsonEqual(known, rule))) rules.push(rule);
  }
  return rules;
}

/** Runs until the result is called. */
export function startRoleAggregation({ store, send, tasks }: World): () => void {
  async function aggregate(): Promise<void> {
    // In the order of their names, as the store lists them; what one pass writes causes the next.
    const roles = store.list(resource);
    for (const role of roles) {
      const rules = aggregatedRules(role, roles);
      if (!rules || jsonEqual(rules, listOf(role["rules"]))) continue;
      const { name } = role.metadata;
      const path = `/apis/${rbacGroup}/v1/clusterroles/${name}?fieldManager=clusterrole-aggregation-controller&force=true`;
      const body = { apiVersion: `${rbacGroup}/v1`, kind: "ClusterRole", metadata: { name }, rules };
      await send({ method: "PATCH", patch: "apply", path, body });
    }
  }
  const check = () => tasks.add("aggregate roles", aggregate);
  check();
  return store.subscribe((change) => {
    if (change.resource === resource) check();
  });
}
