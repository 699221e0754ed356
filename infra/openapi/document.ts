// The API's description in OpenAPI 3.1, out of the table of routes. The same table gives the same bytes.
import * as z from "zod/mini";
import { LIMITS } from "../../shared/protocol/limits.ts";
import { VERSION } from "../../shared/version.ts";
import { PROBLEM, REASON_STATUSES, refusalsOf } from "./refusals.ts";
import type { NamedSchema, Route, RouteAnswer, RouteGroup } from "./route.ts";
import { ROUTES } from "./routes.ts";

type Json = Readonly<Record<string, unknown>>;

const INTRODUCTION = `Keeps the Kubernetes Nodes of machines without a kubelet true.

Operators send a secret as a bearer token, sign in from a browser, or come through Cloudflare Access; machines sign
their requests. Every answer from 400 on is a problem document (RFC 9457) with a stable \`reason\`, but for the checks of \`/readyz\`. A query or a body
with a member that is not described here is refused, and nothing is done. Answers may have more members in a later
version. A HEAD is answered as a GET, without the body. \`x-rollcall-wakes\`: it wakes the object of a machine, which
costs, as a report does.`;

const TAGS: Record<RouteGroup, string> = {
  fleet: "All machines, without waking one",
  notifications: "Who is told of what goes wrong",
  nodes: "One machine, for operators",
  tokens: "Join tokens",
  operators: "Operators with names",
  bulk: "Many machines at once",
  deployment: "The deployment as a whole",
  health: "Whether the Worker works",
  machines: "What machines themselves ask",
};

const SECURITY: Record<Route["who"], readonly Json[]> = {
  anybody: [],
  machine: [{ machine: [] }],
  view: [{ secret: [] }, { session: [] }, { access: [] }],
  admin: [{ secret: [] }, { session: [] }, { access: [] }],
};

const SECURITY_SCHEMES = {
  secret: { type: "http", scheme: "bearer", description: "An operator's secret." },
  session: {
    type: "apiKey",
    in: "cookie",
    name: "__Host-rollcall",
    description:
      "Of POST /v1/session; over plain http, in a local cluster, its name is `rollcall`. A request that changes something, " +
      "or opens a WebSocket, has to come from a page of the Worker's own origin, as its Origin or Sec-Fetch-Site says.",
  },
  access: {
    type: "apiKey",
    in: "header",
    name: "cf-access-jwt-assertion",
    description: "Cloudflare Access adds it to the requests that it lets through.",
  },
  machine: {
    type: "http",
    scheme: "bearer",
    bearerFormat: "JWT",
    description:
      "Signed by the machine's key over the body and a ticket. An enrolment has its JWTs in the body.",
  },
};

/** The description of this version's routes, as it is served. */
export const openapiText = () => `${JSON.stringify(openapiDocument(ROUTES, VERSION))}\n`;

/** As Kubernetes has it (shared/node/node-name.ts). */
const LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const NODE_NAME = { type: "string", maxLength: LIMITS.nameLength, pattern: `^${LABEL}(\\.${LABEL})*$` };

export function openapiDocument(routes: readonly Route[], version: string): Json {
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

function operation(route: Route): Json {
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

function parametersOf({ path, query }: Route): Json[] {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: "path",
    required: true,
    schema: name === "name" ? NODE_NAME : { type: "string" },
  }));
  if (!query) return inPath;
  const { properties = {}, required = [] } = jsonSchema(query.schema, "input") as ObjectSchema;
  const inQuery = Object.entries(properties).map(([name, schema]) => ({
    name,
    in: "query",
    description: query.about[name],
    required: required.includes(name),
    schema,
  }));
  return [...inPath, ...inQuery];
}

interface ObjectSchema {
  properties?: Record<string, Json>;
  required?: string[];
}

function answersOf({ answers }: Route): Json {
  return Object.fromEntries(Object.entries(answers).map(([status, answer]) => [status, response(answer)]));
}

function response({ what, content }: RouteAnswer): Json {
  const bodies = Object.entries(content ?? {}).map(([type, schema]) => [
    type,
    { schema: schema === "text" ? { type: "string" } : referenceTo(schema) },
  ]);
  return { description: what, ...(content && { content: Object.fromEntries(bodies) }) };
}

/** The refusals of a route; beside an answer of its own with the same status, either body may come. */
function problemsOf(route: Route): Json {
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

function componentSchemas(routes: readonly Route[]): Json {
  const named = routes
    .flatMap(({ answers }) => Object.values(answers))
    .flatMap(({ content = {} }) => Object.values(content))
    .filter((schema) => schema !== "text");
  const all = [PROBLEM, ...named].map(({ name, schema }) => [name, jsonSchema(schema, "output")]);
  return Object.fromEntries(all) as Json;
}

/** Of answers, also those of a newer Worker are to be valid: they may have more members. */
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
