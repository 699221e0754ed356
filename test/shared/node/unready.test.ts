// Tests the condition that sets Ready to Unknown: when it is made, and which fields it has.
import { expect, test } from "vitest";
import type { NodeCondition } from "../../../shared/kubernetes/types.ts";
import { UNREADY } from "../../../shared/fleet/unready.ts";
import { NODE_STATUS_UNKNOWN, unreadyCondition } from "../../../shared/node/unready.ts";

const NOW_MS = Date.parse("2026-02-03T04:05:06.789Z");
const NOW = "2026-02-03T04:05:06Z";
const KEY_REVOKED = UNREADY.revoked;
const SILENT = { reason: NODE_STATUS_UNKNOWN, message: "silent" };
const ready = (status: string, reason: string): NodeCondition => ({ type: "Ready", status, reason });
const patched = (unready: object, since?: object) => ({
  type: "Ready",
  status: "Unknown",
  ...unready,
  ...since,
});

test.each([
  ["True → Unknown since now", ready("True", "KubeletReady"), KEY_REVOKED, { lastTransitionTime: NOW }],
  ["False → Unknown since now", ready("False", "KubeletNotReady"), KEY_REVOKED, { lastTransitionTime: NOW }],
  ["absent → Unknown since now", undefined, KEY_REVOKED, { lastTransitionTime: NOW }],
  ["Unknown for another reason → its time stays", ready("Unknown", "NodeStatusUnknown"), KEY_REVOKED, {}],
  ["Unknown for this reason → nothing", ready("Unknown", "KeyRevoked"), KEY_REVOKED, null],
  ["Unknown, and the machine is only silent → nothing", ready("Unknown", "KeyRevoked"), SILENT, null],
  [
    "True, and the machine is silent → Unknown since now",
    ready("True", "x"),
    SILENT,
    { lastTransitionTime: NOW },
  ],
])("Ready is %s", (_, before, unready, since) => {
  const node = { status: { conditions: before ? [before] : [] } };
  expect(unreadyCondition(node, unready, NOW_MS)).toEqual(since && patched(unready, since));
});
