// What a Node may look like, and how it may change. Mirrors core/validation.ValidateNode and ValidateNodeUpdate.
import { type Json, type JsonObject, jsonEqual } from "../../../../shared/kubernetes/json.ts";
import { labelValueErrors, qualifiedNameErrors } from "./names.ts";
import { type ApiObject, fieldsOf, listOf, textOf } from "../object.ts";
import type { FieldError } from "../status.ts";
import * as field from "./field-errors.ts";
import { subdomainName, validateCoreMetadata, validateCoreMetadataUpdate } from "./metadata-rules.ts";
import { validateResources } from "./resource-rules.ts";

const taintEffects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

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

/** core/validation.ValidateNode */
export function validateNode(node: ApiObject): FieldError[] {
  const status = fieldsOf(node["status"]);
  return [
    ...validateCoreMetadata(node.metadata, false, subdomainName),
    ...validateTaints(node),
    ...validateResources(status),
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

/** ValidateNodeUpdate */
function validateChange(next: ApiObject, current: ApiObject): FieldError[] {
  const status = fieldsOf(next["status"]);
  return [
    ...validateCoreMetadataUpdate(next.metadata, current.metadata),
    ...validateResources(status),
    ...validateAddresses(status),
    ...validateFrozen(fieldsOf(next["spec"]), fieldsOf(current["spec"])),
    ...validateTaints(next),
  ];
}

export function validateNodeUpdate(next: ApiObject, current: ApiObject): FieldError[] {
  return [...validateNode(next), ...validateChange(next, current)];
}
