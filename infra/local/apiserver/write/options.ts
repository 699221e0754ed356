// The options of a write: its query, validated. Mirrors metav1.CreateOptions, UpdateOptions and PatchOptions.
import { failure, success } from "../../../../shared/result.ts";
import { forbidden, notSupported, required, tooLong } from "../validation/field-errors.ts";
import type { Outcome } from "../object.ts";
import { isSet } from "../request-info.ts";
import * as refuse from "../status.ts";

export interface WriteOptions {
  dryRun: boolean;
  fieldManager: string;
  /** Unknown fields are dropped, or refused. Warnings, upstream's default, are not given. */
  fieldValidation: "Ignore" | "Strict";
  /** Takes fields from others instead of conflicting with them; only for applying. */
  force: boolean;
}

const directives = ["", "Ignore", "Strict", "Warn"];
const maxManagerBytes = 128;

/** `kind` is what errors call the options; `isApply` is of patches. */
export function writeOptions(
  query: URLSearchParams,
  kind: "CreateOptions" | "UpdateOptions" | "PatchOptions",
  isApply = false,
): Outcome<WriteOptions> {
  const fieldManager = query.get("fieldManager") ?? "";
  const fieldValidation = query.get("fieldValidation") ?? "";
  const dryRun = query.getAll("dryRun");
  const errors: refuse.FieldError[] = [];
  if (isApply && fieldManager === "") {
    errors.push(required("fieldManager", "is required for apply patch"));
  }
  if (kind === "PatchOptions" && !isApply && query.has("force")) {
    errors.push(forbidden("force", "may not be specified for non-apply patch"));
  }
  if (Buffer.byteLength(fieldManager) > maxManagerBytes) {
    errors.push(tooLong("fieldManager", maxManagerBytes));
  }
  if (dryRun.some((value) => value !== "All")) errors.push(notSupported("dryRun", dryRun, ["All"]));
  if (!directives.includes(fieldValidation)) {
    errors.push(notSupported("fieldValidation", fieldValidation, directives));
  }
  if (errors.length > 0) return failure(refuse.invalid("meta.k8s.io", kind, "", errors));
  return success({
    dryRun: dryRun.length > 0,
    fieldManager,
    fieldValidation: fieldValidation === "Strict" ? "Strict" : "Ignore",
    force: isSet(query.get("force")),
  });
}
