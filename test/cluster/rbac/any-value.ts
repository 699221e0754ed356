// Generates values that a zod schema accepts: most are small, some are at a limit. A refinement is only a function, so
// each generated value is checked against the schema.
import * as fc from "fast-check";
import * as z from "zod/mini";

/** Generators of texts with a syntax that random texts rarely match, by the name of the field. */
export type Hints = Record<string, fc.Arbitrary<unknown>>;

type Def = z.core.$ZodTypes["_zod"]["def"];

/**
 * Returns a generator of values that the schema accepts. `large`: values have one large place, and are small
 * elsewhere, since a report's total size is limited.
 */
export function anyOf(schema: z.core.$ZodType, hints: Hints, large = false): fc.Arbitrary<unknown> {
  return accepted(schema, made(schema, hints, large));
}

function made(schema: z.core.$ZodType, hints: Hints, large: boolean): fc.Arbitrary<unknown> {
  const def = schema._zod.def as Def;
  const part = (inner: z.core.$ZodType) => anyOf(inner, hints, large);
  switch (def.type) {
    case "string":
      return large ? largeTexts(limitsOf(schema)) : TEXTS;
    case "number":
      return numbers(limitsOf(schema));
    case "boolean":
      return fc.boolean();
    case "literal":
      return fc.constantFrom(...def.values);
    case "enum":
      return fc.constantFrom(...Object.values(def.entries));
    case "optional":
      return large ? part(def.innerType) : fc.option(part(def.innerType), { nil: undefined });
    case "nullable":
      return large ? part(def.innerType) : fc.option(part(def.innerType), { nil: null });
    case "default":
      return part(def.innerType);
    case "union":
      return fc.oneof(...def.options.map(part));
    case "tuple":
      return fc.tuple(...def.items.map(part));
    case "array":
      return lists((size) => anyOf(def.element, hints, size), limitsOf(schema), large);
    case "record": {
      const entry = (size: boolean) =>
        fc.tuple(anyOf(def.keyType, hints, size), anyOf(def.valueType, hints, size));
      return lists(entry, {}, large).map((entries) => Object.fromEntries(entries as [string, unknown][]));
    }
    case "object":
      return objects(def.shape, hints, large);
    default:
      throw new Error(`a schema of the type ${def.type} has no values here: add them`);
  }
}

/** Returns a generator of objects. If `large`, one field of an object is large. */
function objects(shape: z.core.$ZodLooseShape, hints: Hints, large: boolean): fc.Arbitrary<unknown> {
  const valuesOf = (name: string, size: boolean) => {
    const hint = hints[name];
    const field = shape[name] as z.core.$ZodType;
    return hint ? accepted(field, hint) : anyOf(field, hints, size);
  };
  const names = Object.keys(shape);
  const small = Object.fromEntries(names.map((name) => [name, valuesOf(name, false)]));
  const filled = (fields: typeof small) =>
    fc
      .record(fields)
      .map((values) => Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)));
  if (!large) return filled(small);
  return fc.oneof(...names.map((name) => filled({ ...small, [name]: valuesOf(name, true) })));
}

/** Returns a generator of lists. A large list has many elements, or one large element. */
function lists(
  element: (large: boolean) => fc.Arbitrary<unknown>,
  { maximum = 130 }: Limits,
  large: boolean,
): fc.Arbitrary<unknown[]> {
  if (!large) return fc.array(element(false), { maxLength: Math.min(maximum, 3) });
  return fc.oneof(
    fc.array(element(false), { minLength: maximum, maxLength: maximum, size: "max" }),
    fc.tuple(element(true)),
  );
}

interface Limits {
  minimum?: number;
  maximum?: number;
}

/** Returns the limits of a number, or of the length of a text or a list. */
function limitsOf(schema: z.core.$ZodType): Limits {
  const limits: Limits = {};
  for (const check of schema._zod.def.checks ?? []) {
    const def = check._zod.def as z.core.$ZodChecks["_zod"]["def"];
    if (def.check === "greater_than") limits.minimum = Number(def.value);
    if (def.check === "less_than") limits.maximum = Number(def.value);
    if (def.check === "max_length") limits.maximum = def.maximum;
  }
  return limits;
}

function numbers({ minimum = -Number.MAX_SAFE_INTEGER, maximum = Number.MAX_SAFE_INTEGER }: Limits) {
  const ends = [minimum, maximum, ...[0, 1].filter((each) => each >= minimum && each <= maximum)];
  return fc.oneof(fc.constantFrom(...ends), fc.integer({ min: minimum, max: maximum }));
}

const LABEL = "x".repeat(63);
const SUBDOMAIN = `${"s".repeat(63)}.${"s".repeat(63)}.${"s".repeat(63)}.${"s".repeat(61)}`;
/** Texts to which Kubernetes applies special rules. */
const WELL_KNOWN = [
  "node.cloudprovider.kubernetes.io/uninitialized",
  "node.kubernetes.io/not-ready",
  "node.kubernetes.io/unschedulable",
  "node.kubernetes.io/exclude-from-external-load-balancers",
  "kubernetes.io/hostname",
  "kubernetes.io/os",
  "topology.kubernetes.io/zone",
  "rollcall.dev/facts-only",
  "rollcall.dev/gpus",
  "example.com/gpu",
  "hugepages-2Mi",
  "attachable-volumes-csi-x",
  "requests.cpu",
  "cpu",
  "memory",
  "Ready",
  "2026-03-14T15:09:26.123+02:00",
  "v1.2.3-rc.1+meta",
  LABEL,
  `${SUBDOMAIN}/${LABEL}`,
  `example.com/${LABEL}`,
  SUBDOMAIN,
];

/** A generator of small texts, made only once since its patterns are slow to prepare. */
const TEXTS = fc.oneof(
  fc.string({ unit: "binary", maxLength: 20 }),
  fc.constantFrom(...WELL_KNOWN),
  fc.stringMatching(/^[A-Za-z0-9]([-A-Za-z0-9_.]{0,10}[A-Za-z0-9])?$/),
  fc.stringMatching(/^[a-z]{1,3}\.[a-z]{1,3}\/[A-Za-z0-9]([-A-Za-z0-9_.]{0,10}[A-Za-z0-9])?$/),
  fc.stringMatching(/^[A-Z][a-zA-Z0-9]{0,8}$/),
  fc.ipV4(),
  fc.ipV6(),
  fc.constantFrom("::ffff:10.0.0.1", "010.0.0.1", "10.0.0.1", "0:0::1", "::1"),
);

function largeTexts({ maximum = 300 }: Limits): fc.Arbitrary<string> {
  return fc.oneof(
    // Some schemas refuse every text of the maximum length, so small texts are included.
    TEXTS,
    fc.string({ unit: "binary-ascii", minLength: maximum, maxLength: maximum }),
    fc.constantFrom("x", "é", "水").map((character) => character.repeat(maximum)),
    fc.constantFrom("\u{1F600}", "\u{10FFFF}").map((character) => character.repeat(maximum / 2)),
  );
}

/** Removes the parts that the schema refuses from each value; skips a value of which nothing acceptable remains. */
function accepted(schema: z.core.$ZodType, values: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  return values.map((value) => shrunk(schema, value)).filter((value) => z.safeParse(schema, value).success);
}

function shrunk(schema: z.core.$ZodType, value: unknown): unknown {
  for (let left = value; ;) {
    const { error } = z.safeParse(schema, left);
    if (!error || typeof left !== "object" || left === null) return left;
    const name = error.issues[0]?.path[0];
    const keys = Object.keys(left);
    const key = name !== undefined && keys.includes(String(name)) ? String(name) : keys.at(-1);
    if (key === undefined) return left;
    left = Array.isArray(left)
      ? left.toSpliced(Number(key), 1)
      : Object.fromEntries(Object.entries(left).filter(([each]) => each !== key));
  }
}
