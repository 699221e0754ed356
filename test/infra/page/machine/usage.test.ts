// Tests the texts of what a machine uses.
import { expect, test } from "vitest";
import { usageRows } from "../../../../infra/page/machine/usage.tsx";
import type { MachineUsage } from "../../../../shared/protocol/fleet-answers.ts";
import { shownUsage, USAGE, usageOf } from "../../../../shared/protocol/usage.ts";

const nothing: MachineUsage = {
  name: "edge-1",
  at: "2026-01-01T00:00:00Z",
  ...shownUsage(usageOf(USAGE.map(() => null)), null),
};

test.each<[situation: string, amounts: Partial<MachineUsage>, rows: string[][]]>([
  ["a machine without any value", {}, []],
  ["a part of a whole", { cpuUsed: 0.534, cpus: 4 }, [["CPU", "0.53 of 4 (13%)"]]],
  ["a part of an unknown whole", { memoryWorkingSetBytes: 2 ** 29 }, [["Memory", "512 MiB"]]],
  ["a part of nothing", { cpuUsed: 0, cpus: 0 }, [["CPU", "0"]]],
  ["a load", { load1: 0.5, load5: 1, load15: 2.25 }, [["Load of 1, 5, 15 minutes", "0.5, 1, 2.25"]]],
  [
    "a rate, and one that is missing",
    { diskReadBytesPerSecond: 1536 },
    [["Disks, read and written", "1.5 KiB/s, –"]],
  ],
  [
    "pressure",
    { cpuPressure: 0.251, memoryPressure: 0, ioPressure: 1 },
    [["Waits for CPU, memory, disks", "25%, 0%, 100%"]],
  ],
  ["a temperature", { temperatureCelsius: 61 }, [["Temperature", "61 °C"]]],
])("%s", (_, amounts, rows) => {
  expect(usageRows({ ...nothing, ...amounts })).toEqual(rows);
});
