import { describe, expect, it } from "vitest";
import type { TimelineAnswer } from "../../../../shared/protocol/timeline.ts";
import { FLEET_STATES } from "../../../../shared/fleet/state.ts";
import {
  drawnTimeline,
  heldUntil,
  lookOf,
  silences,
  tracksOf,
  uncounted,
  wasBad,
} from "../../../../infra/page/machine/timeline-data.ts";

const at = (text: string) => Date.parse(`2026-11-23T${text}:00Z`);
const band = (track: string, from: string, to: string, status: string) => ({
  track,
  from: `2026-11-23T${from}:00Z`,
  to: `2026-11-23T${to}:00Z`,
  status,
  text: "",
});
const ANSWER: TimelineAnswer = {
  since: "2026-11-23T10:00:00Z",
  until: "2026-11-23T14:00:00Z",
  knownSince: "2026-11-01T10:00:00Z",
  isCut: false,
  bands: [
    band("Ready", "12:00", "14:00", "True"),
    band("state", "10:00", "12:00", "silent"),
    band("state", "12:00", "12:00", "not-ready"),
    band("state", "12:00", "14:00", "ready"),
  ],
  marks: [
    { at: "2026-11-23T13:00:00Z", kind: "reboot", text: "b" },
    { at: "2026-11-23T12:00:00Z", kind: "reboot", text: "a" },
  ],
  samples: { signals: [], at: [], values: {} },
  thresholds: {},
  capacity: {},
};

describe("an answer, ready to be drawn", () => {
  const drawn = drawnTimeline(ANSWER);

  it("is in order, and has nothing that lasts no time", () => {
    expect(drawn.bands.map(({ track, status, fromMs }) => [track, status, fromMs])).toEqual([
      ["state", "silent", at("10:00")],
      ["Ready", "True", at("12:00")],
      ["state", "ready", at("12:00")],
    ]);
    expect(drawn.marks.map(({ text }) => text)).toEqual(["a", "b"]);
    expect(drawn).toMatchObject({ fromMs: at("10:00"), toMs: at("14:00") });
  });

  it("knows what was so when it was asked: that is held", () => {
    const held = heldUntil(drawn, at("14:05"));
    expect(held.toMs).toBe(at("14:05"));
    expect(held.bands.map(({ toMs, isOpen }) => [toMs, isOpen])).toEqual([
      [at("12:00"), false],
      [at("14:05"), true],
      [at("14:05"), true],
    ]);
  });

  it("is not shortened by a browser whose clock is behind", () => {
    expect(heldUntil(drawn, at("13:00"))).toBe(drawn);
  });

  it("says when nothing was heard", () => {
    expect(silences(drawn.bands)).toMatchObject([{ fromMs: at("10:00"), toMs: at("12:00") }]);
  });

  it("says so where nothing is known", () => {
    expect(drawnTimeline({ ...ANSWER, knownSince: null }).knownSinceMs).toBeNull();
  });
});

it("a silence and a block → spans without reports that count", () => {
  const bands = [band("state", "10:00", "11:00", "silent"), band("state", "11:00", "12:00", "blocked")];
  const drawn = drawnTimeline({ ...ANSWER, bands: [...bands, band("Ready", "10:00", "11:00", "silent")] });
  expect(uncounted(drawn.bands)).toEqual([
    { fromMs: at("10:00"), toMs: at("11:00"), look: "silent" },
    { fromMs: at("11:00"), toMs: at("12:00"), look: "held" },
  ]);
});

it.each([
  ["MemoryPressure", "silent", "was True", true],
  ["MemoryPressure", "silent", "was False", false],
  ["Ready", "silent", "was False", true],
  ["Ready", "silent", "", false],
  ["Ready", "False", "was False", false],
])("%s %s, %j → began with a fault: %s", (track, status, text, isBad) => {
  expect(wasBad({ track, status, text, fromMs: 0, toMs: 1, isOpen: false })).toBe(isBad);
});

it.each([
  ["nothing is known", [], ["state", "Ready"]],
  [
    "a row stays where it is",
    ["PIDPressure", "MemoryPressure"],
    ["state", "Ready", "MemoryPressure", "PIDPressure"],
  ],
  [
    "others come after, by name",
    ["RaidDegraded", "DiskPressure", "NetworkUnavailable", "state"],
    ["state", "Ready", "DiskPressure", "NetworkUnavailable", "RaidDegraded"],
  ],
])("tracks: %s", (_, tracks, rows) => {
  expect(tracksOf(tracks.map((track) => ({ track })))).toEqual(rows);
});

describe("how a status looks", () => {
  it.each([
    ["Ready", "True", "good"],
    ["Ready", "False", "bad"],
    ["Ready", "Unknown", "unknown"],
    ["Ready", "silent", "silent"],
    ["MemoryPressure", "True", "bad"],
    ["MemoryPressure", "False", "good"],
    ["RaidDegraded", "True", "bad"],
    ["RaidDegraded", "Unknown", "unknown"],
    ["RaidDegraded", "whatever", "unknown"],
    ["MaintenanceInProgress", "True", "maintained"],
    ["MaintenanceInProgress", "False", "good"],
    ["state", "ready", "good"],
    ["state", "not-ready", "bad"],
    ["state", "silent", "silent"],
    ["state", "cluster-unreachable", "held"],
    ["state", "blocked", "held"],
    ["state", "of a newer Worker", "unknown"],
  ])("%s %s → %s", (track, status, look) => {
    expect(lookOf(track, status)).toBe(look);
  });

  it("each state has one", () => {
    expect(FLEET_STATES.filter((state) => lookOf("state", state) === "unknown")).toEqual([]);
  });
});
