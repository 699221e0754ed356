import { describe, test } from "vitest";
import type { NodeStatus } from "../../../shared/kubernetes/types.ts";
import { volumesInUse } from "../../../shared/setters/volumes-in-use.ts";
import { expectOutcome, runSetter } from "./run-setter.ts";

interface Situation {
  name: string;
  synced?: boolean;
  volumes: string[] | null;
  before?: NodeStatus;
  after: NodeStatus;
}

const situations: Situation[] = [
  {
    name: "volumes are attached → listed",
    volumes: ["csi^1", "csi^2"],
    after: { volumesInUse: ["csi^1", "csi^2"] },
  },
  {
    name: "one was detached → the rest",
    volumes: ["csi^2"],
    before: { volumesInUse: ["csi^1", "csi^2"] },
    after: { volumesInUse: ["csi^2"] },
  },
  {
    name: "the last one was detached → no list",
    volumes: [],
    before: { volumesInUse: ["csi^1"] },
    after: {},
  },
  {
    name: "unknown after a start → the former list stays, so that nothing is detached",
    synced: false,
    volumes: [],
    before: { volumesInUse: ["csi^1"] },
    after: { volumesInUse: ["csi^1"] },
  },
  {
    name: "the machine has no volumes at all → no list",
    volumes: null,
    before: { volumesInUse: ["csi^1"] },
    after: {},
  },
];

describe("volumesInUse", () => {
  test.each(situations)("$name", ({ synced = true, volumes, before = {}, after }) => {
    const outcome = runSetter(
      () =>
        volumesInUse(
          () => synced,
          () => volumes,
        ),
      { status: before },
    );
    expectOutcome(outcome, { status: after });
  });
});
