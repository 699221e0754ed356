// Builds the API's description in OpenAPI 3.1 from the table of routes. The same table always gives the same bytes.
import * as z from "zod/mini";
import { type Problem, type Reason, REASON_STATUSES } from "../../shared/protocol/answers.ts";
import { LIMITS } from "../../shared/protocol/limits.ts";
import { type RouteName, type RouteRules, ROUTES } from "../../shared/protocol/routes.ts";
import { VERSION } from "../../shared/version.ts";
import {
  type Description,
  type Descriptions,
  type NamedSchema,
  type RouteAnswer,
  TAGS,
} from "./description.ts";
import { DEPLOYMENT_DESCRIPTIONS } from "./routes/deployment.ts";
import { FLEET_DESCRIPTIONS } from "./routes/fleet.ts";
import { MACHINES_DESCRIPTIONS } from "./routes/machines.ts";

const DESCRIPTIONS: Descriptions = {
  ...FLEET_DESCRIPTIONS,
  ...MACHINES_DESCRIPTIONS,
  ...DEPLOYMENT_DESCRIPTIONS,
};

/** The rules of a route and its description. */
export interface DescribedRoute extends RouteRules, Description {
  method: string;
  path: string;
  answers: NonNullable<Description["answers"]>;
}

const DONE = { 204: { what: "The Worker has executed the request." } };

/** The routes with their descriptions, in the order of the table. */
export const DESCRIBED: readonly DescribedRoute[] = Object.keys(ROUTES).map((key) => {
  const name = key as RouteName;
  const [method = "", path = ""] = name.split(" ");
  return { method, path, answers: DONE, ...ROUTES[name], ...DESCRIPTIONS[name] };
});

type Json = Readonly<Record<string, unknown>>;

const INTRODUCTION = `Keeps the Kubernetes Nodes of machines without a kubelet up to date.

Operators send a secret as a bearer token, sign in from a browser, or come through Cloudflare Access; machines sign
their requests. Every answer from 400 on, except the checks of \`/readyz\`, is a problem document (RFC 9457) with a stable
\`reason\`. A query or a body with a member that is not described here is refused and has no effect. Answers may have more
members in a later version. A HEAD is answered as a GET, without the body. \`x-rollcall-wakes\`: the request wakes the
object of a machine, which costs as much as a report.`;

const SECURITY: Record<RouteRules["who"], readonly Json[]> = {
  anybody: [],
  machine: [{ machine: [] }],
  view: [{ secret: [] }, { session: [] }, { access: [] }],
  operator: [{ secret: [] }, { session: [] }, { access: [] }],
  admin: [{ secret: [] }, { session: [] }, { access: [] }],
};

const SECURITY_SCHEMES = {
  secret: { type: "http", scheme: "bearer", description: "An operator's secret." },
  session: {
    type: "apiKey",
    in: "cookie",
    name: "__Host-rollcall",
    description:
      "Set by POST /v1/session; over plain http, in a local cluster, its name is `rollcall`. A request that changes something, " +
      "or opens a WebSocket, must come from a page of the Worker's own origin, by its Origin or Sec-Fetch-Site.",
  },
  access: {
    type: "apiKey",
    in: "header",
    name: "cf-access-jwt-assertion",
    description: "Cloudflare Access adds it to the requests that it admits.",
  },
  machine: {
    type: "http",
    scheme: "bearer",
    bearerFormat: "JWT",
    description:
      "Signed by the machine's key over the body and a ticket. An enrolment has its JWTs in the body.",
  },
};

/** Returns the API's description for this version, as the Worker serves it. */
export const openapiText = () => `${JSON.stringify(openapiDocument(DESCRIBED, VERSION))}\n`;

/** The pattern of one label of a Node's name: Kubernetes' rule (shared/node/node-name.ts). */
const LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const NODE_NAME = { type: "string", maxLength: LIMITS.nameLength, pattern: `^${LABEL}(\\.${LABEL})*$` };

export function openapiDocument(routes: readonly DescribedRoute[], version: string): Json {
  const paths: Record<string, Record<string, Json>> = {};
  for (const route of routes) (paths[route.path] ??= {})[route.method.toLowerCase()] = operation(route);
  return {
    openapi: "3.1.1",
    info: {
      title: "rollcall",
      version,
      description: INTRODUCTION,
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: "/" }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths,
    components: { schemas: componentSchemas(routes), securitySchemes: SECURITY_SCHEMES },
  };
}

function operation(route: DescribedRoute): Json {
  const { id, group, what, more, who, wakes, body } = route;
  return {
    operationId: id,
    tags: [group],
    summary: what,
    ...(more !== undefined && { description: more }),
    "x-rollcall-role": who,
    ...(wakes && { "x-rollcall-wakes": true }),
    security: SECURITY[who],
    parameters: parametersOf(route),
    ...(body !== undefined && {
      requestBody: { required: true, content: { "application/json": { schema: jsonSchema(body, "input") } } },
    }),
    responses: { ...answersOf(route), ...problemsOf(route) },
  };
}

function parametersOf({ path, query, about }: DescribedRoute): Json[] {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: "path",
    required: true,
    schema: name === "name" ? NODE_NAME : { type: "string" },
  }));
  if (!query) return inPath;
  const { properties = {}, required = [] } = jsonSchema(query, "input") as ObjectSchema;
  const inQuery = Object.entries(properties).map(([name, schema]) => ({
    name,
    in: "query",
    description: about?.[name],
    required: required.includes(name),
    schema,
  }));
  return [...inPath, ...inQuery];
}

interface ObjectSchema {
  properties?: Record<string, Json>;
  required?: string[];
}

function answersOf({ answers }: DescribedRoute): Json {
  return Object.fromEntries(Object.entries(answers).map(([status, answer]) => [status, response(answer)]));
}

function response({ what, content }: RouteAnswer): Json {
  const bodies = Object.entries(content ?? {}).map(([type, schema]) => [
    type,
    { schema: schema === "text" ? { type: "string" } : referenceTo(schema) },
  ]);
  return { description: what, ...(content && { content: Object.fromEntries(bodies) }) };
}

const problemSchema: z.ZodMiniType<Problem> = z.strictObject({
  type: z.literal("about:blank"),
  status: z.int(),
  title: z.string(),
  detail: z.string(),
  reason: z.enum(Object.keys(REASON_STATUSES) as Reason[]),
  pointer: z.exactOptional(z.string()),
  parameter: z.exactOptional(z.string()),
  ticket: z.exactOptional(z.string()),
  factsWanted: z.exactOptional(z.boolean()),
  challenge: z.exactOptional(z.string()),
  retryAfterSeconds: z.exactOptional(z.number()),
});
/** The schema of every answer's body from status 400 on (RFC 9457). */
export const PROBLEM: NamedSchema = { name: "Problem", schema: problemSchema };

/** Returns all reasons for which a route can refuse a request. */
export function refusalsOf({ who, path, body, reasons: own = [] }: DescribedRoute): Reason[] {
  const reasons: Reason[] = [...own];
  if (who === "anybody") return reasons;
  reasons.push("rate-limited", "not-configured", "newer-state", "internal");
  if (path.includes("{name}")) reasons.push("invalid-name");
  if (body !== undefined) reasons.push("invalid-body", "body-too-large");
  reasons.push(...(who === "machine" ? MACHINE_REFUSALS : OPERATOR_REFUSALS));
  return [...new Set(reasons)];
}

const MACHINE_REFUSALS: readonly Reason[] = ["unauthenticated", "wrong-origin", "busy"];
const OPERATOR_REFUSALS: readonly Reason[] = ["forbidden", "invalid-query"];

/** Returns the refusals of a route by status. If the route also answers with this status, either body may be sent. */
function problemsOf(route: DescribedRoute): Json {
  const byStatus = Map.groupBy(refusalsOf(route), (reason) => REASON_STATUSES[reason]);
  return Object.fromEntries(
    [...byStatus].map(([status, reasons]) => {
      const own = route.answers[status];
      const schema = { allOf: [referenceTo(PROBLEM), { properties: { reason: { enum: reasons } } }] };
      const refused = `It is refused: ${reasons.map((reason) => `\`${reason}\``).join(", ")}.`;
      const { description, content } = own ? response(own) : {};
      return [
        status,
        {
          description: own ? `${String(description)} Or: ${refused}` : refused,
          content: { ...(content as Json | undefined), "application/problem+json": { schema } },
        },
      ];
    }),
  );
}

const referenceTo = ({ name }: NamedSchema) => ({ $ref: `#/components/schemas/${name}` });

function componentSchemas(routes: readonly DescribedRoute[]): Json {
  const named = routes
    .flatMap(({ answers }) => Object.values(answers))
    .flatMap(({ content = {} }) => Object.values(content))
    .filter((schema) => schema !== "text");
  const all = [PROBLEM, ...named].map(({ name, schema }) => [name, jsonSchema(schema, "output")]);
  return Object.fromEntries(all) as Json;
}

/** Returns the JSON schema. An answer's schema allows unknown members, so that a newer Worker's answers are valid. */
function jsonSchema(schema: z.core.$ZodType, io: "input" | "output"): Json {
  const { $schema: _, ...made } = z.toJSONSchema(schema, {
    io,
    unrepresentable: "any",
    override: ({ jsonSchema }) => {
      if (io === "output" && jsonSchema.additionalProperties === false)
        delete jsonSchema.additionalProperties;
    },
  });
  return made;
}
