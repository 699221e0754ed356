// Is a value of a file of its field's Go type? What a kubelet cannot decode, it refuses; null is "not set" everywhere.
import { parseDuration } from "../../shared/go/duration.ts";
import { parseQuantity } from "../../shared/kubernetes/quantity/parse.ts";
import type { IgnoredType } from "./ignored-fields.ts";
import { nearestName } from "./nearest-name.ts";

export interface TypeFault {
  /** Dotted: authentication.anonymous.enabled. */
  path: string;
  message: string;
}

type Scalar = Extract<IgnoredType, string>;

const isText = (value: unknown): value is string => typeof value === "string";
const isWithin = (value: unknown, least: number, most: number) =>
  Number.isInteger(value) && (value as number) >= least && (value as number) <= most;
const isDuration = (value: unknown) => isText(value) && parseDuration(value).ok;

const SCALARS: Readonly<Record<Scalar, { holds: (value: unknown) => boolean; is: string }>> = {
  string: { holds: isText, is: "a text" },
  bool: { holds: (value) => typeof value === "boolean", is: "true or false" },
  int32: { holds: (value) => isWithin(value, -(2 ** 31), 2 ** 31 - 1), is: "a whole number of 32 bits" },
  int64: { holds: (value) => isWithin(value, -(2 ** 63), 2 ** 63 - 1024), is: "a whole number of 64 bits" },
  uint32: { holds: (value) => isWithin(value, 0, 2 ** 32 - 1), is: "a whole number from 0 on, of 32 bits" },
  float: { holds: Number.isFinite, is: "a number" },
  duration: { holds: isDuration, is: "a duration such as 10s or 5m" },
  durationOrNumber: {
    holds: (value) => isDuration(value) || isWithin(value, -(2 ** 63), 2 ** 63 - 1024),
    is: "a duration such as 10s or 5m",
  },
  quantity: {
    holds: (value) => (isText(value) || Number.isFinite(value)) && parseQuantity(String(value)).ok,
    is: "a quantity such as 100Mi",
  },
};

/** The first value that is not of its type, in depth; null: all are. */
export function typeFault(value: unknown, type: IgnoredType, path: string): TypeFault | null {
  if (value === null) return null;
  if (isText(type))
    return SCALARS[type].holds(value) ? null : { path, message: `must be ${SCALARS[type].is}` };
  if (isList(type)) {
    if (!Array.isArray(value)) return { path, message: "must be a list" };
    return firstFault(value.map((item, at) => () => typeFault(item, type[0], `${path}.${at}`)));
  }
  if (typeof value !== "object" || Array.isArray(value)) return { path, message: "must be a map" };
  return firstFault(
    Object.entries(value).map(([name, content]) => () => {
      const field = type["*"] ?? (Object.hasOwn(type, name) ? type[name] : undefined);
      if (field !== undefined) return typeFault(content, field, `${path}.${name}`);
      return {
        path,
        message: `has no field ${name}; the nearest known name is ${nearestName(name, Object.keys(type))}`,
      };
    }),
  );
}

function isList(type: IgnoredType): type is readonly [IgnoredType] {
  return Array.isArray(type);
}

function firstFault(looks: readonly (() => TypeFault | null)[]): TypeFault | null {
  for (const look of looks) {
    const fault = look();
    if (fault !== null) return fault;
  }
  return null;
}
