// A history as bands and marks: tables of what was noted when, and what holds for whatever is noted.
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

/** Minutes of this day are the times of all tables. */
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

/** `state 0–10 ready`, with the text behind it where it is asked for. */
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

describe("what was so, from when to when", () => {
  it.each<[string, readonly TimelineLine[], string[]]>([
    ["nothing is known → nothing", [], []],
    ["a state and a condition → up to the end", READY, ["Ready 0–100 True", "state 0–100 ready"]],
    ["known from the middle on → nothing before", [condition(40, "Ready", "True")], ["Ready 40–100 True"]],
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
      "before the range, and within → as it was at its begin",
      [condition(-50, "Ready", "False"), condition(10, "Ready", "True", "False")],
      ["Ready 0–10 False", "Ready 10–100 True"],
    ],
    [
      "after the range → not told",
      [condition(0, "Ready", "True"), condition(101, "Ready", "False", "True")],
      ["Ready 0–100 True"],
    ],
    [
      "silent → since the time that the line says, and nothing else is known",
      SILENT,
      ["Ready 0–10 True", "Ready 10–100 silent", "state 0–10 ready", "state 10–100 silent"],
    ],
    [
      "silent before it was noticed that its Node was not Ready → silent",
      [...READY, state(12, "not-ready", "ready"), silent(15, 10), state(15, "silent", "not-ready")],
      ["Ready 0–10 True", "Ready 10–100 silent", "state 0–10 ready", "state 10–100 silent"],
    ],
    [
      "silent since before the range → from its begin",
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
      "back after it was down → as the new process says",
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
      "back, and its state not noted yet → the silence is over",
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
      "silent by its state alone → from then on",
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
      "silent since ever → since it was noticed",
      [...READY, line(15, "silence", silenceText({ sinceMs: 0, said: "x" }))],
      ["Ready 0–15 True", "Ready 15–100 silent", "state 0–15 ready", "state 15–100 silent"],
    ],
    [
      "silent since a time when it reported → since it reported",
      [...READY, condition(12, "Ready", "False", "True"), silent(15, 10)],
      ["Ready 0–12 True", "Ready 12–100 silent", "state 0–12 ready", "state 12–100 silent"],
    ],
    [
      "a change while it is silent → known once it is back",
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
      "a condition that is gone → no longer",
      [
        condition(0, "RaidDegraded", "True"),
        line(20, "condition", departures([{ type: "RaidDegraded", status: "True" }], [])[0]!),
      ],
      ["RaidDegraded 0–20 True"],
    ],
    [
      "one that a new process of the shim does not have → until that says what it has",
      [
        condition(0, "RaidDegraded", "True"),
        condition(0, "Ready", "True"),
        started(20),
        condition(21, "Ready", "True"),
      ],
      ["RaidDegraded 0–21 True", "Ready 0–100 True"],
    ],
    [
      "revoked → nothing is known of its conditions",
      [...READY, state(20, "revoked", "ready")],
      ["Ready 0–20 True", "state 0–20 ready", "state 20–100 revoked"],
    ],
    [
      "more changed in a day than is kept → nothing is known until something is",
      [...READY, line(20, "condition", FULL_DAY), state(50, "not-ready", "ready")],
      ["Ready 0–20 True", "state 0–20 ready", "state 50–100 not-ready"],
    ],
    [
      "more about its keys than is kept → known all the same",
      [...READY, line(20, "identity", FULL_DAY)],
      ["Ready 0–100 True", "state 0–100 ready"],
    ],
    [
      "a clock that was put back → nothing overlaps",
      [
        condition(20, "Ready", "True"),
        condition(10, "Ready", "False", "True"),
        condition(30, "Ready", "True", "False"),
      ],
      ["Ready 20–30 False", "Ready 30–100 True"],
    ],
    [
      "a text that was cut → its status",
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
    [
      "of one that enrols → what another machine said is no longer so",
      50,
      ["Ready 0–50 True", "state 0–100 ready"],
    ],
    ["of one that has always had the name → it is", -1, ["Ready 0–100 True", "state 0–100 ready"]],
  ])("%s", (_, enrolled, bands) => {
    expect(read(READY, 0, 100, enrolled).bands).toEqual(bands);
    const later = read([...READY, line(60, "phase", "registered")], 0, 100, enrolled);
    expect(later.bands).toEqual(bands);
  });

  it("with what is said of it: a condition's reason, what a silence was", () => {
    const { texts } = read([...SILENT, back(30, 10), state(30, "ready", "silent")]);
    expect(texts).toMatchObject({
      "Ready 0–10 True": "R: m",
      "Ready 10–30 silent": "",
      "state 10–30 silent": "heard of again after 1200 s: was cut off, not down: kept running for 20 min",
    });
    expect(read(SILENT).texts["state 10–100 silent"]).toContain("last said: Ready True: m");
  });
});

describe("what happened", () => {
  it.each([
    ["a reboot", "reboot", "boot ID: a → b"],
    ["a version", "version", "shim: 0.1.0 → 0.2.0"],
    ["an operator's act", "registration", "an operator asked to register again"],
    ["an outage that it told of", "silence", "no answer from 2026-01-01T00:10:00Z to 2026-01-01T00:15:00Z"],
    ["what somebody else has set", "condition", byOthers("Ready: True → Unknown (NodeStatusUnknown: m)")],
    ["a text of a version before", "condition", "Ready became False: node is shutting down"],
    ["a state of a newer version", "state", "ready → asleep"],
    ["a kind of a newer version", "weather", "rain"],
    ["a silence that cannot be read", "silence", "silent since ever; last said: x"],
  ])("%s → a mark, and no band", (_, kind, text) => {
    expect(read([line(10, kind, text)])).toEqual({ bands: [], marks: [`10 ${text}`], texts: {} });
  });

  it("at the ends of the range → told; before and after → not", () => {
    const lines = [-1, 0, 100, 101].map((at) => line(at, "reboot", "boot"));
    expect(read(lines).marks).toEqual(["0 boot", "100 boot"]);
  });

  it("about more conditions than have a track → a mark", () => {
    const lines = Array.from({ length: MAX_TRACKS + 1 }, (_, at) => condition(1, `C${at}`, "True"));
    const { bands, marks } = read(lines);
    expect([bands.length, marks]).toEqual([MAX_TRACKS, [`1 ${lines.at(-1)!.text}`]]);
  });
});

const STATUSES = ["True", "False", "Unknown"];
/** What a machine that has always had the name may have, in the order of time; `gaps`: also what ends what is known. */
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

describe("whatever is noted", () => {
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

  it("and nothing of it lost → a track is known from its first band to the end", () => {
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
