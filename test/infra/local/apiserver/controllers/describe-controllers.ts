// Tests the controllers' behaviour for users: Nodes become silent and come back, and objects are deleted with their
// owner. Runs with the embedded controllers and with a real kube-controller-manager. Each test continues where the
// former test ended: the number of silent Nodes affects the result.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PERIODS, type TestCluster } from "./test-cluster.ts";
import { UNREADY } from "../../../../../shared/fleet/unready.ts";
import type { Node } from "../../../../../shared/kubernetes/types.ts";
import { unreadyCondition } from "../../../../../shared/node/unready.ts";
import { viewOf } from "../../../../../infra/local/apiserver/controllers/node-view.ts";
import { listOf, fieldsOf, textOf } from "../../../../../infra/local/apiserver/object.ts";
import { type Received, type Sent, send } from "../test-server.ts";

const nodes = "/api/v1/nodes";
const leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
const serviceaccounts = "/api/v1/namespaces/default/serviceaccounts";

const deadlineMs = 40_000;
const stepMs = 250;

/** Returns a condition without its times. */
const condition = (type: string, status: string, rest: object = {}) => ({ type, status, ...rest });
const taint = (name: string, effect: string) => ({ key: `node.kubernetes.io/${name}`, effect });

const types = ["DiskPressure", "MemoryPressure", "PIDPressure", "Ready"];
const allWell = types.map((type) =>
  condition(type, type === "Ready" ? "True" : "False", { reason: "Fine", message: "fine" }),
);
const silent = types.map((type) =>
  condition(type, "Unknown", {
    reason: "NodeStatusUnknown",
    message: "Kubelet stopped posting node status.",
  }),
);
const neverHeard = types.map((type) =>
  condition(type, "Unknown", {
    reason: "NodeStatusNeverUpdated",
    message: "Kubelet never posted node status.",
  }),
);

/**
 * Defines the tests of the controllers, for the cluster that `start` starts. `timeoutMs` limits the time of the
 * start.
 */
export function describeControllers(start: () => Promise<TestCluster>, timeoutMs?: number): void {
  let cluster: TestCluster;
  /** The names of the machines that keep renewing their leases. */
  const alive = new Set<string>();

  beforeAll(async () => {
    cluster = await start();
  }, timeoutMs);
  afterAll(() => cluster?.stop());

  const ask = (sent: Sent) => send(cluster.server, sent);
  const time = () => new Date(cluster.now()).toISOString();
  const microTime = () => time().replace("Z", "000Z");

  async function must(sent: Sent): Promise<Received> {
    const answer = await ask(sent);
    expect(answer.code, answer.text).toBeLessThan(300);
    return answer;
  }

  async function renew(name: string): Promise<void> {
    const body = { spec: { renewTime: microTime() } };
    await must({ method: "PATCH", path: `${leases}/${name}`, type: "merge", body });
  }

  /** Returns the Node's taints and conditions, without their times. */
  async function look(name: string) {
    const { body, code } = await ask({ path: `${nodes}/${name}` });
    if (code !== 200) return { conditions: [], taints: [] };
    const node = viewOf(body);
    return {
      conditions: node.conditions
        .map(({ type, status, reason, message }) => ({ type, status, reason, message }))
        .sort((left, right) => left.type.localeCompare(right.type)),
      taints: node.taints
        .map(({ key, effect }) => ({ key, effect }))
        .sort((left, right) => (left.key + left.effect).localeCompare(right.key + right.effect)),
    };
  }

  /**
   * Lets time pass until `observe` returns `expected`. If the time limit passes first, the failure shows the last
   * observation.
   */
  async function until<T>(observe: () => Promise<T>, expected: unknown): Promise<void> {
    const deadline = cluster.now() + deadlineMs;
    for (;;) {
      const seen = await observe();
      try {
        expect(seen).toEqual(expected);
        return;
      } catch (error) {
        if (cluster.now() > deadline) throw error;
      }
      for (const name of alive) await renew(name);
      await cluster.pass(stepMs);
    }
  }

  /**
   * Expects that `observe` returns `expected` for `forMs`. By default, the controllers would notice a change within
   * this time.
   */
  async function stays<T>(observe: () => Promise<T>, expected: unknown, forMs = 1_000): Promise<void> {
    for (let passedMs = 0; passedMs < forMs; passedMs += stepMs) {
      for (const name of alive) await renew(name);
      await cluster.pass(stepMs);
      expect(await observe()).toEqual(expected);
    }
  }

  async function register(name: string, conditions: object[]): Promise<void> {
    const times = { lastHeartbeatTime: time(), lastTransitionTime: time() };
    const status = { conditions: conditions.map((each) => ({ ...each, ...times })) };
    const { body } = await must({ method: "POST", path: nodes, body: { metadata: { name }, status } });
    const ownerReferences = [{ apiVersion: "v1", kind: "Node", name, uid: body.metadata.uid }];
    const spec = { holderIdentity: name, leaseDurationSeconds: 40, renewTime: microTime() };
    await must({ method: "POST", path: leases, body: { metadata: { name, ownerReferences }, spec } });
  }

  async function report(name: string, changes: Record<string, string>): Promise<void> {
    const conditions = Object.entries(changes).map(([type, status]) => ({
      type,
      status,
      reason: "Fine",
      message: "fine",
      lastHeartbeatTime: time(),
      lastTransitionTime: time(),
    }));
    const path = `${nodes}/${name}/status`;
    await must({ method: "PATCH", path, type: "strategic", body: { status: { conditions } } });
  }

  async function eventsOf(name: string): Promise<string[]> {
    const path = `/api/v1/namespaces/default/events?fieldSelector=involvedObject.name=${name}`;
    const { body } = await ask({ path });
    return listOf(body["items"])
      .map(fieldsOf)
      .map((event) => `${textOf(event["reason"])}: ${textOf(event["message"])}`)
      .sort();
  }

  const isThere = async (path: string) => (await ask({ path })).code === 200;

  describe("a Node's life", () => {
    test("a Ready Node loses the taint it was created with", async () => {
      await register("quiet", allWell);
      await register("lively", allWell);
      alive.add("quiet").add("lively");
      await until(() => look("quiet"), { conditions: allWell, taints: [] });
      await until(() => look("lively"), { conditions: allWell, taints: [] });
    });

    test("its lease alone keeps it Ready", async () => {
      const longerThanGrace = PERIODS.monitorGracePeriodMs + 1_000;
      await stays(() => look("quiet"), { conditions: allWell, taints: [] }, longerThanGrace);
    });

    test("a Ready that the Worker has set to Unknown keeps reason and message, and so do the others", async () => {
      await register("refused", allWell);
      const node = (await ask({ path: `${nodes}/refused` })).body as Node;
      const body = { status: { conditions: [unreadyCondition(node, UNREADY.revoked, cluster.now())!] } };
      await must({ method: "PATCH", path: `${nodes}/refused/status`, type: "strategic", body });
      const conditions = [...allWell.slice(0, -1), condition("Ready", "Unknown", UNREADY.revoked)];
      const refused = {
        conditions,
        taints: [taint("unreachable", "NoExecute"), taint("unreachable", "NoSchedule")],
      };
      await until(() => look("refused"), refused);
      // The times of the conditions show that the controller has not written the conditions again.
      const { conditions: before } = viewOf((await ask({ path: `${nodes}/refused` })).body);
      await stays(() => look("refused"), refused, PERIODS.monitorGracePeriodMs + 1_000);
      expect(viewOf((await ask({ path: `${nodes}/refused` })).body).conditions).toEqual(before);
      alive.add("refused");
      await report("refused", { Ready: "True" });
      await until(async () => (await look("refused")).taints, []);
      alive.delete("refused");
      await must({ method: "DELETE", path: `${nodes}/refused` });
    });

    test("silence: everything is Unknown, and with another Node Ready its pods have to go", async () => {
      alive.delete("quiet");
      await until(() => look("quiet"), {
        conditions: silent,
        taints: [taint("unreachable", "NoExecute"), taint("unreachable", "NoSchedule")],
      });
      expect(await look("lively")).toEqual({ conditions: allWell, taints: [] });
    });

    test("taints say when they were added", async () => {
      const { body } = await ask({ path: `${nodes}/quiet` });
      for (const { timeAdded } of viewOf(body).taints) expect(timeAdded).toMatch(/^\d{4}-.*Z$/);
    });

    test("renewing its lease does not bring it back", async () => {
      alive.add("quiet");
      await stays(() => look("quiet"), {
        conditions: silent,
        taints: [taint("unreachable", "NoExecute"), taint("unreachable", "NoSchedule")],
      });
    });

    test("a status that is not Ready exchanges the taints", async () => {
      await report("quiet", {
        Ready: "False",
        MemoryPressure: "False",
        DiskPressure: "False",
        PIDPressure: "False",
      });
      await until(
        async () => (await look("quiet")).taints,
        [taint("not-ready", "NoExecute"), taint("not-ready", "NoSchedule")],
      );
    });

    test("a Ready status takes them away", async () => {
      await report("quiet", { Ready: "True" });
      await until(() => look("quiet"), { conditions: allWell, taints: [] });
    });

    test("pressure and cordoning are taints, as long as they last", async () => {
      await report("quiet", { MemoryPressure: "True", DiskPressure: "True", PIDPressure: "True" });
      await report("quiet", { NetworkUnavailable: "True" });
      const cordon = (unschedulable: boolean): Sent => ({
        method: "PATCH",
        path: `${nodes}/quiet`,
        type: "merge",
        body: { spec: { unschedulable } },
      });
      await must(cordon(true));
      await until(
        async () => (await look("quiet")).taints,
        ["disk-pressure", "memory-pressure", "network-unavailable", "pid-pressure", "unschedulable"].map(
          (name) => taint(name, "NoSchedule"),
        ),
      );
      await report("quiet", { MemoryPressure: "False", DiskPressure: "False", PIDPressure: "False" });
      await report("quiet", { NetworkUnavailable: "False" });
      await must(cordon(false));
      await until(async () => (await look("quiet")).taints, []);
    });

    test("taints of others stay", async () => {
      const taints = [{ key: "example.com/own", value: "x", effect: "NoSchedule" }];
      await must({ method: "PATCH", path: `${nodes}/quiet`, type: "merge", body: { spec: { taints } } });
      await report("quiet", { DiskPressure: "True" });
      await until(
        async () => (await look("quiet")).taints,
        [{ key: "example.com/own", effect: "NoSchedule" }, taint("disk-pressure", "NoSchedule")],
      );
      await report("quiet", { DiskPressure: "False" });
      await until(
        async () => (await look("quiet")).taints,
        [{ key: "example.com/own", effect: "NoSchedule" }],
      );
      await must({
        method: "PATCH",
        path: `${nodes}/quiet`,
        type: "merge",
        body: { spec: { taints: null } },
      });
    });

    test("labels of operating system and architecture have their old names too", async () => {
      const labels = { "kubernetes.io/os": "linux", "kubernetes.io/arch": "arm64" };
      await must({ method: "PATCH", path: `${nodes}/quiet`, type: "merge", body: { metadata: { labels } } });
      await until(async () => (await ask({ path: `${nodes}/quiet` })).body.metadata.labels, {
        ...labels,
        "beta.kubernetes.io/os": "linux",
        "beta.kubernetes.io/arch": "arm64",
      });
    });

    test("a Node that never had a status gets one in the end", async () => {
      await must({ method: "POST", path: nodes, body: { metadata: { name: "mute" } } });
      await until(async () => (await look("mute")).conditions, neverHeard);
    });

    test("events tell of it", async () => {
      await until(
        () => eventsOf("quiet"),
        [
          "NodeNotReady: Node quiet status is now: NodeNotReady",
          "RegisteredNode: Node quiet event: Registered Node quiet in Controller",
        ],
      );
    });

    test("the lease of a deleted Node goes with it, and an event says so", async () => {
      await must({ method: "DELETE", path: `${nodes}/quiet` });
      alive.delete("quiet");
      await until(() => isThere(`${leases}/quiet`), false);
      await until(
        () => eventsOf("quiet"),
        expect.arrayContaining(["RemovingNode: Node quiet event: Removing Node quiet from Controller"]),
      );
      expect(await isThere(`${leases}/lively`)).toBe(true);
    });

    test("all Nodes silent: Unknown, but nobody's pods have to go, for it may be the network", async () => {
      await must({ method: "DELETE", path: `${nodes}/mute` });
      alive.delete("lively");
      const dark = { conditions: silent, taints: [taint("unreachable", "NoSchedule")] };
      await until(() => look("lively"), dark);
      await stays(() => look("lively"), dark);
      await report("lively", Object.fromEntries(allWell.map(({ type, status }) => [type, status])));
      await until(() => look("lively"), { conditions: allWell, taints: [] });
    });
  });

  describe("what every namespace has", () => {
    const namespace = "/api/v1/namespaces/new";
    const authority = `${namespace}/configmaps/kube-root-ca.crt`;
    const authorityText = async () =>
      textOf(fieldsOf((await ask({ path: authority })).body["data"])["ca.crt"]);

    test("a new one: the account `default`, and the authority of the apiserver as the old ones have it", async () => {
      await must({ method: "POST", path: "/api/v1/namespaces", body: { metadata: { name: "new" } } });
      await until(() => isThere(`${namespace}/serviceaccounts/default`), true);
      await until(() => isThere(authority), true);
      await until(() => isThere(`${serviceaccounts}/default`), true);
      const old = await must({ path: authority.replace("/new/", "/default/") });
      expect(textOf(fieldsOf(old.body["data"])["ca.crt"])).toBe(await authorityText());
      expect(await authorityText()).not.toBe("");
    });

    test("what somebody takes away or changes comes back", async () => {
      const text = await authorityText();
      await must({ method: "DELETE", path: `${namespace}/serviceaccounts/default` });
      await until(() => isThere(`${namespace}/serviceaccounts/default`), true);
      const body = { data: { "ca.crt": "another" } };
      await must({ method: "PATCH", path: authority, type: "merge", body });
      await until(authorityText, text);
      await must({ method: "DELETE", path: authority });
      await until(() => isThere(authority), true);
    });

    test("a namespace that is deleted goes with them", async () => {
      await must({ method: "DELETE", path: namespace });
      await until(() => isThere(namespace), false);
      expect(await isThere(authority)).toBe(false);
    });
  });

  describe("owners", () => {
    async function own(name: string, owners: string[] = []): Promise<string> {
      const ownerReferences = await Promise.all(
        owners.map(async (owner) => {
          const { body } = await ask({ path: `${serviceaccounts}/${owner}` });
          const uid = body.metadata.uid ?? `${owner}-gone`;
          return { apiVersion: "v1", kind: "ServiceAccount", name: owner, uid };
        }),
      );
      await must({ method: "POST", path: serviceaccounts, body: { metadata: { name, ownerReferences } } });
      return name;
    }
    const remove = (name: string) => must({ method: "DELETE", path: `${serviceaccounts}/${name}` });
    const ownersOf = async (name: string) =>
      (await ask({ path: `${serviceaccounts}/${name}` })).body.metadata.ownerReferences?.map(
        (owner) => owner.name,
      );

    test("what belongs to nobody that is there is collected", async () => {
      await own("orphan", ["never-was"]);
      await until(() => isThere(`${serviceaccounts}/orphan`), false);
    });

    test("a lease for an earlier Node of the same name is collected", async () => {
      const ownerReferences = [{ apiVersion: "v1", kind: "Node", name: "lively", uid: "an-earlier-one" }];
      await must({
        method: "POST",
        path: leases,
        body: { metadata: { name: "earlier", ownerReferences }, spec: {} },
      });
      await until(() => isThere(`${leases}/earlier`), false);
    });

    test("children and grandchildren go with their owner", async () => {
      await own("grandchild", [await own("child", [await own("parent")])]);
      await remove("parent");
      await until(() => isThere(`${serviceaccounts}/child`), false);
      await until(() => isThere(`${serviceaccounts}/grandchild`), false);
    });

    test("who has another owner left stays, and loses the reference", async () => {
      await own("shared", [await own("first"), await own("second")]);
      await remove("first");
      await until(() => ownersOf("shared"), ["second"]);
    });
  });
}
