import { describe, test } from "vitest";
import { memoryPressureCondition } from "../../../shared/setters/memory-pressure.ts";
import { type PressureWords, pressureSituations } from "./pressure-situations.ts";

const words: PressureWords = {
  type: "MemoryPressure",
  pressure: {
    reason: "KubeletHasInsufficientMemory",
    message: "kubelet has insufficient memory available",
    event: "Normal NodeHasInsufficientMemory",
  },
  none: {
    reason: "KubeletHasSufficientMemory",
    message: "kubelet has sufficient memory available",
    event: "Normal NodeHasSufficientMemory",
  },
};

describe("memoryPressureCondition", () => {
  test.each(pressureSituations(words))("$name", ({ check }) => check(memoryPressureCondition));
});
