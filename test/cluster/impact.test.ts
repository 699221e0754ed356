// Tests `rollcall impact` with the operator's kubectl on a real kube-apiserver: it finds nothing in a clean
// cluster, then each planted hazard.
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ImpactReport } from "../../infra/impact/impact.ts";
import { eventually, ROOT } from "../e2e/local-cluster.ts";
import { DEFINITIONS, FORMER_FLEET, HAZARDS, NAMESPACE, NODES, POLICY } from "./impact-hazards.ts";
import { type Cluster, clusterAt, kubectl } from "./kubectl.ts";
import { assets, breakableServer, KUBECTL, type ServerInTurn, TURN_MS } from "./servers.ts";

const listOf = (items: readonly object[]) => ({ apiVersion: "v1", kind: "List", items });
const SERVICE_ACCOUNT = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default" } };

describe.skipIf(assets === "")("rollcall impact", () => {
  let server: ServerInTurn;
  let cluster: Cluster;
  const planted: object[] = [];

  beforeAll(async () => {
    server = await breakableServer();
    cluster = clusterAt(server);
  }, TURN_MS);
  afterAll(async () => {
    // Objects are deleted in reverse order: the policy, which was created last, would refuse other deletions.
    await run(["delete", "--ignore-not-found", "--wait=false", "-f", "-"], listOf(planted.toReversed()));
    await cluster?.stop();
    server?.release();
  }, TURN_MS);

  const run = (args: string[], manifest?: object) =>
    kubectl(KUBECTL, cluster, { args, ...(manifest && { input: JSON.stringify(manifest) }) });

  async function plant(manifests: readonly object[]): Promise<void> {
    planted.push(...manifests);
    // The apiserver serves a new definition or namespace only after a moment, so the command is repeated.
    await eventually(async () => (await run(["apply", "-f", "-"], listOf(manifests))).code === 0);
  }

  /** Runs `rollcall impact` as an operator types it. `kubeconfig` replaces the administrator's. */
  function impact(args: string[] = [], kubeconfig = cluster.kubeconfig) {
    const program = [join(ROOT, "infra/operator/main.ts"), "impact", "--kubeconfig", kubeconfig, ...args];
    const { status, stdout, stderr } = spawnSync(process.execPath, program, {
      encoding: "utf8",
      env: {
        ...process.env,
        HOME: cluster.home,
        PATH: `${assets}${delimiter}${process.env["PATH"]}`,
        GOGC: "off",
      },
    });
    return { status, stdout, stderr };
  }

  const reportOf = (args: string[] = [], kubeconfig?: string) => {
    const { status, stdout, stderr } = impact(["-o", "json", ...args], kubeconfig);
    expect(stderr).toBe("");
    return { status, report: JSON.parse(stdout) as ImpactReport };
  };

  test("a clean cluster → nothing, and 0", () => {
    const { status, report } = reportOf(["--upgrade"]);
    expect(report.findings).toEqual([]);
    expect(report.unread).toEqual([]);
    expect(status).toBe(0);
  });

  test("each planted hazard → found, nothing else, and 1", async () => {
    const namespaces = [{ apiVersion: "v1", kind: "Namespace", metadata: { name: NAMESPACE } }];
    const account = {
      ...SERVICE_ACCOUNT,
      metadata: { ...SERVICE_ACCOUNT.metadata, namespace: "kube-system" },
    };
    // Another test file may have created the account already: the command may fail.
    await run(["create", "-f", "-"], account);
    await plant([...namespaces, ...NODES, ...DEFINITIONS]);
    await plant(HAZARDS.flatMap(({ manifests }) => manifests));
    const { status, report } = reportOf(["--machines", "5000", "--node-labels", "site=b"]);
    expect(report.findings.map(({ check, object }) => `${check}: ${object}`).sort()).toEqual(
      HAZARDS.map(({ check, object }) => `${check}: ${object}`).sort(),
    );
    expect(status).toBe(1);
  });

  test("the same as text → no line beyond 80 columns except links", () => {
    const { stdout } = impact();
    const wide = stdout.split("\n").filter((line) => line.length > 80 && !line.includes("https://"));
    expect(wide).toEqual([]);
    expect(stdout).toMatch(/^300 more Nodes of rollcall's in a cluster with 2 Nodes, v1\./);
  });

  test("an account with the role view → the resources that it may not read are named, and all other hazards are found", async () => {
    await plant([
      {
        apiVersion: "rbac.authorization.k8s.io/v1",
        kind: "ClusterRoleBinding",
        metadata: { name: "impact-view" },
        roleRef: {
          apiGroup: "rbac.authorization.k8s.io",
          kind: "ClusterRole",
          name: "system:aggregate-to-view",
        },
        subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "viewer" }],
      },
    ]);
    const config = JSON.parse(readFileSync(cluster.kubeconfig, "utf8")) as { users: { user: object }[] };
    const users = config.users.map((each) => ({ ...each, user: { ...each.user, as: "viewer" } }));
    const file = join(cluster.home, "viewer");
    writeFileSync(file, JSON.stringify({ ...config, users }), { mode: 0o600 });
    const { report } = reportOf([], file);
    const unread = report.unread.map(({ what, why }) => `${what}: ${why}`);
    expect(unread).toEqual(expect.arrayContaining(["nodes: forbidden", "a dry run of a Node: forbidden"]));
    expect(report.findings.map(({ check }) => check)).toContain("daemon-sets");
  });

  test("a policy that refuses such Nodes → its message, by a dry run that creates no Node", async () => {
    await plant(POLICY);
    const node = { apiVersion: "v1", kind: "Node", metadata: { name: "impact-c", labels: { site: "c" } } };
    await eventually(async () => (await run(["create", "--dry-run=server", "-f", "-"], node)).code !== 0);
    const first = reportOf().report.findings.find(({ check }) => check === "dry-run");
    expect(first?.consequence).toContain("denied request: a Node needs a zone");
    expect((await run(["get", "nodes", "-o", "name"])).stdout).toBe("node/impact-a\nnode/impact-b\n");
  });

  test("a fleet of an earlier version, with --upgrade → objects that select it by labels that move", async () => {
    await plant(FORMER_FLEET);
    const moved = reportOf(["--upgrade"]).report.findings.filter(({ check }) => check.startsWith("moved-"));
    expect(moved.map(({ object }) => object)).toEqual([
      "Deployment impact/edge-app",
      "PersistentVolume impact-edge",
    ]);
  });

  test.each<[situation: string, change: (config: string) => string, status: number, says: RegExp]>([
    [
      "no cluster there",
      (config) => config.replace(/127\.0\.0\.1:\d+/, "127.0.0.1:1"),
      5,
      /^rollcall: the cluster cannot be reached: .*refused/,
    ],
    [
      "wrong credentials",
      (config) => config.replace(/"token": *"[^"]*"/, '"token":"wrong"'),
      4,
      /^rollcall: the cluster refuses these credentials/,
    ],
    ["no kubeconfig's form", () => "[", 2, /^rollcall: kubectl: /],
  ])("a kubeconfig with %s → one line, and its exit code", (_, change, status, says) => {
    const file = join(cluster.home, "wrong");
    writeFileSync(file, change(readFileSync(cluster.kubeconfig, "utf8")), { mode: 0o600 });
    const ended = impact([], file);
    expect(ended).toMatchObject({ status, stdout: "" });
    expect(ended.stderr).toMatch(says);
  });

  test("a kubeconfig that is missing → 2", () => {
    expect(impact([], join(cluster.home, "none"))).toMatchObject({ status: 2, stdout: "" });
  });
});
