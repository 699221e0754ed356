// Tests the Worker's watch of Nodes with a real etcd, kube-apiserver and kube-controller-manager. Covers the node
// and DaemonSet controllers, admission policies, roles, a compacted storage, and a restored storage.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  CoreV1Api,
  RbacAuthorizationV1Api,
  type V1Node,
  type V1OwnerReference,
  VersionApi,
} from "@kubernetes/client-node";
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { COMPARED_MINORS } from "../../shared/from-report/kubelet-version.ts";
import type { ClusterHistoryAnswer, HistoryAnswer } from "../../shared/protocol/operator-answers.ts";
import { eventually, ROOT } from "../e2e/local-cluster.ts";
import { daemonSets } from "./daemon-sets.ts";
import type { Asked } from "./proxy.ts";
import { send } from "../infra/local/apiserver/test-server.ts";
import { assets, hasControllerManager, TURN_MS, testServer } from "./servers.ts";
import { storageOf } from "./storage.ts";
import { stripLabelByPolicy } from "./stripped-labels.ts";
import { EAGER, labelsOf, startWatchedPlace, type WatchedPlace } from "./watched-place.ts";

const MACHINES = 14;
const MACHINE_LABEL = "rollcall.dev/machine";
const STRIPPED_LABEL = "node.kubernetes.io/exclude-from-external-load-balancers";
const DEPLOYMENT_LABEL = "rollcall.dev/deployment";
const CONDITIONS = ["MemoryPressure", "DiskPressure", "PIDPressure", "Ready"];
const REASONS = { cordon: "NodeNotSchedulable", uncordon: "NodeSchedulable" };

describe.skipIf(assets === "")("the Nodes are watched", () => {
  let watched: WatchedPlace;
  let core: CoreV1Api;

  beforeAll(async () => {
    watched = await startWatchedPlace(MACHINES);
    core = watched.place.admin.makeApiClient(CoreV1Api);
    await eventually(
      async () => (await watched.watch())?.message === `live, ${MACHINES} Nodes, 0 changes wait`,
    );
  }, TURN_MS);
  afterAll(() => watched?.stop());

  afterEach(async ({ task }) => {
    if (task.result?.state !== "fail") return;
    const asked = watched.proxy.asked.slice(-20).map(({ line, query }) => `${line}?${query.toString()}`);
    const known = await Promise.all([watched.watch(), watched.ask("/v1/cluster/history")].map(settled));
    console.log(task.name, JSON.stringify({ known, asked }, null, 2));
  });

  const getNode = (name: string) => core.readNode({ name });
  const hasLabel = (name: string, label: string, sinceMs: number) =>
    watched.nodeWrites(name, sinceMs).some((write) => label in labelsOf(write));

  it("the Nodes report the apiserver's minor version, at most the newest compared one", async () => {
    const { minor } = await watched.place.admin.makeApiClient(VersionApi).getCode();
    const reported = Math.min(parseInt(minor, 10), COMPARED_MINORS.newest);
    const { items } = await core.listNode({ labelSelector: MACHINE_LABEL });
    const versions = items.map(({ status }) => status?.nodeInfo?.kubeletVersion.replace(/0-rollcall-.*/, ""));
    expect(versions).toEqual(Array.from({ length: MACHINES }, () => `v1.${reported}.`));
  });

  describe.concurrent("changed by other writers", () => {
    it.skipIf(!hasControllerManager)(
      "a machine is silent → Unknown with both taints, and its history has both; its next report → Ready, without the taints",
      async () => {
        const silent = watched.machines.get("sim-1")!;
        await silent.shim.stop();
        const taintsOf = (node: V1Node) =>
          (node.spec?.taints ?? [])
            .filter(({ key }) => key === "node.kubernetes.io/unreachable")
            .map(({ effect }) => effect)
            .toSorted();
        const node = await eventually(async () => {
          const found = await getNode("sim-1");
          return taintsOf(found).length === 2 && found;
        });
        expect(statusesOf(node)).toEqual(CONDITIONS.map(() => "Unknown"));
        expect(taintsOf(node)).toEqual(["NoExecute", "NoSchedule"]);
        await eventually(async () => {
          const { entries } = await watched.ask<HistoryAnswer>("/v1/nodes/sim-1/history");
          return entries.some(({ text }) => text.startsWith("silent since"));
        });
        silent.machine.run();
        await eventually(async () => {
          const found = await getNode("sim-1");
          return taintsOf(found).length === 0 && statusesOf(found).at(-1) === "True";
        });
        expect(statusesOf(await getNode("sim-1"))).toEqual(["False", "False", "False", "True"]);
      },
    );

    it("an admission policy removes our label at every write → written again a few times, then once an hour, as the history shows", async ({
      onTestFinished,
      skip,
    }) => {
      const { minor } = await watched.place.admin.makeApiClient(VersionApi).getCode();
      skip(Number.parseInt(minor, 10) < 36, "Kubernetes has this policy in v1 since 1.36");
      const startedMs = Date.now();
      const { stop } = await stripLabelByPolicy(watched.place.admin, "sim-2", STRIPPED_LABEL);
      onTestFinished(stop);
      // The first write from which the policy removes the label is the test's own. So the history may lack the name of
      // another writer.
      const given = `put back once an hour only: label ${STRIPPED_LABEL}`;
      await eventually(async () => {
        const { entries } = await watched.ask<HistoryAnswer>("/v1/nodes/sim-2/history");
        return entries.some(({ text }) => text.startsWith(given));
      });
      await eventually(async () => watched.firstRenewalMs("sim-2", Date.now() - 500) < Infinity);
      expect(watched.nodeWrites("sim-2", startedMs).length).toBeLessThanOrEqual(4);
      expect((await getNode("sim-2")).metadata?.labels).not.toHaveProperty([STRIPPED_LABEL]);
    });

    it("pods are bound to a Node without a kubelet → Failed with NoKubelet; of a controller → Pending; deleted → gone", async ({
      onTestFinished,
    }) => {
      const namespace = "stranded";
      await core.createNamespace({ body: { metadata: { name: namespace } } });
      const owner = { apiVersion: "batch/v1", kind: "Job", name: "j", uid: "u", controller: true };
      const create = (name: string, ownerReferences: V1OwnerReference[] = [], nodeName = "sim-4") =>
        core.createNamespacedPod({
          namespace,
          body: {
            metadata: { name, ownerReferences },
            spec: {
              nodeName,
              automountServiceAccountToken: false,
              containers: [{ name: "main", image: "example.com/i" }],
              tolerations: [{ operator: "Exists" }],
            },
          },
        });
      const pods = async () => (await core.listNamespacedPod({ namespace })).items;
      const phasesOf = async () =>
        Object.fromEntries(
          (await pods()).map(({ metadata, status }) => [
            metadata?.name,
            `${status?.phase} ${status?.reason ?? ""}`,
          ]),
        );
      await create("elsewhere", [], "with-a-kubelet");
      await create("of-a-job", [owner]);
      await create("debugger");
      await eventually(async () => (await phasesOf())["debugger"] !== "Pending ");
      expect(await phasesOf()).toEqual({
        debugger: "Failed NoKubelet",
        "of-a-job": "Pending ",
        elsewhere: "Pending ",
      });

      // The policy limits the account's rights to what the Worker does.
      const path = (name: string) => `/api/v1/namespaces/${namespace}/pods/${name}`;
      // The server's turn goes on until the last test of this file.
      const { server, stop } = testServer({ ...watched.server, release: () => undefined });
      onTestFinished(stop);
      const ask = async (method: string, url: string, body: object) => {
        const sent = { method, path: `${url}?dryRun=All`, body, token: watched.kubeToken };
        return (await send(server, method === "PATCH" ? { ...sent, type: "merge" } : sent)).text;
      };
      const failed = (reason: string) => ({ status: { phase: "Failed", reason } });
      expect(await ask("PATCH", `${path("of-a-job")}/status`, failed("NoKubelet"))).toContain(
        "without a controller",
      );
      expect(await ask("PATCH", `${path("elsewhere")}/status`, failed("Evicted"))).toContain(
        "with the reason NoKubelet",
      );
      expect(await ask("PATCH", `${path("debugger")}/status`, failed("NoKubelet"))).toContain(
        "no kubelet has accepted",
      );
      expect(await ask("DELETE", path("elsewhere"), {})).toContain("that another user has deleted");
      expect(await ask("PATCH", path("elsewhere"), { metadata: { labels: { a: "b" } } })).toContain(
        "cannot patch",
      );

      await core.deleteCollectionNamespacedPod({ namespace, fieldSelector: "spec.nodeName=sim-4" });
      await eventually(async () => (await pods()).length === 1);
    });

    it.skipIf(!hasControllerManager)(
      "DaemonSets of Linux that tolerate everything → want pods only on Nodes with a kubelet; of any platform, patched as docs/cluster.md says → the same",
      async () => {
        const page = readFileSync(join(ROOT, "docs/cluster.md"), "utf8");
        const commands = page.match(/(?<=^ {4}kubectl )patch daemonset .*$/gm) ?? [];
        const sets = daemonSets(watched.place.admin);
        const wanted = (count: number) => {
          const each = { "kube-proxy": count, "kube-flannel-ds": count, "node-exporter": count };
          return eventually(async () => JSON.stringify(await sets.desired()) === JSON.stringify(each));
        };
        const withKubelet = { metadata: { name: "with-kubelet", labels: { "kubernetes.io/os": "linux" } } };
        await core.createNode({ body: withKubelet });
        try {
          await sets.install();
          await wanted(1);
          await sets.remove();
          await sets.install(true);
          await wanted(MACHINES + 1);
          watched.kubectl(...commands);
          await wanted(1);
        } finally {
          await sets.remove();
          await core.deleteNode({ name: "with-kubelet" });
        }
      },
    );
  });

  it("without the right to list and watch Nodes → readiness warns with the remedy, and all continues as without the watch", async () => {
    const rights = watched.place.admin.makeApiClient(RbacAuthorizationV1Api);
    const role = { name: "rollcall" };
    const allow = async (may: boolean) => {
      const body = await rights.readClusterRole(role);
      for (const rule of body.rules ?? []) {
        if (!rule.resources?.includes("nodes")) continue;
        rule.verbs = rule.verbs.filter((verb) => verb !== "list" && verb !== "watch");
        if (may) rule.verbs.push("list", "watch");
      }
      await rights.replaceClusterRole({ ...role, body });
    };
    const startedMs = Date.now();
    await allow(false);
    onTestFinished(() => allow(true));
    watched.proxy.endWatches();
    await eventually(async () => (await watched.watch())?.state === "warning");
    expect(await watched.watch()).toMatchObject({
      message: expect.stringMatching(/cannot (list|watch) resource "nodes"/) as string,
      cure: expect.stringContaining("kubectl apply -f infra/rbac/rollcall.yaml") as string,
    });
    const history = async () => (await watched.place.worker.rollcall(["cluster"])).stdout;
    expect(await history()).toMatch(/^\S+ +the Nodes are not watched: .*cannot (list|watch) resource/m);
    watched.kubectl(`cordon ${EAGER}`, `label node ${EAGER} ${MACHINE_LABEL}-`);
    await eventually(
      async () =>
        watched.hasEvent(EAGER, REASONS.cordon, startedMs) && hasLabel(EAGER, MACHINE_LABEL, startedMs),
    );
  });

  describe("changes by others during an outage are not missed", () => {
    type Changed = readonly [cordoned: string, stripped: string, deleted: string];
    const change = ([cordoned, stripped, deleted]: Changed) => {
      const startedMs = Date.now();
      watched.kubectl(
        `cordon ${cordoned}`,
        `label node ${stripped} ${DEPLOYMENT_LABEL}-`,
        `delete node ${deleted}`,
      );
      return startedMs;
    };
    const isKnown = async (names: Changed, sinceMs: number) =>
      watched.hasEvent(names[0], REASONS.cordon, sinceMs) &&
      hasLabel(names[1], DEPLOYMENT_LABEL, sinceMs) &&
      (await watched.phaseOf(names[2])) === "node deleted";

    it("the Worker is killed, and started again", async () => {
      const names = ["sim-7", "sim-8", "sim-9"] as const;
      let startedMs = 0;
      await watched.place.worker.startAgain("killed", () => (startedMs = change(names)));
      await eventually(() => isKnown(names, startedMs));
      await eventually(watched.isLive);
    });

    it("etcd is restored from yesterday's backup → the Nodes are right again, and later changes are noticed", async () => {
      const storage = storageOf(watched.server);
      watched.kubectl("cordon sim-10");
      // The proxy refuses the Worker's write of the label until the backup is made, so that the backup lacks the
      // label.
      watched.proxy.inBetween = async ({ line }) =>
        line === "PATCH /api/v1/nodes/sim-11/status" ? SERVICE_UNAVAILABLE : undefined;
      watched.kubectl(`label node sim-11 ${MACHINE_LABEL}-`);
      storage.backUp();
      watched.proxy.inBetween = undefined;
      // etcd's revision rises as in a day of writes, so that the restored etcd is far behind.
      await storage.age(1000);
      const changedMs = Date.now();
      watched.kubectl("uncordon sim-10", "cordon sim-12");
      await eventually(async () => watched.hasEvent("sim-12", REASONS.cordon, changedMs));
      const restoredMs = Date.now();
      const isUp = Promise.withResolvers<void>();
      // Lists and watches wait until etcd has started: after a single failure the Worker's watch would continue
      // from its last version.
      watched.proxy.inBetween = async (asked) => {
        if (kindOf(asked)) await isUp.promise;
      };
      await storage.restore();
      isUp.resolve();
      await eventually(
        async () =>
          hasLabel("sim-11", MACHINE_LABEL, restoredMs) &&
          watched.hasEvent("sim-10", REASONS.cordon, restoredMs) &&
          watched.hasEvent("sim-12", REASONS.uncordon, restoredMs),
      );
      await eventually(watched.isSettled);
      expect((await getNode("sim-11")).metadata?.labels).toHaveProperty([MACHINE_LABEL]);
      const { entries } = await watched.ask<ClusterHistoryAnswer>("/v1/cluster/history");
      expect(entries.map(({ text }) => text)).toContainEqual(
        expect.stringContaining("the versions of the cluster's objects went back"),
      );
      const laterMs = Date.now();
      watched.kubectl("cordon sim-13");
      await eventually(async () => watched.hasEvent("sim-13", REASONS.cordon, laterMs));
    });
  });
});

const SERVICE_UNAVAILABLE = {
  code: 503,
  text: JSON.stringify({
    kind: "Status",
    apiVersion: "v1",
    status: "Failure",
    code: 503,
    reason: "ServiceUnavailable",
  }),
};

/** Returns whether a request lists or watches Nodes; undefined for any other request. */
function kindOf({ line, query }: Pick<Asked, "line" | "query">): "list" | "watch" | undefined {
  if (line !== "GET /api/v1/nodes") return undefined;
  return query.has("watch") ? "watch" : "list";
}

/** Resolves with the result of `work`, with its error as a text, or with "no answer in 5 s". */
async function settled(work: Promise<unknown>): Promise<unknown> {
  const late = new Promise((done) => setTimeout(done, 5000, "no answer in 5 s"));
  return Promise.race([work.catch(String), late]);
}

function statusesOf(node: V1Node): (string | undefined)[] {
  return CONDITIONS.map((wanted) => node.status?.conditions?.find(({ type }) => type === wanted)?.status);
}
