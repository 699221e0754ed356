import { expect, it, test } from "vitest";
import { quantityWords } from "../../../../infra/page/base/amounts.ts";
import { roomRows } from "../../../../infra/page/machine/room.tsx";

const MIB = 2 ** 20;
const vitals = (available: number, capacity: number) => ({
  signals: { "memory.available": [available, capacity] },
});

test.each<[situation: string, available: number, below: string | null]>([
  ["at the soft threshold", 1024 * MIB, null],
  ["just below the soft one", 1024 * MIB - 1, "soft"],
  ["at the hard one", 100 * MIB, "soft"],
  ["just below the hard one", 100 * MIB - 1, "hard"],
])("%s", (_, available, below) => {
  const thresholds = { hard: { "memory.available": "100Mi" }, soft: { "memory.available": "1Gi" } };
  expect(roomRows(vitals(available, 4096 * MIB), thresholds)[0]?.below).toBe(below);
});

test.each([
  ["10%", 100],
  ["2.5%", 25],
  ["0%", 0],
  ["1k", 1000],
  ["nonsense", null],
])("a threshold of %s, of 1000 → %s", (text, amount) => {
  const [row] = roomRows(vitals(500, 1000), { hard: { "memory.available": text }, soft: {} });
  expect(row?.hard).toEqual({ text, amount });
  expect(row?.soft).toBe(null);
});

it("what is short first", () => {
  const signals = { "memory.available": [50, 100], "nodefs.available": [1, 100], "pid.available": [9, 100] };
  const thresholds = { hard: { "nodefs.available": "10%" }, soft: { "pid.available": "10%" } };
  expect(roomRows({ signals }, thresholds).map(({ title, below }) => [title, below])).toEqual([
    ["Disk (nodefs)", "hard"],
    ["Process IDs", "soft"],
    ["Memory", null],
  ]);
});

it("no vitals → no rows; a newer signal → its own name", () => {
  const none = { hard: {}, soft: {} };
  expect(roomRows(null, none)).toEqual([]);
  expect(roomRows({ signals: { "gpu.inodesLeft": [1, 2] } }, none)).toMatchObject([
    { title: "gpu.inodesLeft", unit: "count" },
  ]);
});

test.each([
  ["memory", "32768000Ki", "31.3 GiB"],
  ["ephemeral-storage", "500107862016", "466 GiB"],
  ["hugepages-2Mi", "0", "0 B"],
  ["cpu", "7500m", "7500m"],
  ["pods", "110", "110"],
  ["memory", "much", "much"],
])("%s %s → %s", (resource, quantity, text) => {
  expect(quantityWords(resource, quantity)).toBe(text);
});
