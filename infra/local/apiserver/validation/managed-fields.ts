// What a client may send as metadata.managedFields, and as the name of a field manager. Mirrors
// apimachinery/pkg/apis/meta/v1/validation.
import type { ObjectMeta } from "../../../../shared/kubernetes/types.ts";
import { isPrintable } from "../../../../shared/go/strings.ts";
import type { FieldError } from "../status.ts";
import * as field from "./field-errors.ts";

const maxManagerBytes = 128;
const maxSubresourceBytes = 256;

/** Go's %#U of what cannot be printed. */
function codePointText(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}

/** ValidateFieldManager: printable and not too long. */
export function validateManagerName(path: string, manager: string): FieldError[] {
  const errors = Buffer.byteLength(manager) > maxManagerBytes ? [field.tooLong(path, maxManagerBytes)] : [];
  let position = 0;
  for (const character of manager) {
    if (!isPrintable(character)) {
      const detail = `invalid character ${codePointText(character)} (at position ${position})`;
      errors.push(field.invalid(path, manager, detail));
    }
    position += Buffer.byteLength(character);
  }
  return errors;
}

/** ValidateManagedFields */
export function validateManagedFields({ managedFields = [] }: ObjectMeta): FieldError[] {
  return managedFields.flatMap(
    ({ operation = "", fieldsType = "", manager = "", subresource = "" }, index) => {
      const path = `metadata.managedFields[${index}]`;
      const isKnown = operation === "Apply" || operation === "Update";
      return [
        ...(isKnown ? [] : [field.invalid(`${path}.operation`, operation, "must be `Apply` or `Update`")]),
        ...(fieldsType === "" || fieldsType === "FieldsV1"
          ? []
          : [field.invalid(`${path}.fieldsType`, fieldsType, "must be `FieldsV1`")]),
        ...validateManagerName(`${path}.manager`, manager),
        ...(Buffer.byteLength(subresource) > maxSubresourceBytes
          ? [field.tooLong(`${path}.subresource`, maxSubresourceBytes)]
          : []),
      ];
    },
  );
}
