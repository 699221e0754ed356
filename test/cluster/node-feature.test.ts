// Tests NodeFeature objects on a real apiserver: a Worker with FEATURES=NodeFeature, node-feature-discovery's definitions,
// and nfd-master, which labels the Nodes by the objects. Needs `npm run neighbours -- --build`.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Facts } from "../../shared/protocol/facts.ts";
import { ROOT } from "../e2e/local-cluster.ts";
import type { SimulatedMachine } from "../e2e/simulated-machine.ts";
import { missingProgram, programOf, sourcesOf } from "../neighbours/programs.ts";
import { type RealDeployment, startDeployment } from "./deployment.ts";
import { assets, KUBECTL, TURN_MS } from "./servers.ts";

const NAMESPACE = "node-feature-discovery";
const PREFIX = "feature.node.kubernetes.io/";
const WITHIN_MS = 30_000;
const missing = missingProgram("nfd-master");

const features = (...vendors: string[]): Partial<Facts> => ({
  features: {
    flags: { "cpu.cpuid": ["AVX"] },
    attributes: { "kernel.version": { full: "6.12.1", major: "6" } },
    instances: {
      "pci.device": { attributes: ["class", "vendor"], rows: vendors.map((vendor) => ["0300", vendor]) },
    },
  },
});
const RULE = {
  apiVersion: "nfd.k8s-sigs.io/v1alpha1",
  kind: "NodeFeatureRule",
  metadata: { name: "gpus" },
  spec: {
    rules: [
      {
        name: "nvidia",
        labels: { "example.com/gpu": "nvidia" },
        matchFeatures: [
          { feature: "pci.device", matchExpressions: { vendor: { op: "In", value: ["10de"] } } },
        ],
      },
    ],
  },
};

describe.skipIf(assets === "" || missing !== null)(`nfd-master and our NodeFeatures${missing ?? ""}`, () => {
  let deployment: RealDeployment;
  let master: ChildProcess | undefined;
  let first: SimulatedMachine;
  beforeAll(async () => {
    deployment = await startDeployment({ FEATURES: "NodeFeature" });
  }, TURN_MS);
  afterAll(async () => {
    master?.kill();
    await deployment?.stop();
  });

  function kubectl(args: readonly string[], input?: string): string {
    const environment = { ...process.env, KUBECONFIG: deployment.kubeconfig };
    return execFileSync(KUBECTL, args, {
      env: environment,
      stdio: "pipe",
      encoding: "utf8",
      ...(input !== undefined && { input }),
    });
  }
  interface Read {
    metadata: { uid: string; labels: Record<string, string>; annotations: Record<string, string> };
    spec: { labels: Record<string, string>; features: { instances: Record<string, unknown> } };
  }
  function read(...args: string[]): Read | undefined {
    const text = kubectl(["get", ...args, "--ignore-not-found", "-o", "json"]);
    return text === "" ? undefined : (JSON.parse(text) as Read);
  }
  const objectOf = (name: string) => read("nodefeatures", name, "-n", NAMESPACE);
  const labelsOf = (name: string) => read("node", name)?.metadata.labels ?? {};
  const shown = async (name: string) => (await deployment.worker.rollcall(["node", name])).stdout;
  async function until(what: () => boolean | Promise<boolean>): Promise<void> {
    const endMs = Date.now() + WITHIN_MS;
    while (!(await what())) {
      if (Date.now() > endMs) throw new Error(`not within ${WITHIN_MS} ms: ${what.toString()}`);
      await pause(200);
    }
  }
  function startMaster(nodeName: string): ChildProcess {
    const args = ["-kubeconfig", deployment.kubeconfig, "-port", "0"];
    const environment = { ...process.env, NODE_NAME: nodeName, KUBERNETES_NAMESPACE: NAMESPACE };
    return spawn(programOf("nfd-master"), args, { env: environment, stdio: "ignore" });
  }
  const grant = { mayLabel: [], mayFeature: ["*"], labels: { "example.com/site": "berlin" } };

  it("without NFD → the machine stays Ready, and operators read the reason", async () => {
    kubectl(["apply", "-f", join(ROOT, "infra/rbac/node-features.yaml")]);
    first = await deployment.machine(1, grant);
    expect(await first.report(features("10de"))).toBe("registered");
    await until(async () => (await shown("sim-1")).includes("node-feature-discovery is not installed"));
    expect(await first.report(features("10de"))).toBe("registered");
  });

  it("with NFD → our objects; nfd-master labels by them and by its rules, and leaves our labels alone", async () => {
    kubectl(["create", "namespace", NAMESPACE]);
    const definitions = join(sourcesOf("nfd-master"), "deployment/base/nfd-crds/nfd-api-crds.yaml");
    kubectl(["apply", "--server-side", "-f", definitions]);
    kubectl(["wait", "--for=condition=Established", "crd/nodefeatures.nfd.k8s-sigs.io"]);
    kubectl(["apply", "-f", "-"], JSON.stringify(RULE));
    const [gpu, narrow, none] = [
      await deployment.machine(2, grant),
      await deployment.machine(3, { ...grant, mayFeature: ["pci-*"] }),
      await deployment.machine(4, { mayLabel: [] }),
    ];
    for (const each of [gpu, narrow, none]) expect(await each.report(features("10de"))).toBe("registered");
    await until(() => objectOf("sim-2") !== undefined && objectOf("sim-3") !== undefined);
    expect(objectOf("sim-4")).toBeUndefined();
    expect(objectOf("sim-3")?.spec.features).toEqual({ attributes: {}, flags: {}, instances: {} });

    const before = labelsOf("sim-2");
    master = startMaster("sim-2");
    await until(() => labelsOf("sim-2")["example.com/gpu"] === "nvidia");
    expect(labelsOf("sim-2")).toEqual({
      ...before,
      "example.com/gpu": "nvidia",
      [`${PREFIX}cpu-cpuid.AVX`]: "true",
      [`${PREFIX}kernel-version.full`]: "6.12.1",
      [`${PREFIX}kernel-version.major`]: "6",
      [`${PREFIX}pci-0300_10de.present`]: "true",
      [`${PREFIX}pci-10de.present`]: "true",
    });
    // No rule has matched here: the token allows labels of features, and not the features.
    await until(() => labelsOf("sim-3")[`${PREFIX}pci-10de.present`] === "true");
    expect(Object.keys(labelsOf("sim-3")).filter((key) => /gpu|cpu/.test(key))).toEqual([]);
    expect(labelsOf("sim-3")["example.com/site"]).toBe("berlin");
    expect(Object.keys(labelsOf("sim-4")).filter((key) => key.startsWith(PREFIX))).toEqual([]);

    // A status that the Worker writes afterwards takes back nothing of that.
    expect(await gpu.report({ ...features(), images: [] })).toBe("registered");
    await until(() => labelsOf("sim-2")[`${PREFIX}pci-10de.present`] === undefined);
    await until(() => labelsOf("sim-2")["example.com/gpu"] === undefined);
    expect(labelsOf("sim-2")).toMatchObject({ ...before, [`${PREFIX}cpu-cpuid.AVX`]: "true" });
  });

  describe("the Worker's account may not", () => {
    const created = (metadata: object = {}) => ({
      apiVersion: "nfd.k8s-sigs.io/v1alpha1",
      kind: "NodeFeature",
      metadata: {
        name: "sim-9",
        namespace: NAMESPACE,
        labels: { "nfd.node.kubernetes.io/node-name": "sim-9" },
        annotations: { "rollcall.dev/owner": "rollcall" },
        ownerReferences: [{ apiVersion: "v1", kind: "Node", name: "sim-9", uid: "1" }],
        ...metadata,
      },
      spec: { features: { attributes: {}, flags: {}, instances: {} } },
    });
    const account = "system:serviceaccount:rollcall-system:rollcall";
    const asAccount = ["--as", account, "--as-group", "system:serviceaccounts:rollcall-system"];
    function refusal(args: readonly string[], object?: object): string {
      try {
        kubectl([...args, "--dry-run=server", ...asAccount], object && JSON.stringify(object));
        return "allowed";
      } catch (error) {
        return (error as { stderr: string }).stderr;
      }
    }

    it.each<[what: string, metadata: object, rule: string]>([
      [
        "write into another namespace",
        { namespace: "default" },
        "are in the namespace node-feature-discovery",
      ],
      [
        "write without its annotation",
        { annotations: {} },
        "with the annotation rollcall.dev/owner=rollcall",
      ],
      [
        "write about another Node",
        { labels: { "nfd.node.kubernetes.io/node-name": "sim-2" } },
        "is about the Node whose name it has",
      ],
      ["write without an owner", { ownerReferences: [] }, "belongs to the Node whose name it has"],
      [
        "write for another Node as the owner",
        { ownerReferences: [{ apiVersion: "v1", kind: "Node", name: "sim-2", uid: "1" }] },
        "belongs to the Node whose name it has",
      ],
      ["set a finalizer", { finalizers: ["example.com/stay"] }, "finalizers of a NodeFeature"],
    ])("%s", (_, metadata, rule) => {
      expect(refusal(["create", "-f", "-"], created(metadata))).toContain(rule);
    });

    it("delete another writer's, or touch NFD's rules", () => {
      const object = created({ name: "theirs", annotations: {} });
      kubectl(["create", "-f", "-"], JSON.stringify(object));
      const path = ["-n", NAMESPACE, "nodefeature", "theirs"];
      expect(refusal(["delete", ...path])).toContain("is not of the deployment rollcall");
      expect(refusal(["create", "-f", "-"], { ...RULE, metadata: { name: "mine" } })).toContain("forbidden");
      kubectl(["delete", ...path]);
    });

    it("but an object as the Worker writes it is allowed", () => {
      expect(refusal(["create", "-f", "-"], created())).toBe("allowed");
    });
  });

  it("the machine of before → `rollcall node register` publishes at once", async () => {
    await deployment.worker.rollcall(["node", "register", "sim-1"]);
    expect(await first.report(features("10de"))).toBe("registered");
    await until(() => objectOf("sim-1") !== undefined);
  });

  it("a NodeFeature of another writer → stays, and operators read the reason", async () => {
    const labels = { "nfd.node.kubernetes.io/node-name": "sim-6" };
    const theirs = {
      ...RULE,
      kind: "NodeFeature",
      metadata: { name: "sim-6", namespace: NAMESPACE, labels },
    };
    const spec = { features: { attributes: {}, flags: {}, instances: {} }, labels: { [`${PREFIX}a`]: "b" } };
    kubectl(["create", "-f", "-"], JSON.stringify({ ...theirs, spec }));
    const machine = await deployment.machine(6, grant);
    expect(await machine.report(features("10de"))).toBe("registered");
    await until(async () => (await shown("sim-6")).includes("features are not published"));
    expect(objectOf("sim-6")?.spec.labels).toEqual({ [`${PREFIX}a`]: "b" });
  });

  it("a revoked machine, and a forgotten one → their objects and labels go", async () => {
    expect((await deployment.worker.rollcall(["revoke", "sim-1", "--yes"])).code).toBe(0);
    await until(() => objectOf("sim-1") === undefined);
    await until(() => labelsOf("sim-1")[`${PREFIX}pci-10de.present`] === undefined);
    expect(read("node", "sim-1")).toBeDefined();
    expect((await deployment.worker.rollcall(["forget", "sim-2", "--yes"])).code).toBe(0);
    await until(() => objectOf("sim-2") === undefined && read("node", "sim-2") === undefined);
  });
});
