// Whether a Node's capacity and allocatable are possible amounts. Mirrors core/validation.ValidateNodeResources.
import type { JsonObject } from "../../../../shared/kubernetes/json.ts";
import { qualifiedNameErrors } from "./names.ts";
import { fieldsOf, textOf } from "../object.ts";
import type { FieldError } from "../status.ts";
import * as field from "./field-errors.ts";

const integerResources = new Set([
  "pods",
  "resourcequotas",
  "services",
  "replicationcontrollers",
  "secrets",
  "configmaps",
  "persistentvolumeclaims",
  "services.nodeports",
  "services.loadbalancers",
]);

/** helper.IsExtendedResourceName */
function isExtended(name: string): boolean {
  if (!name.includes("/") || name.includes("kubernetes.io/") || name.startsWith("requests.")) return false;
  return qualifiedNameErrors(`requests.${name}`).length === 0;
}

/** Whether a canonical quantity is no whole number: it has thousandths, and is written so. */
function hasFraction(quantity: string): boolean {
  return quantity.endsWith("m") || /e-\d+$/.test(quantity);
}

function validateQuantity(path: string, name: string, quantity: string): FieldError[] {
  const errors = quantity.startsWith("-")
    ? [field.invalid(path, quantity, "must be greater than or equal to 0")]
    : [];
  const isInteger = integerResources.has(name) || isExtended(name);
  if (isInteger && hasFraction(quantity)) errors.push(field.invalid(path, quantity, "must be an integer"));
  return errors;
}

export function validateResources(status: JsonObject): FieldError[] {
  return ["capacity", "allocatable"].flatMap((list) =>
    Object.entries(fieldsOf(status[list])).flatMap(([name, quantity]) =>
      validateQuantity(`status.${list}.${name}`, name, textOf(quantity)),
    ),
  );
}
