import { describe, test } from "vitest";
import type { NodeStatus } from "../../../shared/kubernetes/types.ts";
import { type RuntimeHandler, runtimeHandlers } from "../../../shared/setters/runtime-handlers.ts";
import { expectOutcome, runSetter } from "./run-setter.ts";

const runc: RuntimeHandler = {
  name: "",
  supportsRecursiveReadOnlyMounts: true,
  supportsUserNamespaces: false,
};
const kata: RuntimeHandler = {
  name: "kata",
  supportsRecursiveReadOnlyMounts: false,
  supportsUserNamespaces: true,
};
const shownRunc = { name: "", features: { recursiveReadOnlyMounts: true, userNamespaces: false } };
const shownKata = { name: "kata", features: { recursiveReadOnlyMounts: false, userNamespaces: true } };

interface Situation {
  name: string;
  handlers: RuntimeHandler[] | null;
  before?: NodeStatus["runtimeHandlers"];
  after?: NodeStatus["runtimeHandlers"];
}

const situations: Situation[] = [
  { name: "the default handler → listed under its empty name", handlers: [runc], after: [shownRunc] },
  {
    name: "several handlers → in the runtime's order, each with its features",
    handlers: [kata, runc],
    after: [shownKata, shownRunc],
  },
  {
    name: "a handler was removed → the others stay",
    handlers: [runc],
    before: [shownKata, shownRunc],
    after: [shownRunc],
  },
  { name: "a runtime without handlers → no list", handlers: [], before: [shownRunc] },
  { name: "the runtime is unknown → no list", handlers: null, before: [shownRunc] },
];

describe("runtimeHandlers", () => {
  test.each(situations)("$name", ({ handlers, before, after }) => {
    const outcome = runSetter(() => runtimeHandlers(() => handlers), {
      status: before ? { runtimeHandlers: before } : {},
    });
    expectOutcome(outcome, { status: after ? { runtimeHandlers: after } : {} });
  });
});
