import { describe, test } from "vitest";
import { pidPressureCondition } from "../../../shared/setters/pid-pressure.ts";
import { type PressureWords, pressureSituations } from "./pressure-situations.ts";

const words: PressureWords = {
  type: "PIDPressure",
  pressure: {
    reason: "KubeletHasInsufficientPID",
    message: "kubelet has insufficient PID available",
    event: "Normal NodeHasInsufficientPID",
  },
  none: {
    reason: "KubeletHasSufficientPID",
    message: "kubelet has sufficient PID available",
    event: "Normal NodeHasSufficientPID",
  },
};

describe("pidPressureCondition", () => {
  test.each(pressureSituations(words))("$name", ({ check }) => check(pidPressureCondition));
});
