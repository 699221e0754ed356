// Tests the hardware inventory: which hardware is reported, when the shim reads it, and how the shim runs the reading
// program.
import { failure, type Result, success } from "../../../../shared/result.ts";
import { describe, expect, it, test } from "vitest";
import type { RunProgram } from "../../../../node-shim/base/child.ts";
import { type Found, hardwareOf } from "../../../../node-shim/sources/inventory/hardware.ts";
import { hardware, keptInventory } from "../../../../node-shim/sources/inventory/inventory.ts";
import { type Inventory, inventorySchema } from "../../../../shared/protocol/inventory.ts";

/** A small PC with a graphics card, in the form in which systeminformation returns it. */
const PC: Found = {
  cpu: { manufacturer: "Intel", brand: "Core™ i5-8259U", processors: 1, physicalCores: 4 },
  system: { manufacturer: "Intel(R) Client Systems", model: "NUC8i5BEH", serial: "G6BE81" },
  board: { manufacturer: "Intel Corporation", model: "NUC8BEB", serial: "GEBE80" },
  disks: [{ vendor: "Samsung", name: "SSD 970 EVO", type: "NVMe", size: 500_107_862_016, serialNum: "S466" }],
  gpus: [{ vendor: "NVIDIA Corporation", model: "GA102", vram: 24_576 }],
  networkCards: [{ iface: "eno1", type: "wired", mac: "94:c6:91:00:00:01" }],
};

describe("found → reported", () => {
  it("a PC, without serial numbers", () => {
    expect(hardwareOf(PC, false)).toEqual({
      cpu: { vendor: "Intel", model: "Core™ i5-8259U", sockets: 1, physicalCores: 4 },
      system: { vendor: "Intel(R) Client Systems", model: "NUC8i5BEH" },
      board: { vendor: "Intel Corporation", model: "NUC8BEB" },
      disks: [{ vendor: "Samsung", model: "SSD 970 EVO", type: "NVMe", sizeBytes: 500_107_862_016 }],
      gpus: [{ vendor: "NVIDIA Corporation", model: "GA102", memoryMiB: 24_576 }],
      networkCards: [{ name: "eno1", type: "wired" }],
    });
  });

  it("a PC, with serial numbers and MAC addresses", () => {
    expect(hardwareOf(PC, true)).toMatchObject({
      system: { serial: "G6BE81" },
      board: { serial: "GEBE80" },
      disks: [{ serial: "S466" }],
      networkCards: [{ mac: "94:c6:91:00:00:01" }],
    });
  });

  test.each(["", " ", "-", "unknown", "To Be Filled By O.E.M.", "Default string"])(
    "a manufacturer named %o → left out",
    (manufacturer) => {
      const board = { manufacturer, model: manufacturer, serial: manufacturer };
      expect(hardwareOf({ board }, true)).toEqual({ board: {} });
    },
  );

  it("more, longer and stranger values than allowed → still accepted by the schema", () => {
    const disk = { vendor: "x".repeat(500), name: "\ud800", type: "HD", size: -1, serialNum: "s" };
    const gpu = { vendor: "v", model: "m", vram: null };
    const found = {
      disks: Array.from({ length: 200 }, () => disk),
      gpus: [gpu],
      cpu: { ...PC.cpu!, brand: "x".repeat(129) },
    };
    const inventory = hardwareOf(found, true);
    expect(inventorySchema.safeParse(inventory).error).toBeUndefined();
    expect(inventory.disks).toHaveLength(64);
  });
});

const FOUND: Inventory = { cpu: { model: "EPYC" } };

describe("the time of a reading", () => {
  function kept(readings: Result<Inventory>[]) {
    const clock = { nowMs: 0 };
    const said: string[] = [];
    let looks = 0;
    const look = () => Promise.resolve(readings[looks++] ?? failure("no more"));
    const read = keptInventory({
      read: look,
      nowMs: () => clock.nowMs,
      warn: (_, message) => said.push(message),
    });
    return { read, clock, said, looks: () => looks };
  }
  const settled = () => new Promise((resolve) => void setImmediate(resolve));

  it("5 s after the start and an hour later; no report waits for it", async () => {
    const { read, clock, looks } = kept([success(FOUND), success({})]);
    clock.nowMs = 4999;
    expect([await read(false), looks()]).toEqual([undefined, 0]);
    clock.nowMs = 5000;
    expect([await read(false), looks()]).toEqual([undefined, 1]);
    await settled();
    clock.nowMs += 3_599_999;
    expect([await read(false), looks()]).toEqual([FOUND, 1]);
    clock.nowMs += 1;
    expect([await read(false), looks()]).toEqual([FOUND, 2]);
    await settled();
    expect(await read(false)).toEqual({});
  });

  it("a failed reading → the last good one stays, and the fault is logged", async () => {
    const { read, clock, said } = kept([success(FOUND), failure("away")]);
    expect(await read(true)).toEqual(FOUND);
    clock.nowMs = 4_000_000;
    await read(false);
    await settled();
    expect(await read(false)).toEqual(FOUND);
    expect(said).toEqual(["away"]);
  });
});

describe("the program that reads", () => {
  it("is run by this Node, with a deadline and a limit for its output", async () => {
    const asked: Parameters<RunProgram>[0][] = [];
    await hardware(true, (options) => {
      asked.push(options);
      return Promise.resolve(failure("ended with 1"));
    });
    expect(asked).toEqual([
      {
        program: process.execPath,
        args: [expect.stringMatching(/\/inventory\.js$/), "--serials"],
        deadlineMs: 60_000,
        maxBytes: 131_072,
      },
    ]);
  });

  test.each<[situation: string, output: Result<string>, found: Result<unknown>]>([
    ["prints an inventory", success(JSON.stringify(FOUND)), success(FOUND)],
    [
      "fails, hangs or floods",
      failure("did not end within 60 s"),
      failure("the hardware could not be looked at: it did not end within 60 s"),
    ],
    ["prints no JSON", success("hello\n"), failure("what was found is not JSON")],
    [
      "prints no inventory",
      success('{"cpu":{"colour":"red"}}'),
      failure(expect.stringMatching(/cannot be reported: \/cpu\/colour: unknown/)),
    ],
  ])("%s → the inventory, or an error with the reason", async (_situation, output, found) => {
    expect(await hardware(false, () => Promise.resolve(output))).toEqual(found);
  });
});
