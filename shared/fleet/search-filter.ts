// Defines a filter of machines, and parses its terms. worker/fleet/machine-search.ts evaluates the filter.
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
  /** true if the term matches every status but `status`, and also a Node without the condition. */
  isNegated: boolean;
}

const VERSION_OPERATORS = ["=", "!=", "<", "<=", ">", ">="] as const;

export interface VersionTerm {
  operator: (typeof VERSION_OPERATORS)[number];
  version: string;
}

/** A filter of machines, passed by RPC. A machine has to match all terms; {} matches every machine. */
export interface MachineFilter {
  state?: FleetState[] | undefined;
  phase?: Phase[] | undefined;
  condition?: ConditionTerm[] | undefined;
  selector?: LabelRequirement[] | undefined;
  /** The conditions for the shim's version. An unknown version is neither less nor greater than another. */
  version?: VersionTerm[] | undefined;
  /** The range of the address that the machine reports from, as the Worker sees it. */
  address?: AddressRange | undefined;
  /** The name of a machine. Matches all machines at that machine's address, including itself. */
  beside?: string | undefined;
  /** The ID of the join token that the machine enrolled with. */
  token?: string | undefined;
  /** true matches machines that have never reported with their key, false matches all others. */
  unused?: boolean | undefined;
  /** A text to find in name, addresses, label values or versions, in upper or lower case. */
  text?: string | undefined;
  /** Matches states that began after this time, in milliseconds since 1970. */
  since?: number | undefined;
  /** Matches states that began at or before this time, in milliseconds since 1970. */
  until?: number | undefined;
}

const CONDITION = /^(!?)([^!=]+?)(?:(=|!=)(True|False|Unknown))?$/;

/** Parses a list of conditions such as `MemoryPressure,!Ready,Ready=False,Ready!=True`. */
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

/** Parses a list of versions such as `0.1.0`, `<0.2.0` or `>=0.1.0,!=0.1.3`. */
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

/** Parses a list of words, each of which has to be one of `known`. */
export function parseWords<Word extends string>(text: string, known: readonly Word[]): Result<Word[]> {
  const words = text.split(",").map((each) => known.find((word) => word === each.trim()));
  const found = words.filter((word) => word !== undefined);
  return found.length === words.length
    ? success([...new Set(found)])
    : failure(`expected one or more of ${known.join(", ")}, separated by commas`);
}
