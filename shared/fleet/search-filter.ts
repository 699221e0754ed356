// A filter of machines, and how its terms are written. worker/fleet/machine-search.ts evaluates it.
import type { LabelRequirement } from "../kubernetes/label-selector.ts";
import { labelKeyErrors } from "../kubernetes/validation.ts";
import type { Phase } from "../protocol/answers.ts";
import { FILTER_LIMITS } from "../protocol/limits.ts";
import { failure, type Result, success } from "../result.ts";
import type { AddressRange } from "./sort-keys.ts";
import { versionKey } from "./sort-keys.ts";
import type { FleetState } from "./state.ts";

export interface ConditionTerm {
  type: string;
  status: string;
  /** Matches every other status, and the absence of the condition. */
  isNegated: boolean;
}

const VERSION_OPERATORS = ["=", "!=", "<", "<=", ">", ">="] as const;

export interface VersionTerm {
  operator: (typeof VERSION_OPERATORS)[number];
  version: string;
}

/** All terms must match; {} matches every machine. An RPC value. */
export interface MachineFilter {
  state?: FleetState[] | undefined;
  phase?: Phase[] | undefined;
  condition?: ConditionTerm[] | undefined;
  selector?: LabelRequirement[] | undefined;
  /** Version of the shim. An unknown version is neither less nor greater than another. */
  version?: VersionTerm[] | undefined;
  /** The address that the machine reports from, as the Worker sees it. */
  address?: AddressRange | undefined;
  /** A machine's name: matches the machines at its address, including itself. */
  beside?: string | undefined;
  /** ID of the join token. */
  token?: string | undefined;
  /** Whether the machine has never reported with its key. */
  unused?: boolean | undefined;
  /** A text in name, addresses, label values or versions, in upper or lower case. */
  text?: string | undefined;
  /** The state began after this time, in milliseconds since 1970. */
  since?: number | undefined;
  /** The state began at this time, or before. */
  until?: number | undefined;
}

const CONDITION = /^(!?)([^!=]+?)(?:(=|!=)(True|False|Unknown))?$/;

/** Parses `MemoryPressure`, `!Ready`, `Ready=False`, `Ready!=True`, separated by commas. */
export function parseConditions(text: string): Result<ConditionTerm[]> {
  const terms: ConditionTerm[] = [];
  for (const term of text.split(",")) {
    const [, not, type = "", operator, status = "True"] = CONDITION.exec(term.trim()) ?? [];
    if (labelKeyErrors(type).length > 0 || (not && operator))
      return failure("expected a condition: Ready, !Ready, Ready=True, Ready=False, Ready!=Unknown");
    terms.push({ type, status, isNegated: not === "!" || operator === "!=" });
  }
  return atMostTerms(terms);
}

const VERSION_TERM = /^(=|==|!=|<=|>=|<|>)?\s*([^\s=!<>]+)$/;

/** Parses `0.1.0`, `<0.2.0`, `>=0.1.0,!=0.1.3`. */
export function parseVersions(text: string): Result<VersionTerm[]> {
  const terms: VersionTerm[] = [];
  for (const term of text.split(",")) {
    const [, sign = "=", version = ""] = VERSION_TERM.exec(term.trim()) ?? [];
    const operator = VERSION_OPERATORS.find((each) => each === sign) ?? "=";
    if (version === "" || (/[<>]/.test(operator) && versionKey(version) === ""))
      return failure("expected a version: 0.1.0, <0.1.0, <=0.1.0, >=0.1.0,!=0.1.3");
    terms.push({ operator, version });
  }
  return atMostTerms(terms);
}

function atMostTerms<T>(terms: T[]): Result<T[]> {
  return terms.length <= FILTER_LIMITS.terms ? success(terms) : failure(`more than ${FILTER_LIMITS.terms}`);
}

/** Parses a list of words, each one of `known`. */
export function parseWords<Word extends string>(text: string, known: readonly Word[]): Result<Word[]> {
  const words = text.split(",").map((each) => known.find((word) => word === each.trim()));
  const found = words.filter((word) => word !== undefined);
  return found.length === words.length
    ? success([...new Set(found)])
    : failure(`expected one or more of ${known.join(", ")}, separated by commas`);
}
