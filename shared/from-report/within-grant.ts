// Keeps a Node within the grant of the machine's join token. Compares the decided Node with the earlier one, so
// that each source of a value is covered: settings, drop-ins, device plugins, a cloud, the host's name. The token's
// own values and those of other writers stay.
import { contains, parseCidr } from "../kubernetes/cidr.ts";
import { canonicalName, isAddressInDisguise } from "../kubernetes/dns-names.ts";
import {
  type Ip,
  isLinkLocalUnicast,
  isLoopback,
  isMulticast,
  isUnspecified,
  parseIpSloppy,
} from "../kubernetes/ip.ts";
import { ownValue } from "../kubernetes/json.ts";
import { HOSTNAME_LABEL } from "../kubernetes/labels.ts";
import { isLifecycle } from "../kubernetes/lifecycle-conditions.ts";
import { fieldOwners, otherOwner } from "../kubernetes/managed-fields.ts";
import { isExtendedResourceName } from "../kubernetes/resource-names.ts";
import { isRoleLabel } from "../kubernetes/roles.ts";
import type { Node, ResourceList } from "../kubernetes/types.ts";
import { PROVIDED_NODE_IP_ANNOTATION } from "../setters/provided-node-ip.ts";
import { FACTS_ONLY_TAINT, NO_LOAD_BALANCER_LABEL } from "../node/ownership.ts";
import { isSameTaint, UNSCHEDULABLE_TAINT } from "../node/initial-node.ts";
import type { Facts } from "../protocol/facts.ts";
import { DROP_INS_CONDITION, isRollcallLabel } from "../protocol/drop-ins.ts";
import { isInventoryLabel } from "../protocol/inventory.ts";
import type { Grant } from "../protocol/join-tokens.ts";
import { FACT_CONDITIONS_ANNOTATION } from "../setters/fact-conditions.ts";
import { FACT_LABELS_ANNOTATION, NODE_LABELS_ANNOTATION } from "../setters/fact-labels.ts";
import { FACT_RESOURCES_ANNOTATION } from "../setters/fact-resources.ts";
import { FEATURE_PREFIX, featureLabels } from "./feature-labels.ts";
import { listedIn, unlist } from "../setters/listed.ts";
import type { DraftNode } from "../setters/setter.ts";

/** A machine and the grant of its join token. */
export interface GrantHolder {
  /** The Node's name. */
  name: string;
  grant: Grant;
  /** This deployment's field manager. A field with another owner belongs to another writer. */
  fieldManager: string;
  /** Returns true if another Node may have this name. Typically otherNodeNames of the machine's records. */
  isOtherNode: (name: string) => boolean;
}

/** The labels that the platform and rollcall itself determine. No grant limits these labels. */
const OWN_LABELS: ReadonlySet<string> = new Set([
  "kubernetes.io/os",
  "kubernetes.io/arch",
  "beta.kubernetes.io/os",
  "beta.kubernetes.io/arch",
  NO_LOAD_BALANCER_LABEL,
]);

/** Restores the parts of `node` that exceed the grant as in `before`. Returns their names: `label example.com/rack`. */
export function withinGrant(
  before: Node | undefined,
  node: DraftNode,
  facts: Facts,
  holder: GrantHolder,
): string[] {
  return [
    ...labelsWithin(before, node, facts, holder),
    ...(before ? [] : [...taintsWithin(node, holder), ...providerIDWithin(node, holder)]),
    ...conditionsWithin(before, node, facts, holder),
    ...resourcesWithin(before, node, facts, holder),
    ...addressesWithin(before, node, holder),
  ];
}

/** Returns true if the grant allows the condition. A lifecycle condition must be named, because it silences alerts. */
export function mayReport({ mayCondition }: Pick<Grant, "mayCondition">, type: string): boolean {
  return isLifecycle(type) ? (mayCondition?.includes(type) ?? false) : isAllowed(mayCondition, type);
}

/** Returns true if a pattern matches the key, type or ID, or no patterns are given. A pattern may end with `*`. */
export function isAllowed(patterns: readonly string[] | undefined, key: string): boolean {
  if (patterns === undefined) return true;
  return patterns.some((pattern) =>
    pattern.endsWith("*") ? key.startsWith(pattern.slice(0, -1)) : key === pattern,
  );
}

/** Names the part for people, and another writer if one owns it. */
function named(part: string, owner: string | null): string {
  return owner === null ? part : `${part} (as ${owner} has set it)`;
}

function labelsWithin(
  before: Node | undefined,
  node: DraftNode,
  { features }: Facts,
  holder: GrantHolder,
): string[] {
  const { grant, name } = holder;
  const [labelsBefore, labelsNow] = [before?.metadata?.labels ?? {}, node.metadata.labels ?? {}];
  if (labelsBefore === labelsNow) return [];
  const ofToken = (key: string) => ownValue(grant.labels ?? {}, key);
  const labels = { ...labelsNow };
  const left: string[] = [];
  let isBeyond = false;
  for (const key of new Set([...Object.keys(labelsBefore), ...Object.keys(labelsNow)])) {
    const [was, is] = [ownValue(labelsBefore, key), ownValue(labelsNow, key)];
    if (was === is || OWN_LABELS.has(key)) continue;
    const given = before ? was : ofToken(key);
    const kept = given ?? (key === HOSTNAME_LABEL ? name : undefined);
    if (is === kept || mayChange(key, is)) continue;
    isBeyond = true;
    // If the token now gives a label that the machine no longer reports, the label does not count as removed.
    if (is !== undefined || ofToken(key) === undefined) left.push(`label ${key}`);
    if (kept === undefined) delete labels[key];
    else labels[key] = kept;
  }
  // A new Node has all labels of its token, even if a fact had another value for one of them.
  const given = before ? {} : grant.labels;
  if (before && !isBeyond) return [];
  node.metadata.labels = { ...labels, ...given };
  const keys = left.map((text) => text.slice("label ".length));
  for (const list of [FACT_LABELS_ANNOTATION, NODE_LABELS_ANNOTATION]) unlist(node, list, keys);
  return left;

  function mayChange(key: string, value: string | undefined): boolean {
    if (ofToken(key) !== undefined) return false;
    if (isReserved(key)) return false;
    if (key === HOSTNAME_LABEL) return isAllowed(grant.mayLabel, key);
    return value === undefined || isAllowed(grant.mayLabel, key) || isFeature(key, value);
  }

  /** Returns true if the grant allows the feature, and the label follows from the machine's features. */
  function isFeature(key: string, value: string): boolean {
    const { mayFeature = [] } = grant;
    if (!features || !key.startsWith(FEATURE_PREFIX)) return false;
    return (
      isAllowed(mayFeature, key.slice(FEATURE_PREFIX.length)) &&
      ownValue(featureLabels(features), key) === value
    );
  }
}

/** Returns true for roles and rollcall's own labels, which only a deployment or a join token can give. */
function isReserved(key: string): boolean {
  return isRoleLabel(key) || (isRollcallLabel(key) && !isInventoryLabel(key));
}

function taintsWithin(node: DraftNode, { grant }: GrantHolder): string[] {
  const taints = node.spec.taints ?? [];
  const isGiven = (taint: (typeof taints)[number]) =>
    taint.key === FACTS_ONLY_TAINT.key ||
    // A machine may cordon its own Node at registration, and the taint follows from the cordon.
    (node.spec.unschedulable === true && isSameTaint(taint, UNSCHEDULABLE_TAINT)) ||
    (grant.taints ?? []).some((given) => isSameTaint(given, taint));
  const left = taints.filter((taint) => !isGiven(taint) && !isAllowed(grant.mayTaint, taint.key));
  if (left.length > 0) node.spec.taints = taints.filter((taint) => !left.includes(taint));
  return left.map(({ key }) => `taint ${key}`);
}

function providerIDWithin(node: DraftNode, { grant }: GrantHolder): string[] {
  const { providerID } = node.spec;
  if (providerID === undefined || isAllowed(grant.mayCloud, providerID)) return [];
  delete node.spec.providerID;
  return [`provider ID ${providerID}`];
}

/** Restores the conditions of drop-ins that the grant does not allow. No grant limits the other conditions. */
function conditionsWithin(
  before: Node | undefined,
  node: DraftNode,
  { dropIns }: Facts,
  { grant, fieldManager }: GrantHolder,
): string[] {
  const listed = listedIn(before, FACT_CONDITIONS_ANNOTATION);
  const types = [...(dropIns?.conditions ?? []).map(({ type }) => type), ...listed];
  const was = before?.status?.conditions ?? [];
  const pathOf = (type: string) => ["f:status", "f:conditions", `k:{"type":${JSON.stringify(type)}}`];
  const ownerOf = (type: string) => otherOwner(before?.metadata, pathOf(type), fieldManager);
  // The field owner is checked too, because another writer may have removed the annotation that lists the conditions.
  const isOurs = (type: string) =>
    listed.includes(type) || fieldOwners(before?.metadata, pathOf(type)).includes(fieldManager);
  const mayChange = (type: string) => {
    if (type === DROP_INS_CONDITION) return true;
    const exists = was.some((condition) => condition.type === type);
    if (exists && !isOurs(type)) return false;
    if (ownerOf(type) !== null) return false;
    return mayReport(grant, type);
  };
  const left = [...new Set(types)].filter((type) => !mayChange(type));
  if (left.length === 0) return [];
  const conditions = (node.status.conditions ?? []).filter(({ type }) => !left.includes(type));
  const kept = was.filter(({ type }) => left.includes(type) && !isGone(type));
  // Conditions are restored at the front, so that Ready stays the last one.
  node.status.conditions = [...kept, ...conditions];
  unlist(node, FACT_CONDITIONS_ANNOTATION, left);
  return left.map((type) => named(`condition ${type}`, ownerOf(type)));

  /** Returns true if rollcall added a condition that the grant no longer allows, to be removed instead of restored. */
  function isGone(type: string): boolean {
    return listed.includes(type) && !mayReport(grant, type);
  }
}

/** Restores the extended resources that the grant does not allow. Other resources are the machine's hardware. */
function resourcesWithin(
  before: Node | undefined,
  node: DraftNode,
  { dropIns, devices }: Facts,
  { grant, fieldManager }: GrantHolder,
): string[] {
  const listed = listedIn(before, FACT_RESOURCES_ANNOTATION);
  const fromPlugins = [...Object.keys(devices?.capacity ?? {}), ...(devices?.removed ?? [])];
  const fromDropIns = [...Object.keys(dropIns?.resources ?? {}), ...listed];
  const ownerOf = (name: string) =>
    fromPlugins.includes(name)
      ? null
      : otherOwner(before?.metadata, ["f:status", "f:capacity", `f:${name}`], fieldManager);
  const left = [...new Set([...fromPlugins, ...fromDropIns, ...changedResources(before, node)])].filter(
    (name) => ownerOf(name) !== null || (!isAllowed(grant.mayResource, name) && !listed.includes(name)),
  );
  if (left.length === 0) return [];
  for (const list of ["capacity", "allocatable"] as const) {
    const resources: ResourceList = { ...node.status[list] };
    for (const name of left) {
      const was = before?.status?.[list]?.[name] ?? before?.status?.capacity?.[name];
      if (was === undefined) delete resources[name];
      else resources[name] = was;
    }
    node.status[list] = resources;
  }
  unlist(node, FACT_RESOURCES_ANNOTATION, left);
  return left.map((name) => named(`resource ${name}`, ownerOf(name)));
}

/** Returns the extended resources whose capacity a registration has changed. */
function changedResources(before: Node | undefined, node: DraftNode): string[] {
  const was = before?.status?.capacity ?? {};
  const changed = Object.keys(was).filter((name) => node.status.capacity?.[name] !== was[name]);
  return changed.filter(isExtendedResourceName);
}

/** Returns the DNS names among the machine's addresses for which `isOtherNode` has to know the answer. */
export function namesToCheck(
  { settings, cloud }: Facts,
  { grant, name }: Omit<GrantHolder, "isOtherNode">,
): string[] {
  if (grant.mayAddress !== undefined) return [];
  const all = [settings.hostname, ...(cloud?.addresses ?? []).map(({ address }) => address)];
  const names = all
    .filter((text) => parseIpSloppy(text) === null && isQualified(text, name))
    .map(canonicalName);
  return [...new Set(names)];
}

/** Returns true for a name of several labels that is not the Node's own `name` and hides no IP address. */
function isQualified(text: string, name: string): boolean {
  return text !== name && canonicalName(text).includes(".") && !isAddressInDisguise(text);
}

function isNameWithin(text: string, { grant, name, isOtherNode }: GrantHolder): boolean {
  if (text === name) return true;
  const { mayAddress, exactNames } = grant;
  if (mayAddress === undefined) return isQualified(text, name) && !isOtherNode(canonicalName(text));
  if (mayAddress.some((suffix) => suffix.startsWith(".") && text === `${name}${suffix}`)) return true;
  // A token of an earlier version has no suffixes.
  return exactNames !== true && text.startsWith(`${name}.`) && !isAddressInDisguise(text);
}

function addressesWithin(before: Node | undefined, node: DraftNode, holder: GrantHolder): string[] {
  const ranges = holder.grant.mayAddress?.flatMap((text) => parseCidr(text) ?? []);
  const isWithin = (text: string) => {
    const ip = parseIpSloppy(text);
    if (ip === null) return isNameWithin(text, holder);
    return ranges === undefined ? isOrdinary(ip) : ranges.some((range) => contains(range, ip));
  };
  const addresses = node.status.addresses ?? [];
  const pathOf = (type: string) => ["f:status", "f:addresses", `k:{"type":${JSON.stringify(type)}}`];
  // A cloud's controller may have set an address, which stays.
  const isOthers = ({ type, address }: (typeof addresses)[number]) =>
    (before?.status?.addresses ?? []).some((was) => was.type === type && was.address === address) &&
    otherOwner(before?.metadata, pathOf(type), holder.fieldManager) !== null;
  const beyond = addresses.filter((each) => !isWithin(each.address) && !isOthers(each));
  if (beyond.length > 0) node.status.addresses = addresses.filter((each) => !beyond.includes(each));
  const { [PROVIDED_NODE_IP_ANNOTATION]: provided, ...annotations } = node.metadata.annotations ?? {};
  const isProvidedWithin = (provided ?? "").split(",").every((ip) => ip === "" || isWithin(ip));
  if (!isProvidedWithin) node.metadata.annotations = annotations;
  return [...new Set(beyond.map(({ address }) => `address ${address}`))];
}

/** Returns true if a machine can have the address, so that the apiserver's proxy does not reach its own host. */
function isOrdinary(ip: Ip): boolean {
  return !isLoopback(ip) && !isLinkLocalUnicast(ip) && !isMulticast(ip) && !isUnspecified(ip);
}
