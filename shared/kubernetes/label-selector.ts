// Parses label selectors as kubectl does (apimachinery's labels.Parse).
import { failure, type Result, success } from "../result.ts";
import { labelKeyErrors, labelValueErrors } from "./validation.ts";

/** A requirement for one label. `=` and `==` become `in`, `!=` becomes `notin`, which an absent label satisfies. */
export interface LabelRequirement {
  key: string;
  operator: "in" | "notin" | "exists" | "absent" | ">" | "<";
  /** The values, sorted, without duplicates. `>` and `<` have one value, a whole number up to 2^63 − 1. */
  values: string[];
}

/** The tokens of upstream's Lexer: identifiers and symbols. White space is space, tab, CR and LF. */
const TOKENS = /==|!=|[=!(),<>]|[^=!(),<> \t\r\n]+/g;
const END = "";
const INT64_MAX = 2n ** 63n - 1n;

const isSymbol = (token: string) => token === END || /^[=!(),<>]/.test(token);

/** Parses a selector (upstream Parse). A set of labels has to satisfy all requirements; "" matches every set. */
export function parseLabelSelector(text: string): Result<LabelRequirement[]> {
  // A NUL is refused, since upstream's lexer sometimes treats it as the end.
  if (text.includes("\0")) return failure("a control character");
  const tokens = text.match(TOKENS) ?? [];
  const requirements: LabelRequirement[] = [];
  let at = 0;
  const next = () => tokens[at] ?? END;
  const take = () => tokens[at++] ?? END;
  const expected = (what: string) => failure(`found '${next()}', expected: ${what}`);

  while (at < tokens.length) {
    const isAbsent = next() === "!";
    if (isAbsent) at++;
    if (isSymbol(next())) return expected("identifier");
    const key = take();
    const parsed =
      isAbsent || next() === END || next() === ","
        ? success({ operator: isAbsent ? ("absent" as const) : ("exists" as const), values: [] })
        : comparison();
    if (!parsed.ok) return parsed;
    const requirement = { key, ...parsed.value };
    const fault = faultOf(requirement);
    if (fault !== undefined) return failure(fault);
    requirements.push(requirement);
    if (next() === END) break;
    if (next() !== ",") return expected("',' or 'end of string'");
    at++;
    if (isSymbol(next()) && next() !== "!") return expected("identifier after ','");
  }
  return success(requirements);

  function comparison(): Result<Omit<LabelRequirement, "key">> {
    const operator = next();
    if (operator === "in" || operator === "notin") {
      at++;
      const values = set();
      return values.ok ? success({ operator, values: values.value }) : values;
    }
    if (!["=", "==", "!=", ">", "<"].includes(operator)) return expected("in, notin, =, ==, !=, >, <");
    at++;
    let value = "";
    if (next() !== END && next() !== ",") {
      if (isSymbol(next())) return expected("identifier");
      value = take();
    }
    if (operator === ">" || operator === "<") return success({ operator, values: [value] });
    return success({ operator: operator === "!=" ? "notin" : "in", values: [value] });
  }

  /** Parses the values between parentheses. An empty text between two commas is the empty value. */
  function set(): Result<string[]> {
    if (next() !== "(") return expected("'('");
    const values = new Set<string>();
    do {
      at++;
      values.add(isSymbol(next()) ? "" : take());
    } while (next() === ",");
    if (next() !== ")") return expected("',' or ')'");
    at++;
    return success([...values].sort());
  }
}

/** Returns the fault of a requirement; undefined if it is valid (upstream NewRequirement). */
function faultOf({ key, operator, values }: LabelRequirement): string | undefined {
  const isNumber = (value: string) => /^\d+$/.test(value) && BigInt(value) <= INT64_MAX;
  if ((operator === ">" || operator === "<") && !values.every(isNumber))
    return "for 'Gt', 'Lt' operators, the value must be an integer";
  return [...labelKeyErrors(key), ...values.flatMap(labelValueErrors)][0];
}
