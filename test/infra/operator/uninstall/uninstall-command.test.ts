// Tests rollcall uninstall --cluster: its calls of kubectl, their order, and its messages when a call fails.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { SHARED_OBJECTS } from "../../../../infra/operator/uninstall/cluster-objects.ts";
import { uninstallCommand } from "../../../../infra/operator/uninstall/uninstall-command.ts";
import { playAlone } from "../played.ts";
import { failure, success } from "../../../../shared/result.ts";
import { ROOT } from "../../../e2e/local-cluster.ts";

interface MadeUpCluster {
  /** The objects of all namespaces as `kind/name`. */
  objects: string[];
  /** For each Node's name, the deployment that owns the Node. */
  owners: Record<string, string>;
  secrets?: Record<string, string>;
  /** rollcall-way and its objects, in the form in which `kubectl get` prints them. */
  way?: string[];
  /** The object whose deletion fails. */
  stuck?: string;
}

async function run(args: string[], cluster: MadeUpCluster, types?: string) {
  const asked: string[] = [];
  const clusters = new Set<string>();
  const lines = (texts: readonly string[]) => success(texts.map((text) => `${text}\n`).join(""));
  const kubectl = (words: readonly string[]) => {
    asked.push(words.filter((word) => !word.startsWith("--")).join(" "));
    clusters.add(words.find((word) => word.startsWith("--kubeconfig=")) ?? "kubectl's default");
    if (words[0] === "api-resources") return Promise.resolve(lines(["secrets", "deployments.apps"]));
    return Promise.resolve(words[0] === "delete" ? removed(words) : found(words));
  };
  const found = ([, what = "", ...rest]: readonly string[]) => {
    if (what === "nodes" || what === "leases")
      return lines(Object.entries(cluster.owners).map(([name, owner]) => `${name}\t${owner}`));
    const isNamespace = (line: string) => line.startsWith("v1\tNamespace\t");
    if (what === "namespaces") return lines((cluster.way ?? []).filter(isNamespace));
    if (what === "secrets,deployments.apps")
      return lines((cluster.way ?? []).filter((line) => !isNamespace(line)));
    if (what === "secrets")
      return lines(Object.entries(cluster.secrets ?? {}).map(([name, account]) => `${name}\t${account}`));
    if (what === "serviceaccounts")
      return lines(cluster.objects.filter((each) => each.startsWith("serviceaccount/")));
    return lines([what, ...rest].filter((each) => cluster.objects.includes(each)));
  };
  const removed = ([, ...names]: readonly string[]) => {
    if (cluster.stuck !== undefined && names.includes(cluster.stuck))
      return failure("kubectl delete: timed out");
    cluster.objects = cluster.objects.filter((each) => !names.includes(each));
    cluster.way = (cluster.way ?? []).filter((line) => !names.some((name) => isLineOf(line, name)));
    for (const name of names) {
      const [kind, own = ""] = name.split("/");
      if (kind === "node")
        cluster.owners = Object.fromEntries(Object.entries(cluster.owners).filter(([each]) => each !== own));
      if (kind === "secret") delete cluster.secrets?.[own];
    }
    return success("");
  };
  const words = ["uninstall", ...args];
  const ended = await playAlone((program) => uninstallCommand(program, kubectl), words, types);
  return {
    ...ended,
    asked,
    clusters: [...clusters],
    deleted: asked.filter((line) => line.startsWith("delete")),
  };
}

function isLineOf(line: string, name: string): boolean {
  const [, kind = "", own = ""] = line.split("\t");
  return name.replace(/\.[^/]+/, "") === `${kind.toLowerCase()}/${own}`;
}

const ALL = SHARED_OBJECTS.flatMap(({ names }) => names);
const whole = (): MadeUpCluster => ({
  objects: ["serviceaccount/default", "serviceaccount/rollcall", ...ALL],
  owners: { "edge-1": "rollcall", kubelet: "" },
  secrets: { rollcall: "", "rollcall-without-end": "rollcall", others: "" },
});

it("the account goes first, then leases, Nodes and what all have together; in the end nothing is left", async () => {
  const { code, stdout, deleted } = await run(["--cluster"], whole(), "y");
  expect(code).toBe(0);
  expect(stdout).toMatch(/\nremoved, and nothing of it is left\n$/);
  expect(deleted.slice(0, 4)).toEqual([
    "delete serviceaccount/rollcall secret/rollcall secret/rollcall-without-end -n rollcall-system",
    "delete lease.coordination.k8s.io/edge-1 -n kube-node-lease",
    "delete node/edge-1",
    "delete rolebinding.rbac.authorization.k8s.io/rollcall role.rbac.authorization.k8s.io/rollcall -n kube-node-lease",
  ]);
  expect(deleted.at(-1)).toBe("delete namespace/rollcall-system");
});

test.each<[string, Partial<MadeUpCluster>, string]>([
  ["account", { objects: ["serviceaccount/east", "serviceaccount/rollcall", ...ALL] }, "east"],
  ["Nodes", { owners: { "edge-1": "rollcall", "east-1": "east" } }, "east"],
])("another deployment's %s → it keeps what it needs", async (_, more, other) => {
  const cluster = { ...whole(), ...more };
  const { code, stdout, deleted } = await run(["--cluster", "--yes"], cluster);
  expect(code).toBe(0);
  expect(stdout).toContain(`  roles, policies and the namespace stay: ${other} needs them\n`);
  expect([deleted.length, ALL.every((name) => cluster.objects.includes(name))]).toEqual([3, true]);
});

const WAY = [
  "v1\tNamespace\trollcall-way\trollcall\t",
  "apps/v1\tDeployment\tcloudflared\trollcall\t",
  "v1\tSecret\tcloudflared-credentials\t\t",
  "v1\tPod\tcloudflared-1\trollcall\tReplicaSet",
  "v1\tConfigMap\tkube-root-ca.crt\t\t",
];
const WAY_GOES = ["deployment.apps/cloudflared secret/cloudflared-credentials -n rollcall-way"];

test.each<[situation: string, change: Partial<MadeUpCluster>, deleted: string[], stays: string | undefined]>([
  ["nothing else is there", {}, [...WAY_GOES, "namespace/rollcall-way"], undefined],
  [
    "a Secret of others is there",
    { way: [...WAY, "v1\tSecret\ttheirs\t\t"] },
    WAY_GOES,
    "namespace/rollcall-way stays: not rollcall's are secret/theirs",
  ],
  [
    "it is another one of that name",
    { way: ["v1\tNamespace\trollcall-way\t\t", ...WAY.slice(1)] },
    [],
    "namespace/rollcall-way stays: without the label app.kubernetes.io/part-of=rollcall it is not infra/cloudflare's",
  ],
  [
    "another deployment is there",
    { owners: { "edge-1": "rollcall", "east-1": "east" } },
    [],
    "namespace/rollcall-way stays: east may use it",
  ],
])("the way's namespace, and %s → what is ours goes, at the very end", async (_, change, goes, stays) => {
  const { code, stdout, deleted } = await run(["--cluster", "--yes"], { ...whole(), way: WAY, ...change });
  expect(code).toBe(0);
  const ofWay = deleted.slice(deleted.length - goes.length);
  expect(ofWay).toEqual(goes.map((names) => `delete ${names}`));
  expect(deleted.filter((line) => /rollcall-way/.test(line))).toEqual(ofWay);
  expect(/ {2}(namespace\/rollcall-way stays.*)\n/.exec(stdout)?.[1]).toBe(stays);
});

test.each<[args: string[], types: string | undefined, code: number, message: RegExp]>([
  [[], undefined, 2, /pass --cluster/],
  [["--cluster", "--dry-run"], undefined, 0, /^Of the deployment rollcall would be removed:\n/],
  [["--cluster"], undefined, 1, /pass --yes/],
  [["--cluster"], "n", 1, /nothing was changed/],
  [
    ["--cluster", "--deployment", "west"],
    undefined,
    0,
    /^nothing of the deployment west is in this cluster\n/,
  ],
])("%j, answered %j → %i, and nothing is removed", async (args, types, code, says) => {
  const ended = await run(args, whole(), types);
  expect([ended.code, ended.stdout + ended.stderr]).toEqual([code, expect.stringMatching(says)]);
  expect(ended.deleted).toEqual([]);
});

it.each<[situation: string, args: string[], clusters: string[]]>([
  ["no flag → kubectl's default cluster", [], ["kubectl's default"]],
  ["a state folder → the cluster of its npm start alone", ["--state", "/s"], ["--kubeconfig=/s/kubeconfig"]],
])("%s", async (_, args, clusters) => {
  expect((await run(["--cluster", "--yes", ...args], whole())).clusters).toEqual(clusters);
});

it("what cannot be deleted → 1, the reason, and what to do", async () => {
  const ended = await run(["--cluster", "--yes"], { ...whole(), stuck: "node/edge-1" });
  expect([ended.code, ended.stderr]).toEqual([
    1,
    "rollcall: kubectl delete: timed out; run it again to go on\n",
  ]);
});

it("knows each object that infra/rbac has, but the account and its Secret, which are the deployment's", () => {
  const files = ["rollcall", "flow-control", "pods", "node-features"].map((name) =>
    readFileSync(join(ROOT, `infra/rbac/${name}.yaml`), "utf8"),
  );
  const objects = files.flatMap((text) =>
    parseAllDocuments(text).map((document) => document.toJS() as KubernetesObject),
  );
  const shared = objects.filter(({ kind }) => kind !== "ServiceAccount" && kind !== "Secret").map(named);
  const known = SHARED_OBJECTS.flatMap(({ namespace, names }) =>
    names.map((name) => `${namespace ?? ""} ${name}`),
  );
  expect(known.toSorted()).toEqual(shared.toSorted());
});

interface KubernetesObject {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string };
}

function named({ apiVersion, kind, metadata: { name, namespace = "" } }: KubernetesObject): string {
  const [group, version] = apiVersion.split("/");
  return `${namespace} ${kind.toLowerCase()}${version === undefined ? "" : `.${group}`}/${name}`;
}
