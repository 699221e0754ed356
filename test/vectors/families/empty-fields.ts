// Runs the recordings of empty values that Go omits from JSON.
import { nodeSchema } from "../../../shared/kubernetes/patch/node-schema.ts";
import { eventSchema, leaseSchema } from "../../../shared/kubernetes/patch/object-schemas.ts";
import type { PatchSchema, StructSchema } from "../../../shared/kubernetes/patch/schema.ts";
import { wireForm } from "../../../shared/kubernetes/patch/wire-form.ts";
import { isJsonObject } from "../../../shared/kubernetes/json.ts";
import type { Family, Json } from "../family.ts";

const structs = new Map([nodeSchema, eventSchema, leaseSchema].flatMap(structsIn));

function structsIn(schema: PatchSchema): [string, StructSchema][] {
  if (schema.kind === "list") return "item" in schema && schema.item ? structsIn(schema.item) : [];
  if (schema.kind !== "struct") return [];
  return [[schema.name, schema], ...Object.values(schema.fields).flatMap(structsIn)];
}

const emptyFields: Family = {
  run({ type, field, values }: { type: string; field: string; values: Json[] }) {
    const schema = structs.get(type);
    if (!schema?.fields[field]) return `no field ${field} of ${type}`;
    const isSent = (value: Json) => {
      const written = wireForm({ [field]: value }, schema);
      return isJsonObject(written) && field in written;
    };
    return { sent: values.filter(isSent), leftOut: values.filter((value) => !isSent(value)) };
  },
};

export const emptyFieldFamilies: Record<string, Family> = { emptyFields };
