// Lists patches of every type that the embedded and a real apiserver must answer alike.
import { expect } from "vitest";
import { type Case, created, failure, modified, node, notReady, patched } from "./case.ts";

export const patching: Case[] = [
  {
    situation: "a status patch merges conditions by type, takes labels and ignores spec",
    before: (name) =>
      created(name, {
        status: {
          conditions: [
            { type: "MemoryPressure", status: "False" },
            { type: "Ready", status: "True", reason: "R" },
          ],
        },
      }),
    request: (name) =>
      patched(
        name,
        "strategic",
        {
          metadata: { labels: { a: "b" }, annotations: { c: "d" } },
          spec: { unschedulable: true },
          status: { conditions: [{ type: "Ready", status: "False" }] },
        },
        "/status",
      ),
    outcome: () => ({
      code: 200,
      body: {
        metadata: { labels: { a: "b" }, annotations: { c: "d" } },
        spec: { taints: [notReady] },
        status: {
          conditions: [
            { type: "MemoryPressure", status: "False" },
            { type: "Ready", status: "False", reason: "R" },
          ],
        },
      },
    }),
  },
  {
    situation: "a patch of the Node ignores its status",
    before: created,
    request: (name) =>
      patched(name, "strategic", { spec: { unschedulable: true }, status: { capacity: { cpu: "1" } } }),
    outcome: () => ({
      code: 200,
      body: {
        spec: { unschedulable: true },
        status: expect.not.objectContaining({ capacity: { cpu: "1" } }),
      },
    }),
  },
  {
    situation: "a patch with its uid",
    before: created,
    request: (name, last) =>
      patched(name, "strategic", { metadata: { uid: last.body.metadata.uid } }, "/status"),
    outcome: () => ({ code: 200 }),
  },
  {
    situation: "a patch with another uid",
    before: created,
    request: (name) => patched(name, "strategic", { metadata: { uid: "other" } }, "/status"),
    outcome: (name) => ({
      code: 422,
      body: {
        reason: "Invalid",
        message: `Node "${name}" is invalid: metadata.uid: Invalid value: "other": field is immutable`,
        details: { causes: [{ field: "metadata.uid" }] },
      },
    }),
  },
  {
    situation: "a patch with an older resourceVersion",
    before: created,
    request: (name) => patched(name, "merge", { metadata: { resourceVersion: "1" } }),
    outcome: (name) =>
      failure(409, "Conflict", `Operation cannot be fulfilled on nodes "${name}": ${modified}`),
  },
  {
    situation: "a patch of a Node that is not there",
    request: (name) => patched(name, "strategic", {}),
    outcome: (name) => failure(404, "NotFound", `nodes "${name}" not found`),
  },
  {
    situation: "a patch that renames",
    before: created,
    request: (name) => patched(name, "merge", { metadata: { name: "other" } }),
    outcome: (name) =>
      failure(
        400,
        "BadRequest",
        `the name of the object (other) does not match the name on the URL (${name})`,
      ),
  },
  {
    situation: "an unknown patch type",
    before: created,
    request: (name) => patched(name, "application/foo", {}),
    outcome: () => failure(415, "UnsupportedMediaType", "415: Unsupported Media Type"),
  },
  {
    situation: "an apply patch without a field manager",
    before: created,
    request: (name) => patched(name, "apply", node(name)),
    outcome: () =>
      failure(
        422,
        "Invalid",
        'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch',
      ),
  },
];
