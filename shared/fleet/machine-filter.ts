// Which machines are meant: a filter, and how each of its terms is written. Matches nothing: worker/fleet/machine-search.ts does.
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
  /** Any other status, or none at all. */
  isNegated: boolean;
}

const VERSION_OPERATORS = ["=", "!=", "<", "<=", ">", ">="] as const;

export interface VersionTerm {
  operator: (typeof VERSION_OPERATORS)[number];
  version: string;
}

/** All that is there has to hold; {} is every machine. An RPC value. */
export interface MachineFilter {
  state?: FleetState[] | undefined;
  phase?: Phase[] | undefined;
  condition?: ConditionTerm[] | undefined;
  selector?: LabelRequirement[] | undefined;
  /** Of the shim. One that is not known is neither less nor more than another. */
  version?: VersionTerm[] | undefined;
  /** From which it reports, as the Worker sees it. */
  address?: AddressRange | undefined;
  /** A machine: those at its address, itself included. */
  beside?: string | undefined;
  /** ID of the join token. */
  token?: string | undefined;
  /** Has it never reported with its key? */
  unused?: boolean | undefined;
  /** Somewhere in name, addresses, labels' values or versions; capitals do not matter. */
  text?: string | undefined;
  /** The state began after this time, in milliseconds since 1970. */
  since?: number | undefined;
  /** The state began at this time, or before. */
  until?: number | undefined;
}

const CONDITION = /^(!?)([^!=]+?)(?:(=|!=)(True|False|Unknown))?$/;

/** `MemoryPressure`, `!Ready`, `Ready=False`, `Ready!=True`, several separated by commas. */
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

/** `0.1.0`, `<0.2.0`, `>=0.1.0,!=0.1.3` */
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

/** Words of a list, each one of `known`. */
export function parseWords<Word extends string>(text: string, known: readonly Word[]): Result<Word[]> {
  const words = text.split(",").map((each) => known.find((word) => word === each.trim()));
  const found = words.filter((word) => word !== undefined);
  return found.length === words.length
    ? success([...new Set(found)])
    : failure(`expected one or more of ${known.join(", ")}, separated by commas`);
}
