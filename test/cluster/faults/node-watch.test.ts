// What others do to Nodes is known in seconds: kubectl, kubelets, controllers, an apiserver that fails, and an etcd that
// is restored. On a real etcd, kube-apiserver and kube-controller-manager.
import { hostname } from "node:os";
import { CoreV1Api, RbacAuthorizationV1Api, type V1Node } from "@kubernetes/client-node";
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import type {
  AuditAnswer,
  ClusterHistoryAnswer,
  HistoryAnswer,
} from "../../../shared/protocol/operator-answers.ts";
import { eventually, partOf } from "../../e2e/local-cluster.ts";
import { controllerManagerOf, type RealCluster, startRealCluster } from "./cluster.ts";
import { kindOf, kindsOf, refusal } from "./node-lists.ts";
import { stripLabel, stripLabelByPolicy } from "./stripped-labels.ts";
import { labelsOf, type WatchedNodes, watchedNodes } from "./watched-nodes.ts";

const assets = process.env["KUBEBUILDER_ASSETS"] ?? "";
/** Reports each second. The simulated machines do every 9.4 to 9.8 s, as a real one does. */
const MACHINE = hostname().toLowerCase();
const SIMULATED = 20;
const MACHINE_LABEL = "rollcall.dev/machine";
const DEPLOYMENT_LABEL = "rollcall.dev/deployment";

describe.skipIf(assets === "")("the Nodes are watched", () => {
  let cluster: RealCluster;
  let nodes: WatchedNodes;
  let core: CoreV1Api;
  const measured: string[] = [];

  beforeAll(async () => {
    cluster = await startRealCluster(assets, SIMULATED);
    core = cluster.admin.makeApiClient(CoreV1Api);
    nodes = await watchedNodes(cluster, assets);
    await eventually(
      async () => (await nodes.watch())?.message === `live, ${SIMULATED + 1} Nodes, 0 changes wait`,
    );
  });

  afterAll(async () => {
    console.log(measured.join("\n"));
    nodes.end();
    await cluster.stop();
  });

  afterEach(async ({ task }) => {
    if (task.result?.state !== "fail") return;
    const asked = cluster.proxy.asked.slice(-20).map(({ line, query }) => `${line}?${query.toString()}`);
    const known = await Promise.all([nodes.watch(), nodes.ask("/v1/cluster/history")].map(settled));
    console.log(task.name, JSON.stringify({ known, asked }, null, 2));
  });

  const getNode = (name: string) => core.readNode({ name });
  const reasons = { cordon: "NodeNotSchedulable", uncordon: "NodeSchedulable" };
  const hasLabel = (name: string, label: string, sinceMs: number) =>
    nodes.nodeWrites(name, sinceMs).some((write) => label in labelsOf(write));

  /**
   * Says how long it took; the test's own timeout bounds it. Without the watch a machine's object finds out within five
   * minutes or more, which is longer than a test has.
   */
  const measure = async (what: string, sinceMs: number, ask: () => Promise<boolean>) => {
    await eventually(ask);
    measured.push(`${what}: ${Math.max(0, Date.now() - sinceMs)} ms`);
  };

  describe.concurrent("somebody else", () => {
    it.skipIf(controllerManagerOf(assets) === undefined)(
      "the node controller gives a silent machine up → its history says so",
      async () => {
        const { pid } = await partOf(cluster.start, "shim");
        process.kill(pid, "SIGSTOP");
        try {
          const stoppedMs = Date.now();
          await eventually(async () => readyOf(await getNode(MACHINE)) === "Unknown");
          const unknownMs = Date.now();
          const isSilent = async () => {
            const { entries } = await nodes.ask<HistoryAnswer>(`/v1/nodes/${MACHINE}/history`);
            return entries.some(({ text }) => text.startsWith("silent since"));
          };
          await measure("Unknown → silent", unknownMs, isSilent);
          await measure("last report → silent", stoppedMs, isSilent);
        } finally {
          process.kill(pid, "SIGCONT");
        }
      },
    );

    it("takes our label away whenever it is there → put back a few times, then once an hour only, and history says so", async () => {
      const startedMs = Date.now();
      const { strips, stop } = await stripLabel(cluster.admin, "sim-1", DEPLOYMENT_LABEL);
      const isGivenIn = async () => {
        const { entries } = await nodes.ask<HistoryAnswer>("/v1/nodes/sim-1/history");
        return entries.some(({ text }) =>
          text.startsWith(`put back once an hour only: label ${DEPLOYMENT_LABEL}`),
        );
      };
      await eventually(isGivenIn);
      await eventually(async () => nodes.firstRenewalMs("sim-1", Date.now() - 1000) < Infinity);
      await stop();
      const writes = nodes.nodeWrites("sim-1", startedMs).length;
      measured.push(`taken away ${strips()} times in ${Date.now() - startedMs} ms: ${writes} writes`);
      expect(writes).toBeLessThanOrEqual(4);
    });

    it("has an admission policy take our label away → written no more often than reports come; without it, there again", async () => {
      const startedMs = Date.now();
      const { stop } = await stripLabelByPolicy(cluster.admin, "sim-2", MACHINE_LABEL);
      const afterReport = () => nodes.nodeWrites("sim-2", nodes.firstRenewalMs("sim-2", startedMs));
      await eventually(async () => afterReport().length > 0);
      await stop();
      const writes = nodes.nodeWrites("sim-2", startedMs).length;
      measured.push(`taken away by a policy for ${Date.now() - startedMs} ms: ${writes} writes`);
      // The first one when the policy is tried.
      expect(writes).toBeLessThanOrEqual(3);
      await eventually(async () => (await getNode("sim-2")).metadata?.labels?.[MACHINE_LABEL] !== undefined);
    });

    it("cordons and uncordons → an event", async () => {
      for (const verb of ["cordon", "uncordon"] as const) {
        const startedMs = Date.now();
        const doneMs = await nodes.kubectl(`${verb} sim-3`);
        const hasEvent = async () => nodes.hasEvent("sim-3", reasons[verb], startedMs);
        await measure(`${verb} → ${reasons[verb]}`, doneMs, hasEvent);
      }
    });

    it.each([
      ["sim-4", MACHINE_LABEL],
      ["sim-5", DEPLOYMENT_LABEL],
    ])("takes a label of ours off %s (%s) → it is there again", async (name, label) => {
      const startedMs = Date.now();
      const doneMs = await nodes.kubectl(`label node ${name} ${label}-`);
      await measure(`${label} removed → there`, doneMs, async () => hasLabel(name, label, startedMs));
      expect((await getNode(name)).metadata?.labels).toHaveProperty([label]);
    });

    it("adds a resource to the capacity → it is allocatable", async () => {
      const patch = JSON.stringify({ status: { capacity: { "example.com/dongle": "3" } } });
      const doneMs = await nodes.kubectl(`patch node sim-6 --subresource=status --type=merge -p ${patch}`);
      const isAllocatable = async () =>
        (await getNode("sim-6")).status?.allocatable?.["example.com/dongle"] === "3";
      await measure("capacity → allocatable", doneMs, isAllocatable);
    });

    it.each([
      ["sim-7", "its lease stays", false],
      ["sim-8", "the garbage collector takes its lease along", true],
    ])("deletes %s, and %s → `node deleted`", async (name, _, isCollected) => {
      const doneMs = await nodes.kubectl(`delete node ${name}`);
      if (isCollected) await nodes.kubectl(`delete lease -n kube-node-lease ${name}`);
      const isKnown = async () => (await nodes.phaseOf(name)) === "node deleted";
      await measure(`deleted (${_}) → known`, doneMs, isKnown);
    });

    it("starts a kubelet under the name → `name taken` with its first heartbeat", async () => {
      const lastHeartbeatTime = new Date(Date.now() + 1000).toISOString().replace(/\.\d+/, "");
      const ready = { type: "Ready", status: "True", reason: "KubeletReady", lastHeartbeatTime };
      const patch = JSON.stringify({ status: { conditions: [ready] } });
      const doneMs = await nodes.kubectl(
        `patch node sim-9 --subresource=status --type=strategic --field-manager=kubelet -p ${patch}`,
      );
      const isKnown = async () => (await nodes.phaseOf("sim-9")) === "name taken";
      await measure("a kubelet's heartbeat → name taken", doneMs, isKnown);
    });

    it("takes a label of their own away → nothing is written", async () => {
      const startedMs = Date.now();
      await nodes.kubectl("label node sim-10 example.com/row=7");
      await nodes.kubectl("label node sim-10 example.com/row-");
      // Changes of a Node are noticed in their order.
      await nodes.kubectl("cordon sim-10");
      await eventually(async () => nodes.hasEvent("sim-10", "NodeNotSchedulable", startedMs));
      expect(nodes.nodeWrites("sim-10", startedMs)).toEqual([]);
    });

    it("makes a Node with our label and no machine → no object is made for it, and nothing is in the audit log", async () => {
      const objects = nodes.objects();
      await core.createNode({
        body: { metadata: { name: "stranger", labels: { [DEPLOYMENT_LABEL]: "rollcall" } } },
      });
      const startedMs = Date.now();
      await nodes.kubectl("cordon sim-11");
      await eventually(async () => nodes.hasEvent("sim-11", "NodeNotSchedulable", startedMs));
      await eventually(nodes.isSettled);
      expect(nodes.objects()).toBe(objects);
      const { entries } = await nodes.ask<AuditAnswer>("/v1/audit");
      expect(entries.filter(({ target }) => target === "stranger")).toEqual([]);
      expect(cluster.proxy.asked.filter(({ line }) => line.includes("stranger"))).toEqual([]);
    });
  });

  describe("without the right to list and watch Nodes, as in a ClusterRole of before", () => {
    let rights: RbacAuthorizationV1Api;
    const ROLE = { name: "rollcall" };
    const isAllowed = async (may: boolean) => {
      const body = await rights.readClusterRole(ROLE);
      for (const rule of body.rules ?? []) {
        if (!rule.resources?.includes("nodes")) continue;
        rule.verbs = rule.verbs.filter((verb) => verb !== "list" && verb !== "watch");
        if (may) rule.verbs.push("list", "watch");
      }
      await rights.replaceClusterRole({ ...ROLE, body });
    };

    it("→ readiness warns with the cure, and all goes on as without the watch; allowed again → live", async () => {
      rights = cluster.admin.makeApiClient(RbacAuthorizationV1Api);
      const startedMs = Date.now();
      await isAllowed(false);
      onTestFinished(() => isAllowed(true));
      cluster.proxy.endWatches();
      await eventually(async () => (await nodes.watch())?.state === "warning");
      expect(await nodes.watch()).toMatchObject({
        message: expect.stringMatching(/cannot (list|watch) resource "nodes"/),
        cure: expect.stringContaining("kubectl apply -f infra/rbac/rollcall.yaml"),
      });
      expect(await nodes.rollcall("cluster")).toMatch(
        /^\S+ +the Nodes are not watched: .*cannot (list|watch) resource/m,
      );
      // Its status is written every two seconds, and its Node read before.
      await nodes.kubectl(`cordon ${MACHINE}`);
      await nodes.kubectl(`label node ${MACHINE} ${MACHINE_LABEL}-`);
      await nodes.kubectl("cordon sim-6");
      await eventually(
        async () =>
          nodes.hasEvent(MACHINE, reasons.cordon, startedMs) && hasLabel(MACHINE, MACHINE_LABEL, startedMs),
      );
      await isAllowed(true);
      const allowedMs = Date.now();
      await measure("allowed again → live", allowedMs, nodes.isLive);
      await eventually(async () => nodes.hasEvent("sim-6", reasons.cordon, startedMs));
      expect(await nodes.rollcall("cluster")).toMatch(/the Nodes are watched again: away/);
    });
  });

  describe("what others did meanwhile is not missed", () => {
    /** One Node is cordoned, one loses our label, one is deleted. */
    const change = async ([cordoned, stripped, deleted]: readonly [string, string, string]) => {
      const startedMs = Date.now();
      await Promise.all([
        nodes.kubectl(`cordon ${cordoned}`),
        nodes.kubectl(`label node ${stripped} ${DEPLOYMENT_LABEL}-`),
        nodes.kubectl(`delete node ${deleted}`),
      ]);
      return startedMs;
    };
    const isKnown = async (names: readonly [string, string, string], sinceMs: number) =>
      nodes.hasEvent(names[0], reasons.cordon, sinceMs) &&
      hasLabel(names[1], DEPLOYMENT_LABEL, sinceMs) &&
      (await nodes.phaseOf(names[2])) === "node deleted";
    /** Lists and watches since the `from`th request. */
    const askedSince = (from: number) => kindsOf(cluster.proxy.asked.slice(from));

    /** The Worker cannot put it back as long as the proxy is as it is then. */
    const withoutLabel = async (name: string, label: string) => {
      cluster.proxy.inBetween = async ({ line }) =>
        line === `PATCH /api/v1/nodes/${name}/status` ? refusal(503, "ServiceUnavailable") : undefined;
      await nodes.kubectl(`label node ${name} ${label}-`);
    };

    it("410 for the watch, 410 for the second page of a list, then 429 → listed again each time", async () => {
      const names = ["sim-12", "sim-13", "sim-14"] as const;
      const from = cluster.proxy.asked.length;
      let startedMs = 0;
      const answers: Record<string, () => Promise<ReturnType<typeof refusal>>> = {
        async watch() {
          startedMs = await change(names);
          const { text } = refusal(410, "Expired");
          return { code: 200, text: `{"type":"ERROR","object":${text}}\n`, headers: {} };
        },
        more: async () => refusal(410, "Expired"),
        again: async () => refusal(429, "TooManyRequests", { "retry-after": "1" }),
      };
      cluster.proxy.inBetween = async (asked) => {
        const kind = kindOf(asked);
        if (!kind) return undefined;
        if (kind !== "watch") asked.query.set("limit", "7");
        const isAgain = kind === "list" && answers["more"] === undefined;
        const which = isAgain ? "again" : kind;
        const answer = answers[which];
        delete answers[which];
        return answer?.();
      };
      cluster.proxy.endWatches();
      await eventually(async () => startedMs > 0 && (await isKnown(names, startedMs)));
      await eventually(nodes.isLive);
      cluster.proxy.inBetween = undefined;
      const pages = ["list", "more", "more"];
      expect(askedSince(from).slice(0, 8)).toEqual(["watch", "list", "more", "list", ...pages, "watch"]);
    });

    it("the apiserver starts anew, and etcd has forgotten the version from which the watch goes on → listed again", async () => {
      const names = ["sim-18", "sim-19", "sim-20"] as const;
      const from = cluster.proxy.asked.length;
      const isOver = Promise.withResolvers<void>();
      // It goes on from a version that is as old as the cut is long.
      cluster.proxy.inBetween = async (asked) => {
        if (kindOf(asked) === "watch") await isOver.promise;
      };
      cluster.proxy.endWatches();
      const startedMs = await change(names);
      await cluster.storage.compact();
      await cluster.storage.restart("as it is");
      const upMs = Date.now();
      isOver.resolve();
      await measure("apiserver up → known", upMs, () => isKnown(names, startedMs));
      await eventually(nodes.isLive);
      cluster.proxy.inBetween = undefined;
      measured.push(`asked between the apiservers: ${askedSince(from).join(", ")}`);
      expect(askedSince(from)).toContain("list");
    });

    it("the Worker is killed, and started again", async () => {
      const names = ["sim-15", "sim-16", "sim-17"] as const;
      await nodes.killWorker();
      const startedMs = await change(names);
      await nodes.startWorker();
      const upMs = Date.now();
      await measure("Worker up → known", upMs, () => isKnown(names, startedMs));
      await eventually(nodes.isLive);
    });

    it("etcd is restored from yesterday → the Nodes are right again, and what comes later is noticed", async () => {
      await nodes.kubectl("cordon sim-11");
      await withoutLabel("sim-10", MACHINE_LABEL);
      await cluster.storage.backUp();
      cluster.proxy.inBetween = undefined;
      // A day is long: what comes later has a much higher version.
      await cluster.storage.age(1000);
      await nodes.kubectl("uncordon sim-11");
      const changedMs = await nodes.kubectl("cordon sim-4");
      await eventually(async () => nodes.hasEvent("sim-4", reasons.cordon, changedMs - 3000));
      const from = cluster.proxy.asked.length;
      const killedMs = Date.now();
      const isUp = Promise.withResolvers<void>();
      // A watch that fails once alone goes on from the version that it had.
      cluster.proxy.inBetween = async (asked) => {
        if (kindOf(asked)) await isUp.promise;
      };
      await cluster.storage.restart("backup");
      isUp.resolve();
      const upMs = Date.now();
      const isRight = async () =>
        hasLabel("sim-10", MACHINE_LABEL, killedMs) &&
        nodes.hasEvent("sim-11", reasons.cordon, killedMs) &&
        nodes.hasEvent("sim-4", reasons.uncordon, killedMs);
      await measure("restored → right", upMs, isRight);
      await eventually(nodes.isSettled);
      expect((await getNode("sim-10")).metadata?.labels).toHaveProperty([MACHINE_LABEL]);
      const { entries } = await nodes.ask<ClusterHistoryAnswer>("/v1/cluster/history");
      expect(entries.map(({ text }) => text)).toContainEqual(
        expect.stringContaining("the versions of the cluster's objects went back"),
      );
      const reads = cluster.proxy.asked
        .slice(from)
        .filter(({ line }) => line.startsWith("GET /api/v1/nodes/"));
      measured.push(`Nodes read after the restore: ${reads.length} of ${SIMULATED + 1}`);
      const doneMs = await nodes.kubectl("cordon sim-3");
      await measure("cordon after the restore → event", doneMs, async () =>
        nodes.hasEvent("sim-3", reasons.cordon, upMs),
      );
    });
  });
});

/** What came of it, or that nothing does. */
async function settled(work: Promise<unknown>): Promise<unknown> {
  const late = new Promise((done) => setTimeout(done, 5000, "no answer in 5 s"));
  return Promise.race([work.catch(String), late]);
}

function readyOf(node: V1Node): string | undefined {
  return node.status?.conditions?.find(({ type }) => type === "Ready")?.status;
}
