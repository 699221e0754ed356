// Parses ACCESS_OPERATORS: the roles and machines of people and services who come through Cloudflare Access.
import { parseOperatorSelector } from "../fleet/search-filter.ts";
import type { LabelRequirement } from "../kubernetes/label-selector.ts";
import { INCREASING, type ReadingRole } from "./administration-api.ts";
import { OPERATOR_LIMITS } from "./limits.ts";
import { failure, type Result, success } from "../result.ts";

/** What an operator of Access may do. */
export interface AccessRights {
  role: ReadingRole;
  /** The machines for which the role is, and the text of this selector; absent for all machines. */
  selector?: LabelRequirement[];
  selectorText?: string;
}

/** The entry for all who have no entry of their own. */
const OTHERS = "*";
/** The identity (a mail address or a client ID), the role, and the selector. */
const ENTRY = /^([^\s,;]+)\s+(\w+)(?:\s+(\S.*))?$/;

/**
 * Returns the rights of each identity of the text: `ann@example.com admin; * view site=berlin`. Fails if one entry is
 * invalid. Its person would otherwise count as one without an entry, who may have more rights.
 */
export function parseAccessOperators(text: string): Result<Map<string, AccessRights>> {
  const found = new Map<string, AccessRights>();
  const entries = text.split(/[;\n]/).map((each) => each.trim());
  for (const entry of entries.filter((each) => each !== "")) {
    const [, who = "", given, selectorText] = ENTRY.exec(entry) ?? [];
    const role = INCREASING.find((each) => each === given);
    if (role === undefined)
      return failure(`expected IDENTITY ROLE SELECTOR, and the role ${INCREASING.join(", ")}`);
    const name = foldedIdentity(who);
    if (found.has(name)) return failure("it has an identity twice");
    if (selectorText === undefined) found.set(name, { role });
    else {
      const selector = parseOperatorSelector(selectorText);
      if (!selector.ok) return failure(`a selector ${selector.error}`);
      if (selectorText.length > OPERATOR_LIMITS.selectorLength) return failure("a selector is too long");
      found.set(name, { role, selector: selector.value, selectorText });
    }
  }
  return success(found);
}

/** Returns the rights of an identity of Access; null if `operators` is invalid, and the identity is no admin. */
export function accessRights(who: string, admins: string, operators: string): AccessRights | null {
  const name = foldedIdentity(who);
  const parsed = parseAccessOperators(operators);
  const isAdmin = admins.split(/\s+/).map(foldedIdentity).includes(name);
  if (!parsed.ok) return isAdmin ? { role: "admin" } : null;
  const own = name === OTHERS ? undefined : parsed.value.get(name);
  return own ?? (isAdmin ? { role: "admin" } : (parsed.value.get(OTHERS) ?? { role: "view" }));
}

/**
 * Returns the text that equal identities share. The case of ASCII letters does not matter in mail addresses. Other
 * identities, and other letters, must be equal.
 */
function foldedIdentity(name: string): string {
  return name.includes("@") ? name.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase()) : name;
}
