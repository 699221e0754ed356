// Tests if a machine of the feed matches a filter, like the search of the fleet index (worker/fleet). The results
// differ in one case: the feed does not contain Node addresses of type Hostname.
import type { FeedMachine } from "../../../shared/fleet/feed-view.ts";
import type { ConditionTerm, MachineFilter, VersionTerm } from "../../../shared/fleet/search-filter.ts";
import {
  addressKey,
  type AddressRange,
  neighbourRange,
  versionKey,
} from "../../../shared/fleet/sort-keys.ts";
import { matchesLabels } from "../../../shared/kubernetes/label-match.ts";

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
  // The most expensive test comes last, so that it seldom runs.
  if (text !== undefined) tests.push(hasText(text.toLowerCase()));
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
  return ({ conditions }) => (Object.hasOwn(conditions, type) && conditions[type] === status) !== isNegated;
}

function hasText(text: string): MachineTest {
  const has = (of: string) => of.toLowerCase().includes(text);
  return ({ name, address, addresses, labels, versions }) =>
    has(name) ||
    has(address) ||
    addresses.some((each) => has(each.slice(each.indexOf("=") + 1))) ||
    Object.values(labels).some(has) ||
    Object.values(versions).some(has);
}
