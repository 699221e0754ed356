// Tests the text of the status: its content, and that the text fits on one screen.
import { describe, expect, it, test } from "vitest";
import { diagnose } from "../../../node-shim/status/diagnosis.ts";
import { distance, statusScreen, screenOf } from "../../../node-shim/status/screen.ts";
import type { SeenStatus, StatusFile } from "../../../node-shim/status/status-file.ts";
import { at, NOW_MS, running } from "./status.ts";

const FILE = { columns: null, hasColours: false };
const screen = (seen: SeenStatus | null, terminal = FILE as Parameters<typeof statusScreen>[3]) =>
  statusScreen(diagnose(seen, "edge-7", NOW_MS), seen, NOW_MS, terminal);
const UNREACHABLE = running({
  report: { at: at(-1), fault: { reason: "failed", message: "connect ECONNREFUSED" } },
  dropIns: { working: 1, failures: [{ name: "ups", error: "did not end within 10 s" }] },
});

describe("the content", () => {
  it("all is well → the verdict, then its reasons", () => {
    expect(screen(running())).toBe(
      `edge-7 is Ready

Worker        https://rollcall.example.com
phase         registered, node Ready
last report   2026-01-01T09:59:57Z (3 s ago), taken
next report   2026-01-01T10:00:06Z (in 6 s)
key           Kw3bsyrZ1Xj2m9v0FhTq8LxOePcUaGd5RnIy4oWzNtE
runtime       containerd://2.1.4
drop-ins      2 working
shim          0.1.0, process 4711, since 2026-01-01T09:00:00Z (60 min ago)
state folder  /var/lib/rollcall
`,
    );
  });

  it("under pressure → in the verdict, and in a line", () => {
    const text = screen(running({ pressures: ["MemoryPressure", "DiskPressure"] }));
    expect(text).toMatch(/^edge-7 is Ready: with MemoryPressure and DiskPressure\n/);
    expect(text).toMatch(/^pressure {6}MemoryPressure, DiskPressure$/m);
  });

  it("a fault → the advice, and the time of the Worker's last answer", () => {
    const text = screen(UNREACHABLE);
    expect(text).toMatch(
      /^edge-7 gets no answer from the Worker: connect ECONNREFUSED\n→ `node-shim doctor` finds/,
    );
    expect(text).toMatch(
      /^last report {3}2026-01-01T09:59:59Z \(1 s ago\), not taken\nlast answer {3}.*\(3 s ago\)\n/m,
    );
    expect(text).toMatch(/^drop-ins {6}1 working; ups fails: did not end within 10 s$/m);
    expect(text).toMatch(/^phase {9}registered, node Ready at the last answer$/m);
  });

  it("the shim has ended → a line about that, only remembered conditions, no transport, no next report", () => {
    const transport = { via: "socket", since: at(-300), choice: "auto" } as const;
    const text = screen({ ...running({ pressures: ["MemoryPressure"], transport }), isRunning: false });
    expect(text).toMatch(/^shim {10}0\.1\.0, process 4711 \(gone\)/m);
    expect(text).toMatch(/^phase {9}registered, node Ready at the last answer$/m);
    expect(text).toMatch(/^pressure {6}MemoryPressure at the last report$/m);
    expect(text).not.toMatch(/^(next report|transport)/m);
  });

  it("no status file → only the verdict and the advice", () => {
    expect(screen(null)).toMatch(/^edge-7 has no shim that runs: nothing is reported\n→ .*\n$/);
  });

  test.each<[string, StatusFile["transport"], RegExp]>([
    [
      "reports go over a socket",
      { via: "socket", since: at(-300), choice: "auto" },
      /^transport {5}socket, since 2026-01-01T09:55:00Z \(5 min ago\)$/m,
    ],
    [
      "reports go by HTTP, and nothing is wrong",
      { via: "http", since: at(-300), choice: "auto" },
      /^transport {5}HTTP, since .* \(5 min ago\)$/m,
    ],
    [
      "reports go by HTTP, as configured",
      { via: "http", since: at(-300), choice: "http" },
      /^transport {5}HTTP \(--transport http\)$/m,
    ],
    [
      "no socket is available",
      { via: "http", since: at(-300), choice: "auto", fault: "a proxy", againAt: at(600) },
      /^transport {5}HTTP, since .* \(5 min ago\): a proxy; tried again .* \(in 10 min\)$/m,
    ],
    [
      "a socket was lost",
      { via: "http", since: at(-3), choice: "auto", fault: "it was closed" },
      /^transport {5}HTTP, since .* \(3 s ago\): it was closed$/m,
    ],
  ])("%s", (_situation, transport, line) => {
    expect(screen(running({ transport }))).toMatch(line);
  });

  test.each([
    ["no runtime is used", null, /^runtime {7}none$/m],
    ["the runtime is unknown", undefined, /^drop-ins/m],
  ])("%s", (_situation, runtime, line) => {
    expect(screen(running({ runtime }))).toMatch(line);
  });
});

describe("a terminal with this many columns → no line is longer, and no word is lost", () => {
  test.each([20, 40, 59, 60, 80, 200])("%i", (columns) => {
    for (const seen of [running(), UNREACHABLE, null]) {
      const text = screen(seen, { columns, hasColours: false });
      expect(Math.max(...text.split("\n").map((line) => line.length))).toBeLessThanOrEqual(columns);
      expect(text.replaceAll(/\s/g, "")).toBe(screen(seen).replaceAll(/\s/g, ""));
    }
  });
});

describe("colours", () => {
  const first = (seen: SeenStatus | null) => screen(seen, { columns: 80, hasColours: true }).split("\n")[0];
  test.each([
    ["Ready → green", running(), "[1;32m"],
    ["not Ready → yellow", running({ answer: { at: at(0), phase: "cloned", ready: false } }), "[1;33m"],
    ["nothing is reported → red", null, "[1;31m"],
  ])("%s", (_situation, seen, code) => {
    expect(first(seen)?.startsWith(`\u{1B}${code}`)).toBe(true);
    expect(first(seen)?.endsWith("\u{1B}[0m")).toBe(true);
  });

  test.each<
    [
      situation: string,
      stream: { isTTY?: boolean; columns?: number },
      environment: NodeJS.ProcessEnv,
      columns: number | null,
      hasColours: boolean,
    ]
  >([
    ["a terminal", { isTTY: true, columns: 132 }, {}, 132, true],
    ["a terminal of unknown width", { isTTY: true }, {}, 80, true],
    ["a pipe", { columns: 132 }, {}, null, false],
    ["NO_COLOR", { isTTY: true, columns: 80 }, { NO_COLOR: "1" }, 80, false],
    ["a dumb terminal", { isTTY: true, columns: 80 }, { TERM: "dumb" }, 80, false],
  ])("%s", (_situation, stream, environment, columns, hasColours) => {
    expect(screenOf(stream, environment)).toEqual({ columns, hasColours });
  });
});

test.each([
  [-400, "0 s ago"],
  [-119_000, "119 s ago"],
  [-120_000, "2 min ago"],
  [7_199_000, "in 119 min"],
  [7_200_000, "in 2 h"],
  [-172_800_000, "2 days ago"],
])("%i ms → %s", (ms, text) => {
  expect(distance(ms)).toBe(text);
});
