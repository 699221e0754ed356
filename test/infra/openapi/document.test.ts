// Tests the API's description: it is valid OpenAPI 3.1, and has what generated clients need.
// test/stories/api-description.test.ts compares it with the Worker.
import { Validator } from "@seriousme/openapi-schema-validator";
import * as z from "zod/mini";
import { expect, it } from "vitest";
import { json } from "../../../infra/openapi/description.ts";
import {
  DESCRIBED,
  type DescribedRoute,
  openapiDocument,
  openapiText,
} from "../../../infra/openapi/document.ts";

interface Described {
  paths: Record<string, Record<string, Record<string, unknown>>>;
  components: { schemas: Record<string, unknown> };
}
const described = (...routes: DescribedRoute[]) => openapiDocument(routes, "1.2.3") as unknown as Described;

const route: DescribedRoute = {
  method: "GET",
  path: "/v1/things/{name}",
  id: "getThing",
  group: "nodes",
  who: "view",
  what: "A thing",
  answers: {
    200: json("The thing.", {
      thing: z.object({ size: z.number(), labels: z.record(z.string(), z.string()) }),
    }),
  },
};

it("is valid OpenAPI 3.1", async () => {
  const validator = new Validator();
  expect(await validator.validate(openapiText())).toEqual({ valid: true });
  expect(validator.version).toBe("3.1");
});

it("each operation has a name of its own, and each name of a schema stands for one", () => {
  const ids = DESCRIBED.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  const schemas = DESCRIBED.flatMap(({ answers }) => Object.values(answers))
    .flatMap(({ content = {} }) => Object.values(content))
    .filter((schema) => schema !== "text");
  for (const { name, schema } of schemas)
    expect(schemas.filter((other) => other.name === name).every((other) => other.schema === schema)).toBe(
      true,
    );
});

it("each parameter says what it does", () => {
  for (const { id, query, about = {} } of DESCRIBED) {
    const [described, taken] = [about, query?.shape ?? {}];
    expect([id, Object.keys(described).sort()]).toEqual([id, Object.keys(taken).sort()]);
  }
});

it("an answer may have more members in a later version; a map's values stay what they are", () => {
  expect(described(route).components.schemas["Thing"]).toEqual({
    type: "object",
    properties: {
      size: { type: "number" },
      labels: { type: "object", propertyNames: { type: "string" }, additionalProperties: { type: "string" } },
    },
    required: ["size", "labels"],
  });
});

it("parameters come from the path and the query's schema", () => {
  const schema = z.strictObject({ size: z.coerce.number(), limit: z._default(z.coerce.number(), 7) });
  const about = { size: "Its size.", limit: "How many." };
  const { get } = described({ ...route, query: schema, about }).paths[route.path]!;
  expect(get?.["parameters"]).toEqual([
    {
      name: "name",
      in: "path",
      required: true,
      schema: { type: "string", maxLength: 253, pattern: expect.any(String) },
    },
    { name: "size", in: "query", required: true, description: about.size, schema: { type: "number" } },
    {
      name: "limit",
      in: "query",
      required: false,
      description: about.limit,
      schema: { type: "number", default: 7 },
    },
  ]);
});

it.each([
  ["view", ["200", "400", "403", "429", "500", "503"]],
  ["machine", ["200", "400", "401", "429", "500", "503"]],
  ["anybody", ["200"]],
] as const)("what %s is answered → by status", (who, statuses) => {
  const { get } = described({ ...route, who }).paths[route.path]!;
  expect(Object.keys(get?.["responses"] as object)).toEqual(statuses);
});

it("a status that is both an answer and a refusal → both bodies", () => {
  const answers = { ...route.answers, 503: json("It is not well.", { thing: z.object({}) }) };
  const { get } = described({ ...route, answers }).paths[route.path]!;
  expect(get?.["responses"]).toMatchObject({
    503: {
      description: "It is not well. Or: It is refused: `not-configured`, `newer-state`.",
      content: {
        "application/json": { schema: { $ref: "#/components/schemas/Thing" } },
        "application/problem+json": {
          schema: { allOf: [{ $ref: "#/components/schemas/Problem" }, { properties: { reason: {} } }] },
        },
      },
    },
  });
});
