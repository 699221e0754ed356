// What a Lease may look like. Mirrors coordination/validation.ValidateLease and ValidateLeaseUpdate.
import { type ApiObject, fieldsOf } from "../object.ts";
import type { FieldError } from "../status.ts";
import * as field from "./field-errors.ts";
import { subdomainName, validateMetadata, validateMetadataUpdate } from "./metadata-rules.ts";

/** ValidateLeaseSpec */
function validateSpec(lease: ApiObject): FieldError[] {
  const { leaseDurationSeconds: duration, leaseTransitions: transitions } = fieldsOf(lease["spec"]);
  const errors: FieldError[] = [];
  if (typeof duration === "number" && duration <= 0) {
    errors.push(field.invalid("spec.leaseDurationSeconds", duration, "must be greater than 0"));
  }
  if (typeof transitions === "number" && transitions < 0) {
    errors.push(field.invalid("spec.leaseTransitions", transitions, "must be greater than or equal to 0"));
  }
  return errors;
}

export function validateLease(lease: ApiObject): FieldError[] {
  return [...validateMetadata(lease.metadata, true, subdomainName), ...validateSpec(lease)];
}

export function validateLeaseUpdate(next: ApiObject, current: ApiObject): FieldError[] {
  return [...validateMetadataUpdate(next.metadata, current.metadata), ...validateSpec(next)];
}
