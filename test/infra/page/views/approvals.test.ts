import { describe, expect, it } from "vitest";
import { assess } from "../../../../infra/page/views/approvals.tsx";

const pinned = {
  thumbprint: "old",
  machineID: "m1",
  systemUUID: "u1",
  address: "192.0.2.1",
  pinnedAt: "2026-01-01T00:00:00Z",
  hasReported: true,
};
const waiting = {
  name: "edge-1",
  token: "t",
  thumbprint: "new",
  machineID: "m1",
  systemUUID: "u1",
  address: "192.0.2.1",
  askedAt: "2026-02-01T00:00:00Z",
  expiresAt: "2026-02-02T00:00:00Z",
  pinned,
};

describe("what both machines say → what that comes to", () => {
  it.each([
    ["all alike", {}, /^Same hardware, same installation/],
    ["another installation", { machineID: "m2" }, /^Same hardware, different installation/],
    ["other hardware", { systemUUID: "u2" }, /^Different hardware, same installation/],
    ["nothing alike", { machineID: "m2", systemUUID: "u2" }, /^Different hardware: both IDs differ/],
    ["one that says nothing", { machineID: "", systemUUID: "" }, /do not show/],
    ["a name that is free by now", { pinned: null }, /^No machine has the name any more/],
    ["one that never reported", { pinned: { ...pinned, hasReported: false } }, /has never reported/],
  ])("%s", (_, change, sentence) => {
    expect(assess({ ...waiting, ...change }).sentence).toMatch(sentence);
  });
});

it.each([
  ["equal", { address: "192.0.2.1" }, "equal"],
  ["different", { address: "192.0.2.9" }, "different"],
  ["not said", { address: "" }, "unknown"],
  ["nobody to compare with", { pinned: null }, "unknown"],
])("an address that is %s", (_, change, likeness) => {
  expect(assess({ ...waiting, ...change }).address).toBe(likeness);
});
