// Tests if a machine of the feed matches a filter, like the search of the fleet index (worker/fleet). The results
// differ in one case: the feed does not contain Node addresses of type Hostname.
import type { FeedMachine } from "../../../shared/fleet/feed-view.ts";
import {
  type ConditionTerm,
  isWordOfState,
  type MachineFilter,
  parseSearchWords,
  type SearchWord,
  type VersionTerm,
} from "../../../shared/fleet/search-filter.ts";
import {
  addressKey,
  type AddressRange,
  neighbourRange,
  versionKey,
} from "../../../shared/fleet/sort-keys.ts";
import { matchesLabels } from "../../../shared/kubernetes/label-match.ts";
import { valueOr } from "../../../shared/result.ts";

export type MachineTest = (machine: FeedMachine) => boolean;

/** Returns a function that tests a machine. `addressOf` returns the address from which a machine reports. */
export function machineTest(
  filter: MachineFilter,
  addressOf: (name: string) => string | undefined,
): MachineTest {
  const { state, phase, condition, selector, version, address, beside, token, unused, text, since, until } =
    filter;
  const tests: MachineTest[] = [];
  if (state) tests.push(({ state: of }) => (state as string[]).includes(of));
  if (phase) tests.push(({ phase: of }) => of !== null && (phase as string[]).includes(of));
  if (address) tests.push(isWithin(address));
  if (beside !== undefined) {
    const range = neighbourRange(addressOf(beside) ?? "");
    tests.push(range ? isWithin(range) : () => false);
  }
  if (token !== undefined) tests.push(({ token: of }) => of === token);
  if (unused !== undefined) tests.push(({ isUsed }) => isUsed !== unused);
  if (since !== undefined) tests.push(({ sinceMs }) => sinceMs > since);
  if (until !== undefined) tests.push(({ sinceMs }) => sinceMs <= until);
  for (const term of version ?? []) tests.push(hasVersion(term));
  for (const term of condition ?? []) tests.push(hasCondition(term));
  if (selector) tests.push(({ labels }) => matchesLabels(selector, labels));
  // The most expensive tests come last, so that they seldom run.
  tests.push(...valueOr(parseSearchWords(text ?? ""), []).map(hasWord));
  return (machine) => tests.every((test) => test(machine));
}

function isWithin({ from, to }: AddressRange): MachineTest {
  return ({ address }) => {
    const key = addressKey(address);
    return key >= from && key <= to;
  };
}

function hasVersion({ operator, version }: VersionTerm): MachineTest {
  if (operator === "=") return ({ versions }) => versions.shim === version;
  if (operator === "!=") return ({ versions }) => versions.shim !== version;
  const bound = versionKey(version);
  return ({ versions }) => {
    const key = versionKey(versions.shim);
    if (key === "") return false;
    if (operator === "<") return key < bound;
    if (operator === "<=") return key <= bound;
    return operator === ">" ? key > bound : key >= bound;
  };
}

function hasCondition({ type, status, isNegated }: ConditionTerm): MachineTest {
  const wanted = type.toLowerCase();
  return ({ conditions }) =>
    Object.entries(conditions).some(([of, is]) => is === status && of.toLowerCase() === wanted) !== isNegated;
}

function hasWord({ text, isPattern }: SearchWord): MachineTest {
  const has = (of: string) => of.toLowerCase().includes(text);
  if (isPattern) {
    const pieces = text.split("*");
    return ({ name, address }) => hasPieces(name, pieces) || hasPieces(address, pieces);
  }
  return ({ name, state, phase, why, address, addresses, labels, versions }) =>
    has(name) ||
    isWordOfState(state, text) ||
    has(why) ||
    has(phase ?? "") ||
    has(address) ||
    addresses.some((each) => has(each.slice(each.indexOf("=") + 1))) ||
    Object.values(labels).some(has) ||
    Object.values(versions).some(has);
}

/** Returns true if the text consists of the pieces, with any text between two of them. Takes linear time. */
function hasPieces(text: string, [first = "", ...more]: readonly string[]): boolean {
  const last = more.pop() ?? "";
  const end = text.length - last.length;
  if (!text.startsWith(first) || !text.endsWith(last)) return false;
  let at = first.length;
  for (const piece of more) {
    const found = text.indexOf(piece, at);
    if (found < 0) return false;
    at = found + piece.length;
  }
  return at <= end;
}
