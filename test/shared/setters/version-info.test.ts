import { describe, expect, test } from "vitest";
import type { Node } from "../../../shared/kubernetes/types.ts";
import { failure, success } from "../../../shared/result.ts";
import { versionInfo } from "../../../shared/setters/version-info.ts";
import { nodeInfo } from "./node-info.ts";
import { expectOutcome, runSetter } from "./run-setter.ts";

const versions = {
  kernelVersion: "6.1.0",
  osImage: "Debian GNU/Linux 12",
  containerRuntimeVersion: "containerd://2.1.9",
  kubeletVersion: "v1.36.0-rollcall-v1",
  kubeProxyVersion: "",
};

interface Situation {
  name: string;
  before?: Node;
  /** The error of reading the versions; absent if they can be read. */
  read?: string;
  /** The runtime's name; null if no runtime has answered yet. */
  runtimeType?: null;
  /** The runtime's version; null if the runtime does not report it. */
  runtimeVersion?: string | null;
  after: Node["status"];
  error?: string;
}

const situations: Situation[] = [
  { name: "first status → all versions", after: { nodeInfo: nodeInfo(versions) } },
  {
    name: "the machine was updated → the new versions; the IDs stay",
    before: { status: { nodeInfo: nodeInfo({ ...versions, kernelVersion: "5.10.0", machineID: "m" }) } },
    after: { nodeInfo: nodeInfo({ ...versions, machineID: "m" }) },
  },
  {
    name: "the runtime does not report its version → Unknown, after its name",
    runtimeVersion: null,
    after: { nodeInfo: nodeInfo({ ...versions, containerRuntimeVersion: "containerd://Unknown" }) },
  },
  {
    name: "the runtime has not answered since the machine's start → its last version stays",
    before: { status: { nodeInfo: nodeInfo({ ...versions, kernelVersion: "5.10.0" }) } },
    runtimeType: null,
    runtimeVersion: null,
    after: { nodeInfo: nodeInfo(versions) },
  },
  {
    name: "the runtime of a new machine has not answered yet → an empty version",
    runtimeType: null,
    runtimeVersion: null,
    after: { nodeInfo: nodeInfo({ ...versions, containerRuntimeVersion: "" }) },
  },
  {
    name: "kernel and OS cannot be read → the setter fails, and the last versions stay",
    before: { status: { nodeInfo: nodeInfo({ kernelVersion: "5.10.0" }) } },
    read: "no such file",
    after: { nodeInfo: nodeInfo({ kernelVersion: "5.10.0" }) },
    error: "error getting version info: no such file",
  },
  {
    name: "an older kubelet had set kubeProxyVersion → cleared, as it is deprecated",
    before: { status: { nodeInfo: nodeInfo({ ...versions, kubeProxyVersion: "v1.30.0" }) } },
    after: { nodeInfo: nodeInfo(versions) },
  },
];

const setter = ({ read, runtimeType, runtimeVersion = "2.1.9" }: Partial<Situation>) =>
  versionInfo(
    () =>
      read === undefined
        ? success({ kernelVersion: "6.1.0", osImage: "Debian GNU/Linux 12" })
        : failure(read),
    () => (runtimeType === null ? null : "containerd"),
    () => (runtimeVersion === null ? failure("timeout") : success(runtimeVersion)),
    "v1.36.0-rollcall-v1",
  );

describe("versionInfo", () => {
  test.each(situations)("$name", ({ before, after, error, ...given }) => {
    const outcome = runSetter(() => setter(given), before);
    expectOutcome(outcome, { status: after, ...(error !== undefined && { error }) });
  });

  test("nothing has changed → the same object, so that comparing stays cheap", () => {
    const first = runSetter(() => setter({})).node;
    const second = runSetter(() => setter({}), first).node;
    const third = { ...second, status: { ...second.status } };
    setter({})(third);
    expect(third.status.nodeInfo).toBe(second.status.nodeInfo);
  });
});
