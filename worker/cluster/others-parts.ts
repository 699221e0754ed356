// What others may change of a Node, as a short text that changes with it: neither heartbeats nor our own conditions. Another
// write of ours changes the text as well, and costs a notice that the machine's object passes over.
import { sha256 } from "@noble/hashes/sha2.js";
import { base64url } from "jose";
import { fieldOwners } from "../../shared/kubernetes/managed-fields.ts";
import type { Node, NodeCondition } from "../../shared/kubernetes/types.ts";
import { fieldManagerOf } from "../kube/connect.ts";

/** Enough for a fleet: two different texts are equal once in 2^96. */
const DIGEST_BYTES = 12;

/** `deployment`: whose Node it is. */
export function othersDigest(node: Node, deployment: string): string {
  const { metadata, spec, status } = node;
  const parts = [
    metadata?.uid,
    metadata?.deletionTimestamp,
    sorted(metadata?.labels),
    sorted(metadata?.annotations),
    spec,
    sorted(status?.capacity),
    sorted(status?.allocatable),
    status?.addresses,
    status?.nodeInfo?.kubeletVersion,
    othersConditions(node, deployment),
  ];
  const text = new TextEncoder().encode(JSON.stringify(parts));
  return base64url.encode(sha256(text).subarray(0, DIGEST_BYTES));
}

/** Has nobody else written it? false where the apiserver does not record who has. */
export function isOnlyOurs({ metadata }: Node, deployment: string): boolean {
  const entries = metadata?.managedFields ?? [];
  return entries.length > 0 && entries.every(({ manager }) => manager === fieldManagerOf(deployment));
}

/** Is Ready Unknown, as the node controller has it when a lease has run out? */
export function isGivenUp({ status }: Node): boolean {
  return (status?.conditions ?? []).some((each) => each.type === "Ready" && each.status === "Unknown");
}

/** Does a node controller look after it? Its traces: taints that neither we nor a kubectl have written, and Ready Unknown. */
export function isControlled(node: Node, deployment: string): boolean {
  const owners = fieldOwners(node.metadata, ["f:spec", "f:taints"]);
  // kubectl-taint, kubectl-edit, kubectl-client-side-apply …
  const isController = (owner: string) =>
    owner !== fieldManagerOf(deployment) && !owner.startsWith("kubectl");
  return isGivenUp(node) || owners.some(isController);
}

/** Without their times. All of them where the apiserver does not record who wrote them. */
function othersConditions({ metadata, status }: Node, deployment: string) {
  const conditions = status?.conditions ?? [];
  const entries = metadata?.managedFields ?? [];
  const written = entries
    .filter(({ manager }) => manager !== fieldManagerOf(deployment))
    .map(({ fieldsV1 }) => conditionsIn(fieldsV1));
  const isOthers = ({ type }: NodeCondition) =>
    entries.length === 0 || written.some((keys) => keys.has(`k:{"type":${JSON.stringify(type)}}`));
  return conditions
    .filter(isOthers)
    .map(({ type, status: is, reason, message }) => [type, is, reason, message]);
}

/** By their keys in fieldsV1. */
function conditionsIn(fields: unknown): Set<string> {
  const { "f:status": status } = (fields ?? {}) as { "f:status"?: { "f:conditions"?: object } };
  return new Set(Object.keys(status?.["f:conditions"] ?? {}));
}

/** Maps have no order. */
function sorted(map: Readonly<Record<string, string>> | undefined): [string, string][] {
  return Object.entries(map ?? {}).toSorted(([a], [b]) => (a < b ? -1 : 1));
}
