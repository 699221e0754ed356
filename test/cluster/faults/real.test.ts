// The faults that the apiserver's own semantics decide, on a real etcd, kube-apiserver and kube-controller-manager.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import {
  ApiException,
  type Cluster,
  CoordinationV1Api,
  CoreV1Api,
  KubeConfig,
  type V1Lease,
  V1MicroTime,
  type V1Node,
} from "@kubernetes/client-node";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { eventually, partOf, ROOT } from "../../e2e/local-cluster.ts";
import { type Neighbour, registerNeighbour } from "../../e2e/neighbour.ts";
import { expectNoTimeMovedBack } from "../../faults/invariants.ts";
import { daemonSets, runKubectl } from "./daemon-sets.ts";
import { controllerManagerOf, type RealCluster, startRealCluster } from "./cluster.ts";

const NODE = hostname().toLowerCase();
const assets = process.env["KUBEBUILDER_ASSETS"] ?? "";
const LEASES = { name: NODE, namespace: "kube-node-lease" };
const LEASE_LINE = `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${NODE}`;
const CONDITIONS = ["MemoryPressure", "DiskPressure", "PIDPressure", "Ready"];

describe.skipIf(assets === "")("on a real kube-apiserver", () => {
  let cluster: RealCluster;
  let core: CoreV1Api;
  let coordination: CoordinationV1Api;

  const getNode = () => core.readNode({ name: NODE });
  const getLease = () => coordination.readNamespacedLease(LEASES);
  const isReady = (node: V1Node) => statusesOf(node).at(-1) === "True";
  const renewTimeOf = (lease: V1Lease) => String(lease.spec?.renewTime);
  const renewedAfter = (time: string) => eventually(async () => renewTimeOf(await getLease()) > time);
  const readyAgain = () => eventually(async () => isReady(await getNode()));
  const ownEvents = async () => {
    const { items } = await core.listNamespacedEvent({
      namespace: "default",
      fieldSelector: `involvedObject.name=${NODE}`,
    });
    return items
      .filter(({ source }) => source?.component === "rollcall")
      .map(({ reason, count }) => `${reason} ×${count}`)
      .toSorted();
  };

  beforeAll(async () => {
    cluster = await startRealCluster(assets);
    core = cluster.admin.makeApiClient(CoreV1Api);
    coordination = cluster.admin.makeApiClient(CoordinationV1Api);
    await cluster.start.printed(new RegExp(`node ${NODE} is Ready`));
    // The last one of a start.
    await eventually(async () => (await ownEvents()).includes("NodeHasSufficientPID ×1"));
  });

  afterEach(async () => {
    cluster.proxy.inBetween = undefined;
    await readyAgain();
    await renewedAfter(renewTimeOf(await getLease()));
    expectNoTimeMovedBack(cluster.proxy.writes);
  });

  afterAll(() => cluster.stop());

  /** `act` happens right before the first request of this kind reaches the apiserver; resolves once it has. */
  const once = (line: RegExp, act: () => Promise<unknown>) =>
    new Promise<void>((done, failed) => {
      cluster.proxy.inBetween = async (asked) => {
        if (!line.test(asked.line)) return;
        cluster.proxy.inBetween = undefined;
        await act().then(() => done(), failed);
      };
    });

  it("a refused connection → the lease is renewed again once there is one, and no event is recorded twice", async () => {
    const before = await ownEvents();
    await cluster.proxy.refuse();
    const { spec } = await getLease();
    await cluster.proxy.accept();
    await renewedAfter(String(spec?.renewTime));
    await readyAgain();
    expect(await ownEvents()).toEqual(before);
  });

  it.each([
    ["401", "Bearer nonsense"],
    ["403", undefined],
  ])("%s → nothing is written; let in again → renewed", async (_, authorization) => {
    const before = await ownEvents();
    const refused = Promise.withResolvers<void>();
    let asked = 0;
    cluster.proxy.inBetween = async ({ line, headers }) => {
      if (!line.includes(NODE)) return;
      if (authorization === undefined) delete headers.authorization;
      else headers.authorization = authorization;
      if (++asked > 4) refused.resolve();
    };
    await refused.promise;
    const { metadata } = await getLease();
    cluster.proxy.inBetween = undefined;
    await eventually(async () => (await getLease()).metadata?.resourceVersion !== metadata?.resourceVersion);
    expect(await ownEvents()).toEqual(before);
  });

  it("409 on the lease, which somebody else has written → renewed over what is there, which stays", async () => {
    await once(new RegExp(`^PUT ${LEASE_LINE}$`), async () => {
      const lease = await getLease();
      if (lease.metadata) lease.metadata.labels = { "example.com/shop": "north" };
      await coordination.replaceNamespacedLease({ ...LEASES, body: lease });
    });
    const lease = await getLease();
    await renewedAfter(renewTimeOf(lease));
    expect((await getLease()).metadata?.labels).toEqual({ "example.com/shop": "north" });
  });

  it("409 on the Node, which somebody else has written → patched all the same, and theirs stays", async () => {
    const patches = cluster.proxy.writes.length;
    await once(new RegExp(`^PATCH /api/v1/nodes/${NODE}/status$`), async () => {
      const node = await getNode();
      if (node.metadata) node.metadata.labels = { ...node.metadata.labels, "example.com/row": "7" };
      await core.replaceNode({ name: NODE, body: node });
    });
    await eventually(async () =>
      cluster.proxy.writes.slice(patches).some(({ request }) => request.startsWith("PATCH")),
    );
    expect((await getNode()).metadata?.labels?.["example.com/row"]).toBe("7");
  });

  describe.skipIf(controllerManagerOf(assets) === undefined)("with kube-controller-manager", () => {
    let neighbour: Neighbour;
    beforeAll(async () => {
      neighbour = await registerNeighbour(cluster.admin);
    });
    afterAll(() => neighbour.remove());

    const isUnknown = (node: V1Node) => statusesOf(node).every((status) => status === "Unknown");
    const taintsOf = (node: V1Node) =>
      (node.spec?.taints ?? [])
        .filter(({ key }) => key === "node.kubernetes.io/unreachable")
        .map(({ effect }) => effect)
        .toSorted();
    const unknownAndTainted = () =>
      eventually(async () => {
        await neighbour.renew();
        const node = await getNode();
        return isUnknown(node) && taintsOf(node).length === 2 && node;
      });
    const wellAgain = () =>
      eventually(async () => {
        await neighbour.renew();
        const node = await getNode();
        return isReady(node) && taintsOf(node).length === 0 && node;
      });

    it("silence → all four conditions Unknown and both taints; the next report → Ready, and the taints go", async () => {
      const { pid } = await partOf(cluster.start, "shim");
      process.kill(pid, "SIGSTOP");
      const node = await unknownAndTainted().finally(() => process.kill(pid, "SIGCONT"));
      expect(taintsOf(node)).toEqual(["NoExecute", "NoSchedule"]);
      expect(statusesOf(await wellAgain())).toEqual(["False", "False", "False", "True"]);
    });

    it("apiserver unreachable from the Worker → Unknown; reachable again → Ready, and the taints go", async () => {
      await cluster.proxy.refuse();
      try {
        await eventually(async () => {
          await neighbour.renew();
          return isUnknown(await getNode());
        });
      } finally {
        await cluster.proxy.accept();
      }
      await wellAgain();
    });
  });

  describe.skipIf(controllerManagerOf(assets) === undefined)("DaemonSets that tolerate everything", () => {
    it("→ want pods on our Nodes; patched as docs/cluster.md says → on those with a kubelet alone", async () => {
      const page = readFileSync(join(ROOT, "docs/cluster.md"), "utf8");
      const commands = page.match(/^ {4}kubectl patch daemonset .*$/gm) ?? [];
      const sets = daemonSets(cluster.admin);
      const wanted = (count: number) => {
        const each = { "kube-proxy": count, "kube-flannel-ds": count, "node-exporter": count };
        return eventually(async () => JSON.stringify(await sets.desired()) === JSON.stringify(each));
      };
      const withKubelet = { metadata: { name: "with-kubelet", labels: { "kubernetes.io/os": "linux" } } };
      await core.createNode({ body: withKubelet });
      try {
        const { items } = await core.listNode();
        await sets.install();
        await wanted(items.length);
        runKubectl(assets, cluster.admin, commands);
        await wanted(1);
      } finally {
        await sets.remove();
        await core.deleteNode({ name: "with-kubelet" });
      }
    });
  });

  describe("somebody else", () => {
    /** A Node that is lost stays so until the shim starts again. */
    const restartShim = async () => {
      const { pid, command } = shims.at(-1) ?? (await partOf(cluster.start, "shim"));
      process.kill(pid, "SIGKILL");
      const child = spawn("sh", ["-c", `exec ${command}`], { stdio: "ignore" });
      shims.push({ pid: child.pid as number, command });
    };
    const shims: { pid: number; command: string }[] = [];

    afterAll(() => {
      for (const { pid } of shims.slice(-1)) process.kill(pid, "SIGKILL");
    });

    it("a kubelet that is started under the same name → it is not written over; where it has gone, the next shim goes on at the latest", async () => {
      // A shim that has just started still registers, and would do so once the kubelet's lease is over.
      await renewedAfter(renewTimeOf(await getLease()));
      const renewTime = new V1MicroTime();
      // A PUT of the Worker's may come in between.
      await eventually(async () => {
        const body = await getLease();
        Object.assign(body.spec ?? {}, { renewTime });
        const written = coordination.replaceNamespacedLease({ ...LEASES, body, fieldManager: "kubelet" });
        return written.then(
          () => true,
          () => false,
        );
      });
      const isTold = async () => (await ownEvents()).includes("NodeNameTaken ×1");
      await eventually(isTold);
      const lease = await getLease();
      expect(renewTimeOf(lease)).toBe(renewTime.toISOString());
      const overMs = Date.parse(renewTimeOf(lease)) + (lease.spec?.leaseDurationSeconds ?? 0) * 1000;
      await eventually(async () => Date.now() > overMs);
      // A notice that the Node has changed has the next report look, which takes a name that is free by then.
      const found = renewTimeOf(await getLease());
      if (found !== renewTimeOf(lease)) expect(Date.parse(found)).toBeGreaterThanOrEqual(overMs);
      await restartShim();
      await renewedAfter(renewTimeOf(lease));
    });

    it.each([
      ["deletes the Node between GET and PATCH (404)", false],
      ["makes another one in between", true],
    ])(
      "%s → nothing more is written; the next shim makes it anew where there is none",
      async (_, isMadeAnew) => {
        const looked = Promise.withResolvers<void>();
        await once(new RegExp(`^PATCH /api/v1/nodes/${NODE}/status$`), async () => {
          await core.deleteNode({ name: NODE });
          if (isMadeAnew) await core.createNode({ body: { metadata: { name: NODE } } });
          cluster.proxy.inBetween = async ({ line }) => {
            if (line === `GET /api/v1/nodes/${NODE}`) looked.resolve();
          };
        });
        const writes = cluster.proxy.writes.length;
        await looked.promise;
        if (isMadeAnew) {
          expect((await getNode()).metadata?.annotations?.["rollcall.dev/owner"]).toBeUndefined();
          await core.deleteNode({ name: NODE });
        }
        await restartShim();
        await readyAgain();
        const next = cluster.proxy.writes.slice(writes).find(({ object }) => object.kind === "Node");
        expect(next?.request).toBe("POST /api/v1/nodes");
      },
    );

    it("makes another one in between, and offers it → the next shim adopts it, within the admission policies", async () => {
      // While the Worker still asks something: of a Node that is lost it asks no more.
      await policiesInForce();
      const taint = { key: "example.com/other", effect: "NoSchedule" };
      const metadata = { name: NODE, annotations: { "rollcall.dev/adopt": "rollcall" } };
      await once(new RegExp(`^PATCH /api/v1/nodes/${NODE}/status$`), async () => {
        await core.deleteNode({ name: NODE });
        await core.createNode({ body: { metadata, spec: { taints: [taint] } } });
        await coordination.deleteNamespacedLease(LEASES);
      });
      const { metadata: made } = await getNode();
      await restartShim();
      await readyAgain();
      const { metadata: adopted, spec } = await getNode();
      expect(adopted?.uid).toBe(made?.uid);
      expect(adopted?.annotations).toMatchObject({ "rollcall.dev/owner": "rollcall" });
      expect(adopted?.annotations).not.toHaveProperty(["rollcall.dev/adopt"]);
      expect(spec?.taints).toContainEqual(taint);
      expect(spec?.taints).toContainEqual({ key: "rollcall.dev/facts-only", effect: "NoSchedule" });
    });
  });

  /** What the Worker's account may not do is refused. */
  async function policiesInForce(): Promise<void> {
    const authorization = new Promise<string>((seen) => {
      cluster.proxy.inBetween = async ({ headers }) => seen(headers.authorization ?? "");
    });
    const token = (await authorization).replace("Bearer ", "");
    cluster.proxy.inBetween = undefined;
    const account = new KubeConfig();
    account.loadFromClusterAndUser(cluster.admin.getCurrentCluster() as Cluster, { name: "worker", token });
    const nodes = account.makeApiClient(CoreV1Api);
    const body = { metadata: { name: "unowned" } };
    await eventually(() =>
      nodes.createNode({ body, dryRun: "All" }).then(
        () => false,
        (error: unknown) => error instanceof ApiException && error.code === 422,
      ),
    );
  }
});

function statusesOf(node: V1Node): (string | undefined)[] {
  return CONDITIONS.map((wanted) => node.status?.conditions?.find(({ type }) => type === wanted)?.status);
}
