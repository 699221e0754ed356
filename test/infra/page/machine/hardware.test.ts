import { expect, it } from "vitest";
import { hardwareTree } from "../../../../infra/page/machine/hardware.tsx";

const leaf = (name: string, text: string) => ({ name, text, branches: [] });

it("names in words, amounts with their units, each of several by what tells it apart", () => {
  const inventory = {
    cpu: { model: "i5", physicalCores: 4 },
    disks: [{ vendor: "WD", model: "Red", sizeBytes: 2 ** 40 }, { type: "nvme" }],
    gpus: [{ memoryMiB: 2048 }],
    networkCards: [],
    board: {},
  };
  expect(hardwareTree(inventory)).toEqual([
    { name: "CPU", branches: [leaf("model", "i5"), leaf("physical cores", "4")] },
    {
      name: "disks",
      branches: [
        { name: "WD Red", branches: [leaf("vendor", "WD"), leaf("model", "Red"), leaf("size", "1 TiB")] },
        { name: "number 2", branches: [leaf("type", "nvme")] },
      ],
    },
    { name: "GPUs", branches: [{ name: "number 1", branches: [leaf("memory", "2 GiB")] }] },
    leaf("network cards", "none"),
  ]);
});

it.each([[null], [undefined], [{}]])("%o → nothing", (inventory) => {
  expect(hardwareTree(inventory)).toEqual([]);
});
