// Makes the tables of docs/api.md: every route of the Worker, from the descriptions behind openapi.json.
import * as z from "zod/mini";
import { DESCRIBED, type DescribedRoute, refusalsOf } from "../../infra/openapi/document.ts";
import { type Reason, REASON_STATUSES } from "../../shared/protocol/answers.ts";

const code = (text: string) => `\`${text}\``;
const refusal = (reason: Reason) => code(`${REASON_STATUSES[reason]} ${reason}`);
/** Joins several entries of one cell, each on its own line. */
const lines = (texts: readonly string[]) => texts.join("<br>");

/** The functions that make one table for each group of routes, by the group's name. */
export const apiTables: Readonly<Record<string, () => string[][]>> = {
  refusals: commonRefusals,
  ...Object.fromEntries(DESCRIBED.map(({ group }) => [group, () => groupTable(group)])),
};

function groupTable(group: DescribedRoute["group"]): string[][] {
  const rows = DESCRIBED.filter((route) => route.group === group).map((route) => [
    code(`${route.method} ${route.path}`),
    route.who,
    whatItDoes(route),
    takes(route),
    answers(route),
    lines((route.reasons ?? []).map(refusal)),
  ]);
  return [["request", "who", "what it does", "takes", "answers", "refuses"], ...rows];
}

function whatItDoes({ what, more, wakes }: DescribedRoute): string {
  return [`${what}.`, more, wakes && "The request wakes the machine's object."].filter(Boolean).join(" ");
}

function takes({ query, body }: DescribedRoute): string {
  const ofQuery = query ? members(query) : [];
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

/** Lists the names of a schema's fields on the highest level; an optional field has a question mark. */
function members(schema: z.core.$ZodType): string[] {
  const made = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }) as ObjectSchema;
  const forms = made.anyOf ?? made.oneOf ?? [made];
  const names = new Set(forms.flatMap(({ properties = {} }) => Object.keys(properties)));
  const isRequired = (name: string) => forms.every(({ required = [] }) => required.includes(name));
  return [...names].map((name) => code(isRequired(name) ? name : `${name}?`));
}

/** Lists the answers of a route, each with the name of its schema in openapi.json. */
function answers({ answers: byStatus }: DescribedRoute): string {
  return lines(
    Object.entries(byStatus).map(([status, { what, content = {} }]) => {
      const names = Object.values(content).flatMap((schema) =>
        schema === "text" ? [] : [code(schema.name)],
      );
      return [code(status), ...names].join(" ") + `: ${what}`;
    }),
  );
}

/** A made-up route without refusals of its own: it has only the refusals that all routes share. */
const PLAIN: DescribedRoute = {
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
  const beyond = (route: Partial<DescribedRoute>) =>
    refusalsOf({ ...PLAIN, who: "view", ...route }).filter((reason) => !operator.includes(reason));
  const rows: [string, readonly Reason[]][] = [
    ["machine", machine],
    ["view, operator, admin", operator],
    ["view, operator, admin; for a path with a name", beyond({ path: "/{name}" })],
    ["view, operator, admin; for a request with a body", beyond({ body: z.object({}) })],
  ];
  return [["who", "refuses"], ...rows.map(([of, reasons]) => [of, reasons.map(refusal).join(", ")])];
}
