// The hardware inventory: what is found → what is reported; when it is looked at; and the child process that looks.
import { type Failure, failure, type Result, success } from "../../../../shared/result.ts";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, describe, expect, it, test } from "vitest";
import { type Found, hardwareOf } from "../../../../node-shim/sources/inventory/hardware.ts";
import { hardware, keptInventory } from "../../../../node-shim/sources/inventory/inventory.ts";
import { type Inventory, inventorySchema } from "../../../../shared/protocol/inventory.ts";
import { ROOT, temporaryFolder } from "../../../e2e/local-cluster.ts";

const folder = temporaryFolder();
afterAll(() => folder.remove());

/** As systeminformation finds a small PC with a graphics card. */
const PC: Found = {
  cpu: { manufacturer: "Intel", brand: "Core™ i5-8259U", processors: 1, physicalCores: 4 },
  system: { manufacturer: "Intel(R) Client Systems", model: "NUC8i5BEH", serial: "G6BE81" },
  board: { manufacturer: "Intel Corporation", model: "NUC8BEB", serial: "GEBE80" },
  disks: [{ vendor: "Samsung", name: "SSD 970 EVO", type: "NVMe", size: 500_107_862_016, serialNum: "S466" }],
  gpus: [{ vendor: "NVIDIA Corporation", model: "GA102", vram: 24_576 }],
  networkCards: [{ iface: "eno1", type: "wired", mac: "94:c6:91:00:00:01" }],
};

describe("what is found → what is reported", () => {
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
    "a maker that says %o → nothing",
    (manufacturer) => {
      const board = { manufacturer, model: manufacturer, serial: manufacturer };
      expect(hardwareOf({ board }, true)).toEqual({ board: {} });
    },
  );

  it("more, longer and stranger than may be → still what the schema takes", () => {
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

describe("when it is looked at", () => {
  function kept(readings: Result<Inventory>[]) {
    const clock = { nowMs: 0 };
    const said: string[] = [];
    let looks = 0;
    const look = () => Promise.resolve(readings[looks++] ?? failure("no more"));
    const read = keptInventory({ look, nowMs: () => clock.nowMs, warn: (_, message) => said.push(message) });
    return { read, clock, said, looks: () => looks };
  }
  const settled = () => new Promise((resolve) => void setImmediate(resolve));

  it("5 s after the start and an hour later, behind the reports' back", async () => {
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

  it("a look that fails → the last good one stays, and it is said", async () => {
    const { read, clock, said } = kept([success(FOUND), failure("away")]);
    expect(await read(true)).toEqual(FOUND);
    clock.nowMs = 4_000_000;
    await read(false);
    await settled();
    expect(await read(false)).toEqual(FOUND);
    expect(said).toEqual(["away"]);
  });
});

describe("the child process", () => {
  const program = (script: string) => {
    const path = join(folder.path, "child.mjs");
    writeFileSync(path, script);
    return pathToFileURL(path);
  };

  it("of the package, on this machine → an inventory with its processor", async () => {
    const found = await hardware(false, pathToFileURL(join(ROOT, "node-shim/dist/inventory.js")));
    expect(found).toMatchObject(success({ cpu: { model: expect.any(String) as string } }));
  });

  test.each<[situation: string, script: string, error: RegExp]>([
    ["hangs", "setInterval(() => {}, 1000)", /could not be looked at: it did not end within 1 s/],
    ["fails", "throw new Error('no')", /could not be looked at: it ended with 1/],
    ["prints no JSON", "console.log('hello')", /is not JSON/],
    [
      "prints what is none",
      'console.log(\'{"cpu":{"colour":"red"}}\')',
      /cannot be reported: \/cpu\/colour: unknown/,
    ],
    ["floods", "console.log('x'.repeat(200000))", /it wrote more than 131072 bytes/],
  ])("%s → an error that says so", async (situation, script, error) => {
    const found = await hardware(false, program(script), situation === "hangs" ? 1000 : 60_000);
    expect((found as Failure<string>).error).toMatch(error);
  });
});
