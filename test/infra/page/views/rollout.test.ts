// Tests the form of a rollout: the fault of each field, and the number of machines that get the version.
import { describe, expect, it } from "vitest";
import { type RolloutForm, rolloutFaults, rolloutReach } from "../../../../infra/page/views/rollout.tsx";

const FORM: RolloutForm = {
  version: "0.2.0",
  percent: "25",
  selector: "",
  mostSilentPercent: "2",
  atOnce: "50",
};

describe("a field of the form", () => {
  it.each<[Partial<RolloutForm>, (keyof RolloutForm)[]]>([
    [{}, []],
    [{ version: "0.3.0-rc.1", selector: "stage=canary,!gpu", mostSilentPercent: "0", percent: "100" }, []],
    [{ version: "" }, ["version"]],
    [{ version: "latest" }, ["version"]],
    [{ selector: "stage=" }, []],
    [{ selector: "stage in" }, ["selector"]],
    [{ percent: "0" }, ["percent"]],
    [{ percent: "101" }, ["percent"]],
    [{ percent: "2.5", atOnce: "" }, ["percent", "atOnce"]],
    [{ atOnce: "1001", mostSilentPercent: "101" }, ["mostSilentPercent", "atOnce"]],
  ])("%j → wrong: %j", (change, wrong) =>
    expect(Object.keys(rolloutFaults({ ...FORM, ...change }))).toEqual(wrong),
  );
});

describe("the machines of a rollout", () => {
  const machine = (shim: string, stage: string) => ({
    labels: { stage },
    versions: { shim, kernel: "", os: "", runtime: "", architecture: "" },
  });
  const MACHINES = [
    machine("0.1.0", "canary"),
    machine("0.1.9", "canary"),
    machine("0.2.0", "canary"),
    machine("0.1.0", "live"),
    machine("", "live"),
  ];

  it.each<[Partial<RolloutForm>, { older: number; all: number }]>([
    [{ percent: "100" }, { older: 3, all: 5 }],
    [
      { percent: "100", selector: "stage=canary" },
      { older: 2, all: 3 },
    ],
    [{ percent: "1" }, { older: 1, all: 5 }],
    [
      { percent: "100", version: "0.1.0" },
      { older: 0, all: 5 },
    ],
  ])("%j → %j", (change, reach) => expect(rolloutReach({ ...FORM, ...change }, MACHINES)).toEqual(reach));
});
