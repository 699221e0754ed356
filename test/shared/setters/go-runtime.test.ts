import { describe, expect, test } from "vitest";
import type { Node } from "../../../shared/kubernetes/types.ts";
import { goRuntime } from "../../../shared/setters/go-runtime.ts";
import { nodeInfo } from "./node-info.ts";
import { expectOutcome, runSetter } from "./run-setter.ts";

const platform = { operatingSystem: "linux", architecture: "arm64" };

interface Situation {
  name: string;
  before: Node;
  after: Node["status"];
}

const situations: Situation[] = [
  { name: "first status → both names", before: {}, after: { nodeInfo: nodeInfo(platform) } },
  {
    name: "versions are set already → they stay",
    before: { status: { nodeInfo: nodeInfo({ osImage: "Debian" }) } },
    after: { nodeInfo: nodeInfo({ ...platform, osImage: "Debian" }) },
  },
  {
    name: "the disk moved into a machine of another architecture → the new one",
    before: { status: { nodeInfo: nodeInfo({ ...platform, architecture: "amd64" }) } },
    after: { nodeInfo: nodeInfo(platform) },
  },
];

describe("goRuntime", () => {
  test.each(situations)("$name", ({ before, after }) => {
    const outcome = runSetter(() => goRuntime("linux", "arm64"), before);
    expectOutcome(outcome, { status: after });
  });

  test("nothing has changed → the same object, so that comparing stays cheap", () => {
    const { node } = runSetter(() => goRuntime("linux", "arm64"));
    const again = { ...node, status: { ...node.status } };
    goRuntime("linux", "arm64")(again);
    expect(again.status.nodeInfo).toBe(node.status.nodeInfo);
  });
});
