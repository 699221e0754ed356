// Runs the recordings of strategic merge patches.
import type { JsonObject } from "../../../shared/kubernetes/json.ts";
import { nodeSchema } from "../../../shared/kubernetes/patch/node-schema.ts";
import { createNodeStatusPatch } from "../../../shared/kubernetes/patch/node-status-patch.ts";
import { applyStrategicMergePatch } from "../../../infra/local/apiserver/patch/strategic-merge-patch.ts";
import { wireForm } from "../../../shared/kubernetes/patch/wire-form.ts";
import type { Family, Json } from "../family.ts";

/** Compares `applied`, the apiserver's result of the patch, only in cases that have recorded it. */
const patchNodeStatus: Family = {
  run({ oldNode, newNode }) {
    const created = createNodeStatusPatch(oldNode, newNode);
    if (!created.ok) return { error: created.error };
    const old = wireForm(oldNode as JsonObject, nodeSchema);
    const applied = applyStrategicMergePatch(old, created.value, nodeSchema);
    return {
      error: null,
      patch: created.value,
      applied: applied.ok ? applied.value : applied.error,
    };
  },
  comparable: ({ error, patch, applied }: Json, want: Json) => ({
    error,
    patch,
    ...("applied" in want && { applied }),
  }),
};

/** Compares only whether there is an error, because upstream's error texts print Go maps. */
const applyStatusPatch: Family = {
  run({ original, patch }) {
    const applied = applyStrategicMergePatch(original, patch, nodeSchema);
    return !applied.ok ? { result: null, error: applied.error } : { result: applied.value, error: null };
  },
  comparable: ({ result, error }: Json) => ({ result, isError: error !== null }),
};

export const patches: Record<string, Family> = { patchNodeStatus, applyStatusPatch };
