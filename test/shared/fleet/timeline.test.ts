// Tests how a history becomes bands and marks: by tables of lines with their bands, and by properties of any history.
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  byOthers,
  departures,
  type Return,
  returnText,
  silenceText,
  transitions,
} from "../../../shared/fleet/history-lines.ts";
import { FLEET_STATES, stateChangeText } from "../../../shared/fleet/state.ts";
import {
  FULL_DAY,
  MAX_TRACKS,
  SHIM_STARTED,
  type TimelineBand,
  type TimelineLine,
  timelineOf,
} from "../../../shared/fleet/timeline.ts";

/** The day of all times in the tables, which are minutes of this day. */
const DAY_MS = Date.UTC(2026, 0, 1);
const minute = (at: number) => DAY_MS + at * 60_000;
const line = (at: number, kind: string, text: string): TimelineLine => ({ atMs: minute(at), kind, text });

const condition = (at: number, type: string, status: string, was?: string, message = "m") =>
  line(
    at,
    "condition",
    transitions(was === undefined ? [] : [{ type, status: was }], [
      { type, status, reason: "R", message },
    ])[0]!,
  );
const state = (at: number, to: (typeof FLEET_STATES)[number], from: typeof to | null = null) =>
  line(at, "state", stateChangeText(from, to));
const silent = (at: number, since: number) =>
  line(at, "silence", silenceText({ sinceMs: minute(since), said: "Ready True: m" }));
const ran = (boot: string, process: string) => ({ boot, process });
const back = (at: number, since: number, after: Return["after"] = ran("b", "p")) =>
  line(
    at,
    "silence",
    returnText({ before: ran("b", "p"), after, silentSinceMs: minute(since), nowMs: minute(at) }),
  );
const started = (at: number) => line(at, "registration", SHIM_STARTED);

/** Writes a band as `state 0–10 ready`, with its text if the test wants it. */
const shown = ({ track, fromMs, toMs, status }: TimelineBand) =>
  `${track} ${(fromMs - DAY_MS) / 60_000}–${(toMs - DAY_MS) / 60_000} ${status}`;

function read(lines: readonly TimelineLine[], since = 0, until = 100, enrolled = -1000) {
  const range = { sinceMs: minute(since), untilMs: minute(until) };
  const { bands, marks } = timelineOf(lines, range, minute(enrolled));
  return {
    bands: bands.map(shown).toSorted(),
    marks: marks.map(({ atMs, text }) => `${(atMs - DAY_MS) / 60_000} ${text}`),
    texts: Object.fromEntries(bands.map((band) => [shown(band), band.text])),
  };
}

const READY = [state(0, "ready"), condition(0, "Ready", "True")];
const SILENT = [...READY, silent(15, 10), state(15, "silent", "ready")];

describe("bands, from when to when", () => {
  it.each<[string, readonly TimelineLine[], string[]]>([
    ["no lines → no bands", [], []],
    ["a state and a condition → up to the end", READY, ["Ready 0–100 True", "state 0–100 ready"]],
    ["first line in the middle → no band before it", [condition(40, "Ready", "True")], ["Ready 40–100 True"]],
    [
      "a pressure that comes and goes → a band each",
      [
        condition(0, "MemoryPressure", "False"),
        condition(20, "MemoryPressure", "True", "False"),
        condition(30, "MemoryPressure", "False", "True"),
      ],
      ["MemoryPressure 0–20 False", "MemoryPressure 20–30 True", "MemoryPressure 30–100 False"],
    ],
    [
      "maintenance, while the machine is silent, back after a restart, and its shim starts → one band",
      [
        condition(0, "MaintenanceInProgress", "True"),
        silent(15, 10),
        back(20, 10, ran("b2", "p2")),
        started(21),
        condition(22, "MaintenanceInProgress", "True"),
        condition(40, "MaintenanceInProgress", "False", "True"),
      ],
      ["MaintenanceInProgress 0–40 True", "MaintenanceInProgress 40–100 False", "state 10–20 silent"],
    ],
    [
      "a drain by another writer → a band",
      [line(10, "condition", byOthers("DrainInProgress: True (AdminRequested: )", null))],
      ["DrainInProgress 10–100 True"],
    ],
    [
      "before the range, and within → the status at the range's start",
      [condition(-50, "Ready", "False"), condition(10, "Ready", "True", "False")],
      ["Ready 0–10 False", "Ready 10–100 True"],
    ],
    [
      "after the range → left out",
      [condition(0, "Ready", "True"), condition(101, "Ready", "False", "True")],
      ["Ready 0–100 True"],
    ],
    [
      "silent → since the time in the line, in every track",
      SILENT,
      ["Ready 0–10 True", "Ready 10–100 silent", "state 0–10 ready", "state 10–100 silent"],
    ],
    [
      "silent before its Node was noticed as not Ready → silent",
      [...READY, state(12, "not-ready", "ready"), silent(15, 10), state(15, "silent", "not-ready")],
      ["Ready 0–10 True", "Ready 10–100 silent", "state 0–10 ready", "state 10–100 silent"],
    ],
    [
      "silent since before the range → from the range's start",
      [condition(-60, "Ready", "True"), silent(-30, -40), state(-30, "silent", "ready")],
      ["Ready 0–100 silent", "state 0–100 silent"],
    ],
    [
      "back, in the same process → as before, although no line repeats it",
      [...SILENT, back(30, 10), state(31, "ready", "silent")],
      [
        "Ready 0–10 True",
        "Ready 10–30 silent",
        "Ready 30–100 True",
        "state 0–10 ready",
        "state 10–30 silent",
        "state 30–100 ready",
      ],
    ],
    [
      "back after it was down → the new process's conditions",
      [
        ...SILENT,
        back(30, 10, ran("b2", "p2")),
        started(31),
        condition(32, "Ready", "False"),
        state(32, "not-ready", "silent"),
      ],
      [
        "Ready 0–10 True",
        "Ready 10–30 silent",
        "Ready 32–100 False",
        "state 0–10 ready",
        "state 10–30 silent",
        "state 30–100 not-ready",
      ],
    ],
    [
      "back, without a new state yet → the silence has ended",
      [...SILENT, back(30, 10)],
      [
        "Ready 0–10 True",
        "Ready 10–30 silent",
        "Ready 30–100 True",
        "state 0–10 ready",
        "state 10–30 silent",
      ],
    ],
    [
      "silent by its state alone → from that time on",
      [...READY, state(15, "silent", "ready"), state(30, "ready", "silent")],
      [
        "Ready 0–15 True",
        "Ready 15–30 silent",
        "Ready 30–100 True",
        "state 0–15 ready",
        "state 15–30 silent",
        "state 30–100 ready",
      ],
    ],
    [
      "silent without a start time → since it was noticed",
      [...READY, line(15, "silence", silenceText({ sinceMs: 0, said: "x" }))],
      ["Ready 0–15 True", "Ready 15–100 silent", "state 0–15 ready", "state 15–100 silent"],
    ],
    [
      "silent since a time at which it still reported → since its last report",
      [...READY, condition(12, "Ready", "False", "True"), silent(15, 10)],
      ["Ready 0–12 True", "Ready 12–100 silent", "state 0–12 ready", "state 12–100 silent"],
    ],
    [
      "a change while it is silent → shown from its return on",
      [...SILENT, condition(20, "Ready", "False", "True"), back(30, 10)],
      [
        "Ready 0–10 True",
        "Ready 10–30 silent",
        "Ready 30–100 False",
        "state 0–10 ready",
        "state 10–30 silent",
      ],
    ],
    [
      "a condition that was removed → its band ends",
      [
        condition(0, "RaidDegraded", "True"),
        line(20, "condition", departures([{ type: "RaidDegraded", status: "True" }], [])[0]!),
      ],
      ["RaidDegraded 0–20 True"],
    ],
    [
      "a condition that a new process of the shim lacks → until the first report of that process",
      [
        condition(0, "RaidDegraded", "True"),
        condition(0, "Ready", "True"),
        started(20),
        condition(21, "Ready", "True"),
      ],
      ["RaidDegraded 0–21 True", "Ready 0–100 True"],
    ],
    [
      "revoked → its conditions' bands end",
      [...READY, state(20, "revoked", "ready")],
      ["Ready 0–20 True", "state 0–20 ready", "state 20–100 revoked"],
    ],
    [
      "more changes in a day than are kept → no band until the next line",
      [...READY, line(20, "condition", FULL_DAY), state(50, "not-ready", "ready")],
      ["Ready 0–20 True", "state 0–20 ready", "state 50–100 not-ready"],
    ],
    [
      "more lines about its keys than are kept → no gap",
      [...READY, line(20, "identity", FULL_DAY)],
      ["Ready 0–100 True", "state 0–100 ready"],
    ],
    [
      "clones → Unknown until a report counts, then the last decision again",
      [...READY, line(20, "phase", "registered → cloned"), line(40, "phase", "cloned → registered")],
      ["Ready 0–20 True", "Ready 20–40 Unknown", "Ready 40–100 True", "state 0–100 ready"],
    ],
    [
      "clones, before and after an outage of the apiserver → Unknown",
      [
        ...READY,
        line(20, "apiserver", "apiserver unreachable → cloned: away a to b"),
        line(40, "apiserver", "cloned → apiserver unreachable"),
      ],
      ["Ready 0–20 True", "Ready 20–40 Unknown", "Ready 40–100 True", "state 0–100 ready"],
    ],
    [
      "clones that are silent in between → Unknown, silent, Unknown; then the new decision",
      [
        ...READY,
        line(5, "phase", "registered → cloned"),
        silent(15, 10),
        state(15, "silent", "blocked"),
        back(30, 10),
        state(30, "blocked", "silent"),
        condition(50, "Ready", "False", "True"),
        line(50, "phase", "cloned → registered"),
      ],
      [
        "Ready 0–5 True",
        "Ready 5–10 Unknown",
        "Ready 10–30 silent",
        "Ready 30–50 Unknown",
        "Ready 50–100 False",
        "state 0–10 ready",
        "state 10–30 silent",
        "state 30–100 blocked",
      ],
    ],
    [
      "a clock that was set back → no overlap",
      [
        condition(20, "Ready", "True"),
        condition(10, "Ready", "False", "True"),
        condition(30, "Ready", "True", "False"),
      ],
      ["Ready 20–30 False", "Ready 30–100 True"],
    ],
    [
      "a text that was cut → still its status",
      [
        {
          ...condition(0, "Ready", "False", "True", "m".repeat(2000)),
          text: `${condition(0, "Ready", "False", "True", "m".repeat(2000)).text.slice(0, 1023)}…`,
        },
      ],
      ["Ready 0–100 False"],
    ],
  ])("%s", (_, lines, bands) => {
    expect(read(lines).bands).toEqual(bands.toSorted());
  });

  it.each([
    ["a machine enrols → the former machine's conditions end", 50, ["Ready 0–50 True", "state 0–100 ready"]],
    ["a machine that has always had the name → they continue", -1, ["Ready 0–100 True", "state 0–100 ready"]],
  ])("%s", (_, enrolled, bands) => {
    expect(read(READY, 0, 100, enrolled).bands).toEqual(bands);
    const later = read([...READY, line(60, "phase", "registered")], 0, 100, enrolled);
    expect(later.bands).toEqual(bands);
  });

  it("with its texts: a condition's reason, the kind of a silence", () => {
    const { texts } = read([...SILENT, back(30, 10), state(30, "ready", "silent")]);
    expect(texts).toMatchObject({
      "Ready 0–10 True": "R: m",
      "Ready 10–30 silent": "was True",
      "state 10–30 silent": "heard of again after 1200 s: was cut off, not down: kept running for 20 min",
    });
    expect(read(SILENT).texts["state 10–100 silent"]).toContain("last said: Ready True: m");
  });
});

describe("marks", () => {
  it.each([
    ["a reboot", "reboot", "boot ID: a → b"],
    ["a version", "version", "shim: 0.1.0 → 0.2.0"],
    ["an operator's act", "registration", "an operator asked to register again"],
    ["an outage that it reported", "silence", "no answer from 2026-01-01T00:10:00Z to 2026-01-01T00:15:00Z"],
    [
      "a condition that another writer has set",
      "condition",
      byOthers("Ready: True → Unknown (NodeStatusUnknown: m)", "kube-controller-manager"),
    ],
    ["a text of an earlier version", "condition", "Ready became False: node is shutting down"],
    ["a state of a newer version", "state", "ready → asleep"],
    ["a kind of a newer version", "weather", "rain"],
    ["a silence that cannot be parsed", "silence", "silent since ever; last said: x"],
  ])("%s → a mark, and no band", (_, kind, text) => {
    expect(read([line(10, kind, text)])).toEqual({ bands: [], marks: [`10 ${text}`], texts: {} });
  });

  it("at the ends of the range → included; before and after → left out", () => {
    const lines = [-1, 0, 100, 101].map((at) => line(at, "reboot", "boot"));
    expect(read(lines).marks).toEqual(["0 boot", "100 boot"]);
  });

  it("about more conditions than tracks exist → a mark", () => {
    const lines = Array.from({ length: MAX_TRACKS + 1 }, (_, at) => condition(1, `C${at}`, "True"));
    const { bands, marks } = read(lines);
    expect([bands.length, marks]).toEqual([MAX_TRACKS, [`1 ${lines.at(-1)!.text}`]]);
  });
});

const STATUSES = ["True", "False", "Unknown"];
/**
 * Generates histories of a machine that has always had the name, sorted by time. With `gaps`, they contain lines
 * that end all bands.
 */
const histories = (gaps: boolean) =>
  fc
    .array(
      fc.tuple(
        fc.integer({ min: 0, max: 5 }),
        fc.constantFrom(
          "condition",
          "silent",
          "back",
          "state",
          "mark",
          ...(gaps ? ["full", "start", "down", "gone", "odd"] : []),
        ),
        fc.nat(7),
        fc.nat(2),
      ),
      { maxLength: 60 },
    )
    .map((steps) => {
      let at = -20;
      let since: number | null = null;
      return steps.flatMap(([afterMinutes, what, which, status]): TimelineLine[] => {
        at += afterMinutes;
        switch (what) {
          case "condition":
            return [condition(at, `C${which}`, STATUSES[status]!)];
          case "silent":
            if (since !== null) return [];
            since = at - status;
            return [silent(at, since), state(at, "silent", "ready")];
          case "back":
          case "down": {
            if (since === null) return [];
            const lines = [
              back(at, since, what === "back" ? ran("b", "p") : ran("b2", "p2")),
              state(at, "ready", "silent"),
            ];
            since = null;
            return lines;
          }
          case "state":
            return since === null ? [state(at, which > 3 ? "ready" : "not-ready")] : [];
          case "full":
            return [line(at, "phase", FULL_DAY)];
          case "start":
            return [started(at)];
          case "gone":
            return [line(at, "condition", `C${which}: True → gone`)];
          case "odd":
            return [line(at - which, "condition", `C${which}: True → ${STATUSES[status]}`)];
          default:
            return [line(at, "reboot", "boot ID: a → b")];
        }
      });
    });

const RANGE = { sinceMs: minute(0), untilMs: minute(100) };
const byTrack = (bands: readonly TimelineBand[]) =>
  Object.values(Object.groupBy(bands, ({ track }) => track)).map((of = []) =>
    of.toSorted((a, b) => a.fromMs - b.fromMs),
  );

describe("for any history", () => {
  it("bands are within the range, are not empty, and those of a track do not overlap", () => {
    fc.assert(
      fc.property(histories(true), (lines) => {
        const { bands } = timelineOf(lines, RANGE, 0);
        for (const { fromMs, toMs } of bands)
          expect(RANGE.sinceMs <= fromMs && fromMs < toMs && toMs <= RANGE.untilMs).toBe(true);
        for (const track of byTrack(bands))
          for (const [at, { fromMs }] of track.entries())
            expect(fromMs).toBeGreaterThanOrEqual(track[at - 1]?.toMs ?? 0);
      }),
      { numRuns: 500 },
    );
  });

  it("without a gap → a track continues from its first band to the end", () => {
    fc.assert(
      fc.property(histories(false), (lines) => {
        for (const track of byTrack(timelineOf(lines, RANGE, 0).bands)) {
          expect(track.at(-1)?.toMs).toBe(RANGE.untilMs);
          for (const [at, { fromMs }] of track.slice(1).entries()) expect(fromMs).toBe(track[at]!.toMs);
        }
      }),
      { numRuns: 500 },
    );
  });

  it("while it is silent, each condition that has a band is silent", () => {
    fc.assert(
      fc.property(histories(false), (lines) => {
        const { bands } = timelineOf(lines, RANGE, 0);
        const silences = bands.filter(({ track, status }) => track === "state" && status === "silent");
        for (const { fromMs, toMs } of silences)
          for (const band of bands.filter(({ track }) => track !== "state"))
            if (band.fromMs < toMs && band.toMs > fromMs) expect(band.status).toBe("silent");
      }),
      { numRuns: 500 },
    );
  });
});
