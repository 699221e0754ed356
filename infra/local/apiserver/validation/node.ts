// What a Node may look like, and how it may change. Mirrors core/validation.ValidateNode and ValidateNodeUpdate.
import { type Json, type JsonObject, jsonEqual } from "../../../../shared/kubernetes/json.ts";
import type { ObjectMeta } from "../../../../shared/kubernetes/types.ts";
import { parseGoJson } from "../go-json.ts";
import { type Cidr, parseCidr } from "../kinds/cidr.ts";
import { labelValueErrors, qualifiedNameErrors, subdomainErrors } from "../names.ts";
import { type ApiObject, fieldsOf, listOf, textOf } from "../object.ts";
import type { FieldError } from "../status.ts";
import * as field from "./field-errors.ts";
import { nameRule, validateCoreMetadata, validateCoreMetadataUpdate } from "./metadata.ts";
import { validateResources } from "./resources.ts";

const taintEffects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

const taintsAnnotation = "scheduler.alpha.kubernetes.io/taints";

/** ValidateTaintsInNodeAnnotations: taints were there once. */
function validateAnnotatedTaints({ annotations }: ObjectMeta): FieldError[] {
  const text = annotations?.[taintsAnnotation] ?? "";
  if (text === "") return [];
  const parsed = parseGoJson(text, false);
  if ("error" in parsed) return [field.invalid("metadata.annotations", taintsAnnotation, parsed.error)];
  return validateTaintList(listOf(parsed.value), `metadata.annotations.${taintsAnnotation}`);
}

/** Upstream looks for taints in the metadata. */
function validateTaints(node: ApiObject): FieldError[] {
  return validateTaintList(listOf(fieldsOf(node["spec"])["taints"]), "metadata.taints");
}

function validateEffect(path: string, effect: string): FieldError[] {
  if (effect === "") return [field.required(path)];
  return taintEffects.includes(effect) ? [] : [field.notSupported(path, effect, taintEffects)];
}

/** Internal types have Go's names and fields in Go's order. */
function printedTaint({ key, value, effect, timeAdded }: JsonObject): JsonObject {
  return { Key: textOf(key), Value: textOf(value), Effect: textOf(effect), TimeAdded: timeAdded ?? null };
}

/** validateNodeTaints */
function validateTaintList(taints: Json[], listPath: string): FieldError[] {
  const seen = new Set<string>();
  return taints.flatMap((taint, index) => {
    const path = `${listPath}[${index}]`;
    const { key: rawKey, value: rawValue, effect: rawEffect } = fieldsOf(taint);
    const [key, value, effect] = [textOf(rawKey), textOf(rawValue), textOf(rawEffect)];
    const valueErrors = labelValueErrors(value);
    const identity = `${effect}/${key}`;
    const errors = [
      ...field.allInvalid(`${path}.key`, key, qualifiedNameErrors(key)),
      ...(valueErrors.length > 0 ? [field.invalid(`${path}.value`, value, valueErrors.join(";"))] : []),
      ...validateEffect(`${path}.effect`, effect),
    ];
    if (seen.has(identity)) {
      const detail = "taints must be unique by key and effect pair";
      errors.push(field.duplicate(path, printedTaint(fieldsOf(taint)), detail));
    }
    seen.add(identity);
    return errors;
  });
}

/** validation.IsValidCIDRForLegacyField, strict. */
function cidrError(cidr: Cidr | undefined): string | undefined {
  if (!cidr) return "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
  if (cidr.hasLeadingZeros) return "must not have leading 0s in IP or prefix length";
  if (cidr.isMapped) return "must not have an IPv4-mapped IPv6 address";
  return cidr.hasHostBits ? "must not have bits set beyond the prefix length" : undefined;
}

/** One of each family (netutils.IsDualStackCIDRStrings). */
function validateFamilies(texts: string[], cidrs: (Cidr | undefined)[]): FieldError[] {
  if (texts.length < 2) return [];
  const path = "spec.podCIDRs";
  const bad = cidrs.indexOf(undefined);
  const isPair = bad === -1 && cidrs.length === 2 && cidrs[0]?.family !== cidrs[1]?.family;
  if (isPair) return [];
  const tooMany = field.invalid(path, texts, "may specify no more than one CIDR for each IP family");
  if (bad === -1) return [tooMany];
  const why = `invalid CIDR[${bad}]: <nil> (invalid CIDR address: ${texts[bad]})`;
  const message = `Internal error: invalid PodCIDRs. failed to check with dual stack with error:${why}`;
  return [{ reason: "InternalError", field: path, message }, tooMany];
}

function validatePodCidrs(texts: string[]): FieldError[] {
  const cidrs = texts.map(parseCidr);
  const errors = cidrs.flatMap((cidr, index) => {
    const error = cidrError(cidr);
    return error === undefined ? [] : [field.invalid(`spec.podCIDRs[${index}]`, texts[index], error)];
  });
  return [...errors, ...validateFamilies(texts, cidrs)];
}

function validateSwap(status: JsonObject): FieldError[] {
  const { capacity } = fieldsOf(fieldsOf(status["nodeInfo"])["swap"]);
  if (typeof capacity !== "number" || capacity > 0) return [];
  return [field.invalid("metadata.nodeSwapStatus.capacity", capacity, "must be greater than zero")];
}

const featurePattern = /^[A-Z][a-zA-Z0-9]*(\/[a-zA-Z][a-zA-Z0-9]*)*$/;
const maxFeatureBytes = 253;

function featureNameError(name: string): string | undefined {
  const start = `invalid feature name ${JSON.stringify(name)}: must`;
  if (Buffer.byteLength(name) > maxFeatureBytes)
    return `${start} be no more than ${maxFeatureBytes} characters`;
  if (featurePattern.test(name)) return undefined;
  return (
    `${start} start with an UpperCamelCase segment, with subsequent segments separated by '/' ` +
    "(e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes"
  );
}

function validateDeclaredFeatures(status: JsonObject): FieldError[] {
  const names = listOf(status["declaredFeatures"]).map(textOf);
  return names.flatMap((name, index) => {
    const path = (offset: number) => `status.declaredFeatures[${index + offset}]`;
    const error = featureNameError(name);
    const errors = error === undefined ? [] : [field.invalid(path(0), name, error)];
    const next = names[index + 1];
    if (next === name) errors.push(field.duplicate(path(1), next));
    else if (next !== undefined && next < name)
      errors.push(field.invalid(path(1), next, "list must be sorted alphabetically"));
    return errors;
  });
}

/** core/validation.ValidateNode */
export function validateNode(node: ApiObject): FieldError[] {
  const status = fieldsOf(node["status"]);
  return [
    ...validateCoreMetadata(node.metadata, false, nameRule(subdomainErrors)),
    ...validateAnnotatedTaints(node.metadata),
    ...validateTaints(node),
    ...validateResources(status),
    ...validateSwap(status),
    ...validateDeclaredFeatures(status),
    ...validatePodCidrs(listOf(fieldsOf(node["spec"])["podCIDRs"]).map(textOf)),
  ];
}

function validateAddresses(status: JsonObject): FieldError[] {
  const seen = new Set<string>();
  return listOf(status["addresses"]).flatMap((item, index) => {
    const { type, address } = fieldsOf(item);
    const printed = { Type: textOf(type), Address: textOf(address) };
    const identity = JSON.stringify(printed);
    const isDuplicate = seen.has(identity);
    seen.add(identity);
    return isDuplicate ? [field.duplicate(`status.addresses[${index}]`, printed)] : [];
  });
}

/** Set once, then never changed. */
function validateFrozen(next: JsonObject, current: JsonObject): FieldError[] {
  const errors: FieldError[] = [];
  const [oldCidrs, newCidrs] = [listOf(current["podCIDRs"]), listOf(next["podCIDRs"])];
  if (oldCidrs.length > 0 && !jsonEqual(oldCidrs, newCidrs)) {
    const differing = oldCidrs.filter((cidr, index) => cidr !== newCidrs[index]).length;
    const times = oldCidrs.length === newCidrs.length ? differing : 1;
    const detail = 'node updates may not change podCIDR except from "" to valid';
    for (let count = 0; count < times; count++) errors.push(field.forbidden("spec.podCIDRs", detail));
  }
  const providerId = textOf(current["providerID"]);
  if (providerId !== "" && providerId !== textOf(next["providerID"])) {
    const detail = 'node updates may not change providerID except from "" to valid';
    errors.push(field.forbidden("spec.providerID", detail));
  }
  return errors;
}

/** ValidateNodeUpdate alone, as a write of the status has it. */
export function validateNodeStatusUpdate(next: ApiObject, current: ApiObject): FieldError[] {
  const status = fieldsOf(next["status"]);
  const [nextSpec, currentSpec] = [fieldsOf(next["spec"]), fieldsOf(current["spec"])];
  return [
    ...validateCoreMetadataUpdate(next.metadata, current.metadata),
    ...validateAnnotatedTaints(next.metadata),
    ...validateResources(status),
    ...validateDeclaredFeatures(status),
    ...validateAddresses(status),
    ...validateFrozen(nextSpec, currentSpec),
    ...validateTaints(next),
    ...(textOf(nextSpec["externalID"]) === textOf(currentSpec["externalID"])
      ? []
      : [field.forbidden("spec.externalID", "may not be updated")]),
  ];
}

export function validateNodeUpdate(next: ApiObject, current: ApiObject): FieldError[] {
  return [...validateNode(next), ...validateNodeStatusUpdate(next, current)];
}
