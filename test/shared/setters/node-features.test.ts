import { describe, test } from "vitest";
import { nodeFeatures } from "../../../shared/setters/node-features.ts";
import { expectOutcome, runSetter } from "./run-setter.ts";

const status = (supplementalGroupsPolicy: boolean) => ({ features: { supplementalGroupsPolicy } });

describe("nodeFeatures", () => {
  test.each([
    { name: "the runtime supports it → true", before: {}, supported: true, after: status(true) },
    {
      name: "the runtime does not → false, which is on the wire",
      before: {},
      supported: false,
      after: status(false),
    },
    {
      name: "the runtime was updated → the new answer",
      before: status(false),
      supported: true,
      after: status(true),
    },
    {
      name: "the runtime is unknown now → the last answer stays",
      before: status(true),
      supported: null,
      after: status(true),
    },
    { name: "the runtime was never known → no feature is set", before: {}, supported: null, after: {} },
  ])("$name", ({ before, supported, after }) => {
    const features = supported === null ? null : { supplementalGroupsPolicy: supported };
    const outcome = runSetter(() => nodeFeatures(() => features), { status: before });
    expectOutcome(outcome, { status: after });
  });
});
