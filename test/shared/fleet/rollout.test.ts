// Tests which machines get a version, the status of each machine, and when the rollout stops.
import { describe, expect, it } from "vitest";
import {
  reasonToStop,
  type RolloutCounts,
  type RolloutStatus,
  shareOf,
  statusAfter,
  upgradeAnswer,
  type UpgradeSituation,
} from "../../../shared/fleet/rollout.ts";
import type { FleetState } from "../../../shared/fleet/state.ts";

const rollout = { version: "0.2.0", percent: 100, selector: "", mostSilentPercent: 2, atOnce: 2 };
const asking: UpgradeSituation = {
  rollout,
  isStopped: false,
  name: "edge-1",
  version: "0.1.0",
  summary: () => ({ labels: { site: "a" } }),
  isGiven: () => false,
  underway: () => 0,
};

describe("a machine asks", () => {
  it.each<[situation: string, asked: Partial<UpgradeSituation>, refusal: string | null]>([
    ["it is one of all → it is given the version", {}, null],
    ["there is no rollout → refused", { rollout: null }, "no rollout"],
    ["it has the version → refused", { version: "0.2.0" }, "up to date"],
    ["it has a later one → refused: no machine goes back", { version: "0.10.0" }, "up to date"],
    ["it has a candidate of the version → given", { version: "0.2.0-rc.1" }, null],
    ["its version is no SemVer → refused", { version: "dev" }, "up to date"],
    ["the rollout has stopped → refused", { isStopped: true }, "stopped"],
    [
      "it got the version, and the rollout has stopped → refused",
      { isStopped: true, isGiven: () => true },
      "stopped",
    ],
    ["the fleet index does not know it → refused", { summary: () => null }, "not chosen"],
    ["its labels match → given", { rollout: { ...rollout, selector: "site=a" } }, null],
    ["its labels do not match → refused", { rollout: { ...rollout, selector: "site!=a" } }, "not chosen"],
    ["fewer than the limit are under way → given", { underway: () => 1 }, null],
    ["as many as the limit are under way → refused", { underway: () => 2 }, "too many at once"],
    ["it got the version before, and asks again → given", { underway: () => 2, isGiven: () => true }, null],
  ])("%s", (_, asked, refusal) => {
    expect(upgradeAnswer({ ...asking, ...asked })).toEqual(
      refusal === null ? { version: "0.2.0" } : { version: null, why: refusal },
    );
  });

  it.each([1, 10, 50])("%i %% of 10,000 → about that share, with all of a smaller share", (percent) => {
    const names = Array.from({ length: 10_000 }, (_, index) => `edge-${index}`);
    const chosen = (share: number) =>
      names.filter(
        (name) =>
          upgradeAnswer({ ...asking, name, rollout: { ...rollout, percent: share } }).version !== null,
      );
    const [some, more] = [chosen(percent), new Set(chosen(percent * 2))];
    expect(Math.abs(some.length - percent * 100)).toBeLessThan(200);
    expect(some.filter((name) => !more.has(name))).toEqual([]);
  });

  it("another version → it starts with other machines", () => {
    expect(shareOf("edge-1", "0.2.0")).not.toBe(shareOf("edge-1", "0.3.0"));
  });
});

describe("the status of a machine that got 0.2.0", () => {
  it.each<[situation: string, before: RolloutStatus, state: FleetState, shim: string, status: string]>([
    ["it reports with the version before", "underway", "ready", "0.1.0", "underway"],
    ["it reports with the version", "underway", "ready", "0.2.0", "upgraded"],
    ["it reports with a later one", "underway", "ready", "0.3.0", "upgraded"],
    ["it reports, and its Node is not Ready", "underway", "not-ready", "0.2.0", "upgraded"],
    ["it falls silent before it reports with the version", "underway", "silent", "0.1.0", "silent"],
    ["it falls silent after that", "upgraded", "silent", "0.2.0", "silent"],
    ["it comes back", "silent", "ready", "0.2.0", "upgraded"],
    ["an operator has accepted its silence", "accepted", "silent", "0.2.0", "accepted"],
    ["it comes back after that", "accepted", "ready", "0.2.0", "upgraded"],
    ["it reports no version", "underway", "ready", "", "underway"],
  ])("%s", (_, before, state, shim, status) => {
    const versions = { shim, kernel: "", os: "", runtime: "", architecture: "" };
    expect(statusAfter("0.2.0", before, { state, versions, conditions: [] })).toBe(status);
  });

  it.each<[situation: string, before: RolloutStatus, state: FleetState, status: string]>([
    ["it falls silent", "underway", "silent", "underway"],
    ["it reports with the version", "underway", "ready", "upgraded"],
    ["it was silent before the maintenance began", "silent", "silent", "underway"],
  ])("in maintenance: %s", (_, before, state, status) => {
    const versions = { shim: "0.2.0", kernel: "", os: "", runtime: "", architecture: "" };
    const conditions = [{ type: "MaintenanceInProgress", status: "True", reason: "", message: "" }];
    expect(statusAfter("0.2.0", before, { state, versions, conditions } as never)).toBe(status);
  });

  it("it leaves → its status is dropped", () => {
    expect(statusAfter("0.2.0", "upgraded", null)).toBeNull();
  });
});

describe("2 % may be silent", () => {
  it.each<[counts: Partial<RolloutCounts>, stops: boolean]>([
    // One silent machine alone does not stop the rollout, whatever its share.
    [{ silent: 1 }, false],
    [{ silent: 2 }, true],
    [{ upgraded: 48, silent: 1 }, false],
    [{ upgraded: 48, silent: 2 }, true],
    [{ underway: 98, silent: 2 }, false],
    [{ upgraded: 97, silent: 3 }, true],
    [{ upgraded: 10, accepted: 5 }, false],
    [{ upgraded: 100 }, false],
  ])("%j → stops: %s", (counts, stops) => {
    const all = { underway: 0, upgraded: 0, silent: 0, accepted: 0, ...counts };
    expect(reasonToStop(rollout, all, ["edge-1"]) !== null).toBe(stops);
  });

  it("the text has the number, the total, and the names", () => {
    const counts = { underway: 1, upgraded: 7, silent: 2, accepted: 0 };
    const text = "2 of 10 machines that were given 0.2.0 are silent: ";
    expect(reasonToStop(rollout, counts, ["edge-1", "edge-2"])).toBe(`${text}edge-1, edge-2`);
    expect(reasonToStop(rollout, counts, ["edge-1"])).toBe(`${text}edge-1, …`);
  });
});
