// Defines sets of fields in their JSON form (fieldsV1), and operations on sets. Results share parts with the
// arguments; an operation without an effect returns its first argument. Mirrors structured-merge-diff's
// fieldpath.Set.

/**
 * A set of fields. Keys are path elements: `f:` with a field's name, `k:` with the keys of a list's item, `v:` with
 * the value of a set's item. An element is a member of the set if its value is empty or has the key ".". Other keys
 * in the value are the element's children.
 */
export interface FieldSet {
  [element: string]: FieldSet;
}

/** The key that marks an element as a member although it has children. */
export const self = ".";
export const leaf: FieldSet = {};
export const emptySet: FieldSet = {};

export function isEmptySet(set: FieldSet): boolean {
  for (const _ in set) return false;
  return true;
}

export function isMember(node: FieldSet | undefined): boolean {
  return node !== undefined && (isEmptySet(node) || self in node);
}

function withSelf(children: FieldSet): FieldSet {
  return isEmptySet(children) ? leaf : { [self]: leaf, ...children };
}

/** Returns the set with sorted elements. Upstream's order of fields, keys and values is that of the texts. */
function sorted(set: FieldSet): FieldSet {
  const keys = Object.keys(set);
  if (keys.every((key, index) => index === 0 || keys[index - 1]! < key)) return set;
  return Object.fromEntries(keys.toSorted().map((key) => [key, set[key]!]));
}

function unionNode(left: FieldSet, right: FieldSet): FieldSet {
  if (left === right) return left;
  const either = isMember(left) || isMember(right);
  const children = union(isEmptySet(left) ? emptySet : left, isEmptySet(right) ? emptySet : right);
  return either && !(self in children) ? withSelf(children) : children;
}

/** Returns the fields that are in either set. */
export function union(left: FieldSet, right: FieldSet): FieldSet {
  if (isEmptySet(left)) return right;
  let result = left;
  for (const element in right) {
    const mine = Object.hasOwn(left, element) ? left[element] : undefined;
    const merged = mine && element !== self ? unionNode(mine, right[element]!) : (mine ?? right[element]!);
    if (merged === mine) continue;
    if (result === left) result = { ...left };
    result[element] = merged;
  }
  return result === left ? left : sorted(result);
}

type Subtract = (left: FieldSet, right: FieldSet) => FieldSet | undefined;

/** Subtracts from each child of `left` the child of `right` with the same key. */
function withoutEach(left: FieldSet, right: FieldSet, subtract: Subtract): FieldSet {
  let result = left;
  for (const element in left) {
    if (element === self || !Object.hasOwn(right, element)) continue;
    const mine = left[element]!;
    const remaining = subtract(mine, right[element]!);
    if (remaining === mine) continue;
    if (result === left) result = { ...left };
    if (remaining) result[element] = remaining;
    else delete result[element];
  }
  return result;
}

function differenceNode(left: FieldSet, right: FieldSet): FieldSet | undefined {
  if (isEmptySet(left)) return isMember(right) ? undefined : left;
  const children = withoutEach(left, right, differenceNode);
  if (!(self in children)) return isEmptySet(children) ? undefined : children;
  if (!isMember(right)) return Object.keys(children).length === 1 ? leaf : children;
  const { [self]: _, ...rest } = children;
  return isEmptySet(rest) ? undefined : rest;
}

/** Returns the members of `left` that are not in `right`. A member of `right` removes no members below it. */
export function difference(left: FieldSet, right: FieldSet): FieldSet {
  return withoutEach(left, right, differenceNode);
}

function recursiveDifferenceNode(left: FieldSet, right: FieldSet): FieldSet | undefined {
  if (isMember(right)) return undefined;
  if (isEmptySet(left)) return left;
  const children = withoutEach(left, right, recursiveDifferenceNode);
  if (self in children) return Object.keys(children).length === 1 ? leaf : children;
  return isEmptySet(children) ? undefined : children;
}

/** Returns the members of `left` that are neither in `right` nor below a member of `right`. */
export function recursiveDifference(left: FieldSet, right: FieldSet): FieldSet {
  return withoutEach(left, right, recursiveDifferenceNode);
}

function intersectionNode(left: FieldSet, right: FieldSet): FieldSet | undefined {
  const both = isMember(left) && isMember(right);
  const children = intersection(left, right);
  if (both) return withSelf(children);
  return isEmptySet(children) ? undefined : children;
}

/** Returns the members of both sets. */
export function intersection(left: FieldSet, right: FieldSet): FieldSet {
  const result: FieldSet = {};
  for (const element in left) {
    if (element === self || !Object.hasOwn(right, element)) continue;
    const common = intersectionNode(left[element]!, right[element]!);
    if (common) result[element] = common;
  }
  return result;
}

/** Returns the path of each member, level by level in upstream's order. */
export function memberPaths(set: FieldSet): string[][] {
  const elements = Object.keys(set).filter((element) => element !== self);
  const members = elements.filter((element) => isMember(set[element])).map((element) => [element]);
  const below = elements.flatMap((element) => memberPaths(set[element]!).map((path) => [element, ...path]));
  return [...members, ...below];
}

/** Makes a set of paths of fields, such as ["metadata", "name"]. */
export function fieldSet(...paths: string[][]): FieldSet {
  return paths.reduce((set, path) => {
    const node = path.reduceRight<FieldSet>((below, name) => ({ [`f:${name}`]: below }), leaf);
    return union(set, node);
  }, emptySet);
}

/** Returns the set with the elements of each level sorted. */
export function inOrder(set: FieldSet): FieldSet {
  let result = set;
  for (const element in set) {
    const below = inOrder(set[element]!);
    if (below === set[element]) continue;
    if (result === set) result = { ...set };
    result[element] = below;
  }
  return sorted(result);
}
