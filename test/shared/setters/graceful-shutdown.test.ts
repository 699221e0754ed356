import { describe, test } from "vitest";
import type { NodeCondition } from "../../../shared/kubernetes/types.ts";
import { gracefulShutdown } from "../../../shared/setters/graceful-shutdown.ts";
import { BEFORE, condition, expectOutcome, NOW, runSetter } from "./run-setter.ts";

const TYPE = "GracefulNodeShutdownInProgress";
const READY = condition("Ready", "True", "KubeletReady");
const known = (status: string, message: string) => condition(TYPE, status, "NodeShutdown", message);
const DOWN = "the machine is shutting down";
const UP = "the machine has started again, or did not shut down";
const now = (each: NodeCondition, since = NOW) => ({
  ...each,
  lastHeartbeatTime: NOW,
  lastTransitionTime: since,
});

describe("gracefulShutdown", () => {
  test.each<[string, NodeCondition[], boolean, NodeCondition[]]>([
    ["a machine without a shutdown → no condition", [READY], false, [READY]],
    ["its first shutdown → True, before Ready", [READY], true, [now(known("True", DOWN)), READY]],
    [
      "still shutting down → True since then",
      [known("True", DOWN)],
      true,
      [now(known("True", DOWN), BEFORE)],
    ],
    ["back, or cancelled → False", [known("True", DOWN)], false, [now(known("False", UP))]],
    ["long back → False since then", [known("False", UP)], false, [now(known("False", UP), BEFORE)]],
  ])("%s", (_, before, isShuttingDown, conditions) => {
    const outcome = runSetter(() => gracefulShutdown(NOW, isShuttingDown), {
      status: { conditions: before },
    });
    expectOutcome(outcome, { status: { conditions } });
  });
});
