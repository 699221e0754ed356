// Tests that a deployment's bounds limit the settings that a machine reports.
import { describe, expect, it, test } from "vitest";
import {
  type BoundedSettings,
  boundsMessage,
  type SettingsBounds,
  withinBounds,
} from "../../../shared/from-report/within-bounds.ts";

const BOUNDS: SettingsBounds = {
  minReportIntervalMs: 5000,
  minStatusPeriodMs: 60_000,
  minLeaseSeconds: 20,
  maxImages: 50,
};
const asking = (more: Partial<BoundedSettings> = {}): BoundedSettings => ({
  nodeStatusUpdateFrequencyMs: 10_000,
  nodeStatusReportFrequencyMs: 300_000,
  nodeLeaseDurationSeconds: 40,
  ...more,
});

describe("within the bounds → nothing changes, and it is the same object", () => {
  test.each<[situation: string, asked: Partial<BoundedSettings>]>([
    ["the kubelet's defaults", {}],
    ["reports at the least interval", { nodeStatusUpdateFrequencyMs: 5000 }],
    ["the least period", { nodeStatusReportFrequencyMs: 60_000 }],
    ["the shortest lease", { nodeLeaseDurationSeconds: 20 }],
    ["the most images", { nodeStatusMaxImages: 50 }],
    ["no images", { nodeStatusMaxImages: 0 }],
  ])("%s", (_, more) => {
    const asked = asking(more);
    const { settings, bounded } = withinBounds(asked, BOUNDS);
    expect(settings).toBe(asked);
    expect(bounded).toEqual([]);
  });
});

describe("just over → the bound", () => {
  test.each<[bounded: string, asked: Partial<BoundedSettings>, active: Partial<BoundedSettings>]>([
    [
      "nodeStatusUpdateFrequency 5s instead of 4.999s",
      { nodeStatusUpdateFrequencyMs: 4999 },
      { nodeStatusUpdateFrequencyMs: 5000 },
    ],
    [
      "nodeStatusReportFrequency 60s instead of 59.999s",
      { nodeStatusReportFrequencyMs: 59_999 },
      { nodeStatusReportFrequencyMs: 60_000 },
    ],
    [
      "nodeLeaseDurationSeconds 20 instead of 19",
      { nodeLeaseDurationSeconds: 19 },
      { nodeLeaseDurationSeconds: 20 },
    ],
    ["nodeStatusMaxImages 50 instead of 51", { nodeStatusMaxImages: 51 }, { nodeStatusMaxImages: 50 }],
    ["nodeStatusMaxImages 50 instead of -1", { nodeStatusMaxImages: -1 }, { nodeStatusMaxImages: 50 }],
  ])("%s", (text, more, active) => {
    const { settings, bounded } = withinBounds(asking(more), BOUNDS);
    expect(settings).toMatchObject(asking(active));
    expect(bounded).toEqual([text]);
  });
});

it("a lease that is shorter than four intervals → four intervals, so that the interval stays", () => {
  const { settings } = withinBounds(asking(), { ...BOUNDS, minReportIntervalMs: 15_000, minLeaseSeconds: 1 });
  expect(settings).toMatchObject({ nodeStatusUpdateFrequencyMs: 15_000, nodeLeaseDurationSeconds: 60 });
});

it("no number of images, and a maximum below the kubelet's default → the maximum", () => {
  const { settings, bounded } = withinBounds(asking(), { ...BOUNDS, maxImages: 10 });
  expect(settings.nodeStatusMaxImages).toBe(10);
  expect(bounded).toEqual(["nodeStatusMaxImages 10 instead of 50"]);
});

test.each<[bounded: string[], message: string | undefined]>([
  [[], undefined],
  [["a 2 instead of 1"], "bounded by its deployment: a 2 instead of 1"],
  [["a 2 instead of 1", "b 4 instead of 3"], "bounded by its deployment: a 2 instead of 1, b 4 instead of 3"],
])("%j → %s", (bounded, message) => {
  expect(boundsMessage(bounded)).toBe(message);
});
