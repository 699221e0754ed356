// The options of a write: its query, validated. Mirrors metav1.CreateOptions, UpdateOptions and PatchOptions, and their
// validation in apimachinery/pkg/apis/meta/v1/validation.
import type { Outcome } from "./object.ts";
import * as refuse from "./status.ts";
import { forbidden, notSupported, required } from "./validation/field-errors.ts";
import { validateManagerName } from "./validation/managed-fields.ts";

export interface WriteOptions {
  dryRun: boolean;
  fieldManager: string;
  /** Fields that are unknown or come twice are ignored, warned of, or refused. */
  fieldValidation: "Ignore" | "Warn" | "Strict";
  /** Takes fields from others instead of conflicting with them; only for applying. */
  force: boolean;
}

const directives = ["", "Ignore", "Strict", "Warn"];

/** Bools of a query are true unless they say otherwise (runtime.Convert_Slice_string_To_bool). */
function isTrue(value: string | null): boolean {
  return value !== null && value !== "0" && value.toLowerCase() !== "false";
}

function directiveOf(text: string): WriteOptions["fieldValidation"] {
  return text === "Ignore" || text === "Strict" ? text : "Warn";
}

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
  errors.push(...validateManagerName("fieldManager", fieldManager));
  if (dryRun.some((value) => value !== "All")) errors.push(notSupported("dryRun", dryRun, ["All"]));
  if (!directives.includes(fieldValidation)) {
    errors.push(notSupported("fieldValidation", fieldValidation, directives));
  }
  if (errors.length > 0) return { refused: refuse.invalid("meta.k8s.io", kind, "", errors) };
  return {
    ok: {
      dryRun: dryRun.length > 0,
      fieldManager,
      fieldValidation: directiveOf(fieldValidation),
      force: isTrue(query.get("force")),
    },
  };
}
