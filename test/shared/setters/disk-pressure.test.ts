import { describe, test } from "vitest";
import { diskPressureCondition } from "../../../shared/setters/disk-pressure.ts";
import { type PressureWords, pressureSituations } from "./pressure-situations.ts";

const words: PressureWords = {
  type: "DiskPressure",
  pressure: {
    reason: "KubeletHasDiskPressure",
    message: "kubelet has disk pressure",
    event: "Normal NodeHasDiskPressure",
  },
  none: {
    reason: "KubeletHasNoDiskPressure",
    message: "kubelet has no disk pressure",
    event: "Normal NodeHasNoDiskPressure",
  },
};

describe("diskPressureCondition", () => {
  test.each(pressureSituations(words))("$name", ({ check }) => check(diskPressureCondition));
});
