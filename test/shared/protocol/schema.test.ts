// Tests the messages about a value that a schema refuses, which are zod's English ones.
import * as z from "zod/mini";
import en from "zod/v4/locales/en.js";
import { expect, it } from "vitest";
import { factsSchema } from "../../../shared/protocol/facts.ts";
import { tokenRequestSchema } from "../../../shared/protocol/join-tokens.ts";
import { auditQuerySchema, historyQuerySchema } from "../../../shared/protocol/operator-api.ts";
import { reportSchema } from "../../../shared/protocol/report.ts";

const text = z.string();
const number = z.number();

it.each<[string, z.ZodMiniType, unknown]>([
  ["absent", text, undefined],
  ["null", text, null],
  ["a list", text, []],
  ["an object", text, {}],
  ["a number", text, 1],
  ["no number", z.coerce.number(), "x"],
  ["too large for a number", number, Number.POSITIVE_INFINITY],
  ["no whole number", z.int(), 1.5],
  ["beyond what is exact", z.int(), 2 ** 60],
  ["no list", z.array(text), {}],
  ["no object", z.strictObject({}), []],
  ["with a key too many", z.strictObject({}), { a: 1 }],
  ["with keys too many", z.strictObject({}), { a: 1, b: 2 }],
  ["no map", z.record(text, text), 1],
  ["no pair", z.tuple([number, number]), {}],
  ["one value of a pair", z.tuple([number, number]), [1]],
  ["more than a pair", z.tuple([number, number]), [1, 2, 3]],
  ["not this one", z.literal(1), 2],
  ["not this text", z.literal("a"), 2],
  ["none of these", z.enum(["a", "b"]), "c"],
  ["none of these kinds", z.union([text, number]), true],
  ["too large", number.check(z.maximum(3)), 4],
  ["not less", number.check(z.lt(3)), 3],
  ["too small", number.check(z.minimum(3)), 2],
  ["not more", number.check(z.gt(3)), 3],
  ["too long", text.check(z.maxLength(1)), "ab"],
  ["too short", text.check(z.minLength(1)), ""],
  ["of another length", text.check(z.length(2)), "abc"],
  ["too many", z.array(text).check(z.maxLength(1)), ["a", "b"]],
  ["too few", z.array(text).check(z.minLength(1)), []],
  ["of another form", text.check(z.regex(/^a$/)), "b"],
  ["no time", z.iso.datetime({ offset: true }), "now"],
  ["a key too long", z.record(text.check(z.maxLength(1)), text), { ab: "" }],
  ["a key that is none", z.partialRecord(z.enum(["a"]), text), { b: "" }],
  ["refused without a text", text.check(z.refine(() => false)), ""],
  ["a wrong report", reportSchema, { protocol: 2, startId: 1, vitals: { signals: { x: 1 } } }],
  ["wrong facts", factsSchema, { images: [1], addresses: "x" }],
  ["a wrong query", historyQuerySchema, { since: "x", before: "x", kind: "x", limit: 0 }],
  ["another wrong query", auditQuerySchema, { by: "x", target: 1, before: 0, limit: 10_000 }],
  ["a wrong request for a token", tokenRequestSchema, { names: "", uses: 0, roles: [1], mayLabel: ["*a"] }],
])("%s → zod's text", (_, schema, value) => {
  const said = schema.safeParse(value).error?.issues.map(({ message }) => message);
  const zods = schema.safeParse(value, { error: en().localeError }).error?.issues;
  expect(said?.length).toBeGreaterThan(0);
  expect(said).toEqual(zods?.map(({ message }) => message));
});
