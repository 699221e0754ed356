// Makes the tables of docs/api.md: every route of the Worker, from the descriptions behind openapi.json.
import * as z from "zod/mini";
import { REASON_STATUSES, refusalsOf } from "../../infra/openapi/refusals.ts";
import type { Route } from "../../infra/openapi/route.ts";
import { ROUTES } from "../../infra/openapi/routes.ts";
import type { Reason } from "../../shared/protocol/answers.ts";

const code = (text: string) => `\`${text}\``;
const refusal = (reason: Reason) => code(`${REASON_STATUSES[reason]} ${reason}`);
/** Separates several entries of one cell. */
const lines = (texts: readonly string[]) => texts.join("<br>");

/** One table for each group of routes, by the group's name. */
export const apiTables: Readonly<Record<string, () => string[][]>> = {
  refusals: commonRefusals,
  ...Object.fromEntries(ROUTES.map(({ group }) => [group, () => groupTable(group)])),
};

function groupTable(group: Route["group"]): string[][] {
  const rows = ROUTES.filter((route) => route.group === group).map((route) => [
    code(`${route.method} ${route.path}`),
    route.who,
    whatItDoes(route),
    takes(route),
    answers(route),
    lines((route.refusals ?? []).map(refusal)),
  ]);
  return [["request", "who", "what it does", "takes", "answers", "refuses"], ...rows];
}

function whatItDoes({ what, more, wakes }: Route): string {
  return [`${what}.`, more, wakes && "Wakes the machine's object."].filter(Boolean).join(" ");
}

function takes({ query, body }: Route): string {
  const ofQuery = query ? members(query.schema) : [];
  const ofBody = body ? members(body) : [];
  return lines([
    ...(ofQuery.length > 0 ? [`query: ${ofQuery.join(", ")}`] : []),
    ...(ofBody.length > 0 ? [`body: ${ofBody.join(", ")}`] : []),
  ]);
}

interface ObjectSchema {
  properties?: Record<string, unknown>;
  required?: readonly string[];
  anyOf?: readonly ObjectSchema[];
  oneOf?: readonly ObjectSchema[];
}

/** Lists the names on the highest level; an optional one has a question mark. */
function members(schema: z.core.$ZodType): string[] {
  const made = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }) as ObjectSchema;
  const forms = made.anyOf ?? made.oneOf ?? [made];
  const names = new Set(forms.flatMap(({ properties = {} }) => Object.keys(properties)));
  const isRequired = (name: string) => forms.every(({ required = [] }) => required.includes(name));
  return [...names].map((name) => code(isRequired(name) ? name : `${name}?`));
}

/** Returns a schema's name in openapi.json. */
function answers({ answers: byStatus }: Route): string {
  return lines(
    Object.entries(byStatus).map(([status, { what, content = {} }]) => {
      const names = Object.values(content).flatMap((schema) =>
        schema === "text" ? [] : [code(schema.name)],
      );
      return [code(status), ...names].join(" ") + `: ${what}`;
    }),
  );
}

/** A route without refusals of its own. */
const PLAIN: Route = {
  method: "GET",
  path: "/",
  id: "plain",
  group: "health",
  who: "anybody",
  what: "",
  answers: {},
};

/** Lists the refusals that all routes share. */
function commonRefusals(): string[][] {
  const [machine, operator] = [
    refusalsOf({ ...PLAIN, who: "machine" }),
    refusalsOf({ ...PLAIN, who: "view" }),
  ];
  const beyond = (route: Partial<Route>) =>
    refusalsOf({ ...PLAIN, who: "view", ...route }).filter((reason) => !operator.includes(reason));
  const rows: [string, readonly Reason[]][] = [
    ["machine", machine],
    ["view, admin", operator],
    ["those, with a name in the path", beyond({ path: "/{name}" })],
    ["those, with a body", beyond({ body: z.object({}) })],
  ];
  return [["who", "refuses"], ...rows.map(([of, reasons]) => [of, reasons.map(refusal).join(", ")])];
}
