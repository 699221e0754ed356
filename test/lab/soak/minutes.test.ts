// Tests a minute of a soak, summed from its seconds.
import { expect, it, test } from "vitest";
import { type MachinesReport, NO_EVENTS } from "./fleet.ts";
import { minuteOf, minuteText, quantile } from "./minutes.ts";

test.each<[sorted: number[], share: number, value: number]>([
  [[], 0.99, 0],
  [[7], 0.5, 7],
  [[1, 2, 3, 4], 0.5, 2],
  [Array.from({ length: 100 }, (_, index) => index + 1), 0.99, 99],
  [Array.from({ length: 101 }, (_, index) => index + 1), 0.99, 100],
])("of %j the share %d → %d", (sorted, share, value) => {
  expect(quantile(sorted, share)).toBe(value);
});

const second = (report: Partial<MachinesReport>): MachinesReport => ({
  ...NO_EVENTS,
  onSocket: 2,
  ...report,
});

it("sums, shares of a core, the longest time, and the values at its end", () => {
  const reports = [
    second({ answersMs: [50, 900], failures: ["edge-1: late"], lagMs: 3 }),
    second({ answersMs: [60], ends: ["edge-2: closed"], lagMs: 1, onSocket: 1 }),
  ];
  const used = { worker: 6, machines: 0.6, apiserver: 0.3 };
  const minute = minuteOf({ reports, late: 1, seconds: 60, used, residentBytes: 100 * 2 ** 20 });
  expect(minuteText(3, minute)).toBe(
    "minute 3: 1 on sockets; 3 answers (median 60 ms, p99 900 ms, longest 900 ms); 1 reports not taken; " +
      "1 sockets lost; 1 heartbeats late; workerd 10 % of a core, 100 MiB; machines 1 %, late by 3 ms; apiserver 1 %",
  );
});
