// Tests the comparison of a kubelet's Node with the shim's: allowed differences, and the report of other
// differences.
import { execFileSync, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it, test } from "vitest";
import { ROOT, temporaryFolder } from "../../e2e/local-cluster.ts";
import { compareNodes, comparisonText, type NodeJson } from "./compare.ts";

const READY = "kubelet is posting ready status";
const CAPACITY = { cpu: "2", "ephemeral-storage": "264212084Ki" };
/** A shortened Node of a kubelet. */
const KUBELET = {
  metadata: { name: "edge-1", uid: "1", resourceVersion: "2", labels: { "kubernetes.io/os": "linux" } },
  spec: { taints: [{ key: "node.kubernetes.io/not-ready", effect: "NoSchedule" }] },
  status: {
    capacity: CAPACITY,
    conditions: [
      {
        type: "Ready",
        status: "True",
        reason: "KubeletReady",
        message: READY,
        lastHeartbeatTime: "2026-01-01T00:00:00Z",
      },
    ],
    addresses: [
      { type: "InternalIP", address: "192.0.2.1" },
      { type: "Hostname", address: "edge-1" },
    ],
    daemonEndpoints: { kubeletEndpoint: { Port: 10250 } },
    images: [],
    nodeInfo: { kubeletVersion: "v1.36.3", containerRuntimeVersion: "containerd://2.1.9" },
  },
};
const status = (change: object): NodeJson => ({ ...KUBELET, status: { ...KUBELET.status, ...change } });
const labelled = (labels: object): NodeJson => ({ ...KUBELET, metadata: { ...KUBELET.metadata, labels } });
const wrong = (ours: NodeJson, kubelet: NodeJson = KUBELET) =>
  compareNodes(kubelet, ours).differences.flatMap(({ path, why }) => (why === null ? [path] : []));

describe("compareNodes", () => {
  const info = (change: object) => status({ nodeInfo: { ...KUBELET.status.nodeInfo, ...change } });
  const ready = (message: string) =>
    status({ conditions: KUBELET.status.conditions.map((condition) => ({ ...condition, message })) });
  const [address, hostname] = KUBELET.status.addresses;
  test.each<[situation: string, ours: NodeJson, paths: string[]]>([
    ["the same", KUBELET, []],
    ["another capacity", status({ capacity: { ...CAPACITY, cpu: "3" } }), ["status.capacity.cpu"]],
    [
      "a resource too many",
      status({ capacity: { ...CAPACITY, "a.example/b": "1" } }),
      ["status.capacity[a.example/b]"],
    ],
    ["a label too few", { ...KUBELET, metadata: { name: "edge-1" } }, ["metadata.labels[kubernetes.io/os]"]],
    [
      "the addresses in another order",
      status({ addresses: [hostname, address] }),
      ["status.addresses[0]", "status.addresses[1]"],
    ],
    [
      "another reason of a condition, and another time",
      status({
        conditions: [
          {
            type: "Ready",
            status: "True",
            reason: "Other",
            message: READY,
            lastHeartbeatTime: "2026-01-01T00:00:09Z",
          },
        ],
      }),
      ["status.conditions[Ready].reason"],
    ],
    [
      "fields that name a kubelet",
      status({
        nodeInfo: { ...KUBELET.status.nodeInfo, kubeletVersion: "v1.36.0-rollcall-v1" },
        daemonEndpoints: undefined,
      }),
      [],
    ],
    ["no runtime is configured", info({ containerRuntimeVersion: "" }), []],
    [
      "another runtime",
      info({ containerRuntimeVersion: "cri-o://1" }),
      ["status.nodeInfo.containerRuntimeVersion"],
    ],
    [
      "the taint and label of a machine without a kubelet",
      {
        ...KUBELET,
        metadata: {
          name: "edge-1",
          labels: {
            "kubernetes.io/os": "linux",
            "node.kubernetes.io/exclude-from-external-load-balancers": "true",
            "rollcall.dev/machine": "",
            "rollcall.dev/deployment": "rollcall",
            "node-role.kubernetes.io/edge": "",
          },
          annotations: { "rollcall.dev/roles": "edge" },
        },
        spec: { taints: [{ key: "rollcall.dev/facts-only", effect: "NoSchedule" }] },
      },
      [],
    ],
    [
      "a bystander's labels",
      labelled({ "rollcall.dev/os": "linux", "node.kubernetes.io/exclude-disruption": "" }),
      [],
    ],
    [
      "ephemeral storage in the notation of 1.37",
      status({ capacity: { ...CAPACITY, "ephemeral-storage": "270553174016" } }),
      [],
    ],
    [
      "other ephemeral storage",
      status({ capacity: { ...CAPACITY, "ephemeral-storage": "270553174017" } }),
      ["status.capacity.ephemeral-storage"],
    ],
    ["a field that kubelets have since 1.37", info({ runningInUserNamespace: false }), []],
    ["another value of one", labelled({ "rollcall.dev/os": "plan9" }), ["metadata.labels[kubernetes.io/os]"]],
    ["a message with the word machine", ready("machine is posting ready status"), []],
    ["a message with another meaning", ready("machine is well"), ["status.conditions[Ready].message"]],
    [
      "a taint of one's own",
      { ...KUBELET, spec: { taints: [{ key: "a", effect: "NoSchedule" }] } },
      ["spec.taints[a:NoSchedule].effect", "spec.taints[a:NoSchedule].key"],
    ],
  ])("%s → exactly the forbidden differences", (_situation, ours, paths) => {
    expect(wrong({ ...ours })).toEqual(paths);
  });

  it("nothing allocatable → the allocatable of a kubelet's machine is compared", () => {
    const kubelet = status({ allocatable: { cpu: "2", "a.example/b": "1" } });
    const ours = { cpu: "2", "a.example/b": "2" };
    const { differences } = compareNodes(
      kubelet,
      status({ allocatable: { cpu: "0", "a.example/b": "0" } }),
      ours,
    );
    expect(differences.map(({ path, why }) => [path, why])).toEqual([
      ["status.allocatable.cpu", "a machine without a kubelet is given no pods"],
      ["status.allocatable[a.example/b]", null],
    ]);
  });

  it("no runtime is configured → its images may be absent; one is → they may not", () => {
    const kubelet = status({ images: [{ names: ["a"], sizeBytes: 1 }] });
    expect(wrong(info({ containerRuntimeVersion: "" }), kubelet)).toEqual([]);
    expect(wrong(KUBELET, kubelet)).toEqual(["status.images[0].names[0]", "status.images[0].sizeBytes"]);
  });

  it("as text → both values, the reasons, the sum", () => {
    const text = comparisonText(
      compareNodes(KUBELET, status({ capacity: { ...CAPACITY, cpu: "3" }, daemonEndpoints: {} })),
    );
    expect(text).toMatch(
      /^differs: status\.capacity\.cpu\n {2}kubelet {2}"2"\n {2}shim {5}"3"\nmay differ: .*kubelet server\n/,
    );
    expect(text).toMatch(/\d+ fields are the same, 1 may differ, 1 must not and do\n$/);
  });
});

describe("npm run compare-kubelet -- FILE", () => {
  const folder = temporaryFolder();
  afterAll(() => folder.remove());
  const file = join(folder.path, "node.json");
  const flags = ["--hostname-override", "edge-1", "--max-pods", "7"];
  const run = (...args: string[]) =>
    spawnSync(process.execPath, ["test/lab/kubelet/main.ts", ...args], { cwd: ROOT, encoding: "utf8" });
  const previewed = execFileSync(process.execPath, ["node-shim/main.ts", "preview", ...flags], { cwd: ROOT });

  it("the Node of this machine → 0; with another capacity → 1, and the field", async () => {
    const { parse } = await import("yaml");
    const node = parse(previewed.toString()) as { kind: string };
    writeFileSync(file, JSON.stringify(node));
    expect(run(file, ...flags)).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/ 0 must not and do\n$/),
    });
    expect(run(file, "--hostname-override", "edge-1", "--max-pods", "8")).toMatchObject({
      status: 1,
      stdout: expect.stringMatching(
        /^differs: status\.capacity\.pods\n {2}kubelet {2}"7"\n {2}shim {5}"8"\n/,
      ),
    });
  });

  it("no Node in the file → 1, and what to pass; a flag that does not exist → 2", () => {
    writeFileSync(file, "{}");
    expect(run(file)).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/holds no Node: kubectl get node/),
    });
    expect(run("--bogus").status).toBe(2);
  });

  it("a story that does not exist → 2, and which there are", () => {
    expect(run("--events", "cordon,fire")).toMatchObject({
      status: 2,
      stderr: expect.stringMatching(/"fire" is none of: none, runtime, /),
    });
  });
});
