// The parts of a Node that are ours beside kubectl, on a real kube-apiserver with the Worker's own rights: what is removed
// comes back, what an operator sets stays, what the machine says changes, and its taints do not. Runs where
// KUBEBUILDER_ASSETS names a folder with etcd, kube-apiserver and kubectl.
import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Node } from "../../shared/kubernetes/types.ts";
import { type Cluster, kubectl, startReal } from "../e2e/kubectl.ts";
import { inThisProcess } from "../e2e/own-worker.ts";
import { eventually, partOf, type Start, startLocal, temporaryFolder } from "../e2e/local-cluster.ts";

const NODE = hostname().toLowerCase();
const assets = process.env["KUBEBUILDER_ASSETS"] ?? "";
/** Fast, so that the tests are; the Node is looked at with every second report. */
const CONFIGURATION = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
nodeStatusUpdateFrequency: 1s
nodeStatusReportFrequency: 2s
`;
const TAINTED = `${CONFIGURATION}registerWithTaints:
  - { key: example.com/later, effect: NoSchedule }
`;

/** What becomes of a Node's label `unwanted`. */
const MUTATIONS = [
  {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "MutatingAdmissionPolicy",
    metadata: { name: "unwanted" },
    spec: {
      matchConstraints: {
        resourceRules: [
          {
            apiGroups: [""],
            apiVersions: ["v1"],
            operations: ["CREATE", "UPDATE"],
            resources: ["nodes", "nodes/status"],
          },
        ],
      },
      matchConditions: [{ name: "has", expression: "'unwanted' in object.metadata.?labels.orValue({})" }],
      failurePolicy: "Fail",
      reinvocationPolicy: "Never",
      mutations: [
        {
          patchType: "JSONPatch",
          jsonPatch: { expression: '[JSONPatch{op: "remove", path: "/metadata/labels/unwanted"}]' },
        },
      ],
    },
  },
  {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "MutatingAdmissionPolicyBinding",
    metadata: { name: "unwanted" },
    spec: { policyName: "unwanted" },
  },
];

describe.skipIf(assets === "")("a Node's parts, on a real kube-apiserver", () => {
  const folder = temporaryFolder();
  const configuration = join(folder.path, "kubelet.yaml");
  const state = join(folder.path, "state");
  let cluster: Cluster;
  let start: Start;
  let shim: { process: ChildProcess; ended: Promise<unknown> } | undefined;

  const run = (...args: string[]) => kubectl(join(assets, "kubectl"), cluster, { args });
  const label = async (...args: string[]) =>
    expect(await run("label", "node", NODE, ...args)).toMatchObject({ code: 0, stderr: "" });
  const node = async () => JSON.parse((await run("get", "node", NODE, "-o", "json")).stdout) as Node;
  const labelIs = (key: string, value: string | undefined) =>
    eventually(async () => (await node()).metadata?.labels?.[key] === value);
  /** Two more heartbeats are written: the Worker has looked at the Node and decided about it since. */
  const looked = async () => {
    const of = async () =>
      (await node()).status?.conditions?.find(({ type }) => type === "Ready")?.lastHeartbeatTime;
    for (let times = 0; times < 2; times++) {
      const before = await of();
      await eventually(async () => (await of()) !== before);
    }
  };

  /** The shim starts again with these flags more. */
  async function restart(...flags: string[]): Promise<void> {
    const { pid, command } = await partOf(start, "shim");
    if (shim) {
      shim.process.kill("SIGTERM");
      await shim.ended;
    } else process.kill(pid, "SIGTERM");
    const child = spawn("sh", ["-c", `exec ${command} ${flags.join(" ")}`], { stdio: "ignore" });
    shim = { process: child, ended: new Promise((done) => child.once("exit", done)) };
  }

  /** What the operator's command line prints, in lines. */
  async function rollcall(...words: string[]): Promise<string[]> {
    const text = readFileSync(join(state, "state.json"), "utf8");
    const { workerPort } = JSON.parse(text) as { workerPort: number };
    const secret = ["--secret-file", join(state, "admin-secret")];
    const args = ["--url", `http://127.0.0.1:${workerPort}`, ...secret, "node", ...words, NODE];
    return (await inThisProcess(args, {})).stdout.split("\n");
  }
  const history = () => rollcall("history");

  beforeAll(async () => {
    cluster = await startReal(assets);
    writeFileSync(configuration, CONFIGURATION);
    start = startLocal([
      "--state",
      state,
      "--kubeconfig",
      cluster.kubeconfig,
      "--yes",
      "--config",
      configuration,
    ]);
    await start.printed(new RegExp(`node ${NODE} is Ready`));
  });

  afterAll(async () => {
    shim?.process.kill("SIGTERM");
    await shim?.ended;
    start.process.kill("SIGINT");
    await start.ended;
    await cluster.stop();
    folder.remove();
  });

  it("labels that the machine says by now → there without a new Node; the Node's uid stays", async () => {
    const before = (await node()).metadata?.uid;
    await restart("--node-labels", "shop=17,tier=front");
    await labelIs("tier", "front");
    await labelIs("shop", "17");
    expect((await node()).metadata?.uid).toBe(before);
  });

  it("a label of ours that kubectl removes → comes back", async () => {
    await label("shop-");
    await labelIs("shop", "17");
  });

  it("a value that kubectl sets → stays, also when the machine says another; history says whose it is", async () => {
    await label("tier=back", "--overwrite", "--field-manager=fleet-team");
    await looked();
    await restart("--node-labels", "tier=middle");
    await labelIs("shop", undefined);
    await looked();
    expect((await node()).metadata?.labels).toMatchObject({ tier: "back" });
    const said = (await history()).filter((line) => line.includes("label tier"));
    expect(said).toEqual([expect.stringMatching(/ label tier stays as fleet-team has set it$/)]);
  });

  it("that kubectl removes again → is ours again", async () => {
    await label("tier-", "--field-manager=fleet-team");
    await labelIs("tier", "middle");
  });

  it("a label that kubectl adds → stays when the machine's go", async () => {
    await label("team=blue");
    await restart();
    await labelIs("tier", undefined);
    await looked();
    expect((await node()).metadata?.labels).toMatchObject({ team: "blue" });
  });

  it("taints that the machine says by now → the Node's stay, and history says so", async () => {
    const before = (await node()).spec?.taints;
    writeFileSync(configuration, TAINTED);
    await restart();
    const said =
      /the taints of the Node stay: it does not get example.com\/later:NoSchedule; .*rollcall node register/;
    await eventually(async () => (await history()).some((text) => said.test(text)));
    await looked();
    expect((await node()).spec?.taints).toEqual(before);
  });

  it("and the Node is made anew, as history says → it has them", async () => {
    const before = (await node()).metadata?.uid;
    const deletions = async () => (await history()).filter((line) => line.includes("node deleted")).length;
    const known = await deletions();
    expect(await run("delete", "node", NODE)).toMatchObject({ code: 0 });
    // Noticed after the command, the deletion would count as one that came after it.
    await eventually(async () => (await deletions()) > known);
    await rollcall("register");
    await eventually(async () => (await node()).metadata?.uid !== before);
    const taints = (await node()).spec?.taints;
    expect(taints).toContainEqual({ key: "example.com/later", effect: "NoSchedule" });
  });

  it("a policy of the cluster that removes a label from each write → not fought with", async () => {
    const input = MUTATIONS.map((each) => JSON.stringify(each)).join("\n---\n");
    const applied = await kubectl(join(assets, "kubectl"), cluster, { args: ["apply", "-f", "-"], input });
    expect(applied).toMatchObject({ code: 0 });
    await restart("--node-labels", "unwanted=yes");
    const said = "put back once an hour only: label unwanted (undone on its way into the cluster";
    await eventually(async () => (await history()).some((line) => line.includes(said)));
    await looked();
    expect((await node()).metadata?.labels).not.toHaveProperty("unwanted");
  });
});
