// Tests that all faces of the fleet agree about a machine: list, CSV, command line, page, and notification.
import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import type { V1Node } from "@kubernetes/client-node";
import { expect, it, vi } from "vitest";
import { strandedPods } from "../../infra/impact/checks/workloads.ts";
import { machineNode } from "../../infra/impact/machine-node.ts";
import { machineList } from "../../infra/operator/fleet/machine-list.ts";
import { nodeScreen } from "../../infra/operator/fleet/machine-screen.ts";
import { PIPE } from "../../infra/operator/render/terminal.ts";
import { diagnose } from "../../infra/page/machine/diagnosis.ts";
import { textOf } from "../../shared/fleet/alert.ts";
import type { MachinesAnswer } from "../../shared/protocol/fleet-answers.ts";
import type { WholeNode } from "../../shared/protocol/operator-answers.ts";
import type { Facts } from "../../shared/protocol/facts.ts";
import { ALERT_STATES } from "../../shared/protocol/receiver-api.ts";
import type { Vitals } from "../../shared/protocol/report.ts";
import { ClusterObject } from "../../worker/cluster/cluster-object.ts";
import { StrandedPods } from "../../worker/cluster/stranded-pods.ts";
import { fleetIndex } from "../../worker/env.ts";
import { alertOf } from "../../worker/fleet/alert-rules.ts";
import { cluster } from "../infra/impact/made-up-cluster.ts";
import { ADMIN_SECRET, METRICS_SECRET } from "../worker/support/constants.ts";
import { currentMs, eventually, shift } from "../worker/support/clock.ts";
import {
  enrolled,
  facts,
  HEALTHY,
  kube,
  operator,
  send,
  setFault,
  shimOf,
} from "../worker/support/machine.ts";

const CONTROLLER_TEXT = "Kubelet stopped posting node status.";
const SHORT_OF_MEMORY: Vitals = {
  signals: { ...HEALTHY.signals, "memory.available": [1024, 8 * 2 ** 30] },
};
const WITHOUT_RUNTIME: Vitals = { ...HEALTHY, errors: { runtime: ["container runtime is down"] } };
const IN_TROUBLE: Vitals = { ...WITHOUT_RUNTIME, ...SHORT_OF_MEMORY };
const RUNTIME = { name: "containerd", version: "2.1.0" };

/** A machine, and the steps that change its situation. */
interface Staged {
  name: string;
  report: (vitals: Vitals) => Promise<unknown>;
  /** Lets the machine be silent. `by`: the program that sets Ready of its Node to Unknown. */
  fallSilent: (by: "no program" | "the node controller" | "the Worker") => Promise<void>;
}

async function staged(name: string): Promise<Staged> {
  const shim = shimOf(await enrolled(name));
  const own: Facts = facts(name, { runtime: RUNTIME });
  const report = (vitals: Vitals) => {
    shift(10_000);
    return shim(own, vitals);
  };
  await report(HEALTHY);
  await report(HEALTHY);
  return {
    name,
    report,
    async fallSilent(by) {
      if (by === "the node controller") {
        const path = `/api/v1/nodes/${name}`;
        const node = await kube("GET", path);
        const conditions = node.status?.conditions?.map((condition) => ({
          ...condition,
          status: "Unknown",
          reason: "NodeStatusUnknown",
          message: CONTROLLER_TEXT,
        }));
        const changed = { ...node, status: { ...node.status, conditions } };
        await kube("PUT", `${path}/status?fieldManager=kube-controller-manager`, changed);
        await env.NODES.getByName(name).noticeNode(await kube("GET", path));
      }
      const { MARK_SILENT_NODES } = env;
      if (by === "the Worker") Object.assign(env, { MARK_SILENT_NODES: "on" });
      const turn = vi.spyOn(ClusterObject.prototype, "silentNodeTurn").mockReturnValue(0);
      shift(5 * 60_000);
      await runDurableObjectAlarm(env.NODES.getByName(name));
      turn.mockRestore();
      Object.assign(env, { MARK_SILENT_NODES });
    },
  };
}

async function textOfRoute(path: string, secret = ADMIN_SECRET): Promise<string> {
  return (await send(path, { headers: { authorization: `Bearer ${secret}` } })).text();
}

/** Returns what each face shows about a machine. */
async function facesOf(name: string): Promise<Record<string, string>> {
  const fields = "name,state,why,conditions";
  const { body: list } = await operator<MachinesAnswer>("GET", `/v1/machines?text=${name}&fields=${fields}`);
  const { body: whole } = await operator<WholeNode>("GET", `/v1/nodes/${name}`);
  const diagnosis = diagnose({
    name,
    live: null,
    whole,
    answeredMs: currentMs(),
    neighbours: null,
    isContested: false,
  });
  const node = await kube("GET", `/api/v1/nodes/${name}`);
  const view = { screen: PIPE, nowMs: currentMs(), isWide: false };
  const { sentence = "", details = [], warnings = [] } = diagnosis ?? {};
  const summary = (await fleetIndex(env).summary(name))!;
  const state = ALERT_STATES.find((each) => each === summary.state) ?? null;
  const cause = { kind: "machine", outage: null, summary, why: "", deployment: "", id: "" } as const;
  const member = { machine: name, state, sinceMs: summary.sinceMs };
  return {
    kubectl: (node.status?.conditions ?? [])
      .map(({ type, status, message }) => `${type} ${status} ${message}`)
      .join("\n"),
    CSV: await textOfRoute(`/v1/machines?text=${name}&format=csv`),
    "the list": list.machines[0]?.why ?? "",
    "rollcall nodes": machineList(list).text(view),
    // The lines of history are left out: a line about the node controller's change names another writer.
    "rollcall node": nodeScreen(whole, [], "").text(view),
    notification: textOf(alertOf([member], cause)),
    "the page": [sentence, ...details.map(({ text = "" }) => text), ...warnings.map(({ text }) => text)].join(
      "\n",
    ),
  };
}

const MEMORY = /MemoryPressure[^\n]*insufficient memory/;
const RUNTIME_DOWN = /container runtime is down/;

interface Situation {
  stage: (machine: Staged) => Promise<unknown>;
  state: string;
  /** What every face of rollcall shows. */
  shows: RegExp[];
  /** What no face of rollcall shows. */
  never: RegExp[];
  /** What kubectl shows. */
  kubectl?: RegExp[];
  /** What one face shows. */
  only?: Record<string, RegExp>;
  /** Faces whose form has no room for it. */
  except?: string[];
}

const CONTROLLER = new RegExp(CONTROLLER_TEXT);

const SITUATIONS: Record<string, Situation> = {
  "silent after a lack of memory → its last MemoryPressure": {
    stage: async ({ report, fallSilent }) => {
      await report(SHORT_OF_MEMORY);
      await fallSilent("no program");
    },
    state: "silent",
    shows: [MEMORY],
    never: [CONTROLLER],
    only: { "rollcall node": /was ready when it reported last/ },
  },
  "the same, and the node controller has overwritten its Node → its last MemoryPressure": {
    stage: async ({ report, fallSilent }) => {
      await report(SHORT_OF_MEMORY);
      await fallSilent("the node controller");
    },
    state: "silent",
    shows: [MEMORY],
    never: [CONTROLLER, /MemoryPressure=?( is)? ?Unknown/, /Ready +True for/],
    only: { "rollcall node": /was ready when it reported last/ },
  },
  "the same, and the Worker has set Ready of its Node to Unknown → its last MemoryPressure": {
    stage: async ({ report, fallSilent }) => {
      await report(SHORT_OF_MEMORY);
      await fallSilent("the Worker");
    },
    state: "silent",
    shows: [MEMORY],
    never: [CONTROLLER, /MemoryPressure=?( is)? ?Unknown/, /Ready +True for/, /\bready +yes/],
    kubectl: [
      /^Ready Unknown The machine has not reported since 2/m,
      /^MemoryPressure True .*insufficient memory/m,
    ],
    only: { "rollcall node": /was ready when it reported last/ },
  },
  "silent while it was not ready → the cause of its last report": {
    stage: async ({ report, fallSilent }) => {
      await report(IN_TROUBLE);
      await fallSilent("the node controller");
    },
    state: "silent",
    shows: [MEMORY, RUNTIME_DOWN],
    never: [CONTROLLER],
    only: { "rollcall node": /was not ready when it reported last/ },
  },
  "not ready while the apiserver is away → its own fault as well": {
    stage: async ({ name, report }) => {
      await report(IN_TROUBLE);
      await setFault(name, "html");
      await report({ ...IN_TROUBLE, shuttingDown: false });
    },
    state: "not-ready",
    shows: [MEMORY, RUNTIME_DOWN],
    never: [/[Nn]othing is wrong with this machine/],
  },
  "a fault that begins while the apiserver is away → not ready": {
    stage: async ({ name, report }) => {
      await setFault(name, "html");
      await report({ ...HEALTHY, shuttingDown: false });
      await report(IN_TROUBLE);
    },
    state: "not-ready",
    shows: [MEMORY, RUNTIME_DOWN],
    never: [/[Nn]othing is wrong with this machine/],
  },
  "a fault that ends while the apiserver is away → the cluster alone": {
    stage: async ({ name, report }) => {
      await report(WITHOUT_RUNTIME);
      await setFault(name, "html");
      await report({ ...WITHOUT_RUNTIME, shuttingDown: false });
      await report(HEALTHY);
    },
    state: "cluster-unreachable",
    shows: [],
    never: [RUNTIME_DOWN],
    only: { "the page": /Nothing is wrong with this machine, it is the cluster/ },
  },
  "a removal while the apiserver is away → it is being removed, waits, and why": {
    stage: async ({ name }) => {
      await setFault(name, "html");
      expect((await operator("DELETE", `/v1/nodes/${name}`)).status).toBe(503);
    },
    state: "revoked",
    shows: [/being removed[^\n]*until its Node is deleted: the apiserver/],
    never: [/Ready(=| is | +)True\b/, /\bready +yes/, /rollcall forget/],
    only: { "rollcall node": /tries to delete the Node every five minutes/ },
  },
  "ready under a lack of memory → MemoryPressure": {
    stage: ({ report }) => report(SHORT_OF_MEMORY),
    state: "ready",
    shows: [MEMORY],
    never: [],
    except: ["CSV", "the list", "notification"],
  },
};

it.each(Object.entries(SITUATIONS))(
  "%s",
  async (_, { stage, state, shows, never, kubectl = [], only = {}, except = [] }) => {
    const name = `faces-${Object.values(SITUATIONS).findIndex((each) => each.stage === stage)}`;
    await stage(await staged(name));
    await eventually(async () => {
      expect((await operator<WholeNode>("GET", `/v1/nodes/${name}`)).body.summary?.state).toBe(state);
      expect(await env.NODES.getByName(name).toldSummary()).not.toBeNull();
    });
    const { kubectl: described, ...faces } = await facesOf(name);
    for (const each of kubectl) expect(described).toMatch(each);
    const { counts } = (await operator<MachinesAnswer>("GET", "/v1/machines?fields=name&limit=1")).body;
    const metric = `\nrollcall_machines{state="${state}"} ${counts.fleet[state]}\n`;
    expect(await textOfRoute("/metrics", METRICS_SECRET)).toContain(metric);
    for (const [face, text] of Object.entries(faces)) {
      if (!except.includes(face)) for (const each of shows) expect(`${face}: ${text}`).toMatch(each);
      for (const each of never) expect(`${face}: ${text}`).not.toMatch(each);
      const own = only[face];
      if (own) expect(text).toMatch(own);
    }
    await setFault(name, "");
  },
);

const FACTS_ONLY = { key: "rollcall.dev/facts-only", effect: "NoSchedule" };
const BYSTANDER: V1Node = {
  metadata: {
    name: "edge-7",
    labels: { "rollcall.dev/machine": "" },
    annotations: { "rollcall.dev/owner": "rollcall" },
  },
  spec: { taints: [FACTS_ONLY] },
};

it.each<[situation: string, owner: string | null, worker: RegExp | null, impact: RegExp]>([
  [
    "without a controller",
    null,
    /^NoKubelet: Node edge-7 has no kubelet: no program can start/,
    /FAIL_STRANDED_PODS/,
  ],
  ["of a DaemonSet", "DaemonSet", null, /DoesNotExist\. The pod is of DaemonSet agent\.$/],
])(
  "a pod %s that is stranded on a machine → its status and rollcall impact agree",
  async (_, owner, worker, impact) => {
    const ownerReferences = owner
      ? [{ apiVersion: "apps/v1", kind: owner, name: "agent", uid: "u", controller: true }]
      : [];
    const metadata = { namespace: "default", name: "p", uid: "uid-p", ownerReferences };
    const pod = { metadata, spec: { nodeName: "edge-7", containers: [] }, status: { phase: "Pending" } };
    const failed: string[] = [];
    await new StrandedPods({
      deployment: "rollcall",
      watch: async ({ onChange }) => {
        onChange({ type: "ADDED", object: pod, length: 1 });
        for (let turn = 0; turn < 20; turn++) await Promise.resolve();
        return { kind: "ended" };
      },
      isOurs: () => true,
      getNode: () => Promise.resolve({ ok: true, value: BYSTANDER as never }),
      fail: async (_pod, { reason, message }) => {
        failed.push(`${reason}: ${message}`);
        return { ok: true, value: {} };
      },
      remove: () => Promise.resolve({ ok: true, value: {} }),
      log: () => undefined,
      nowMs: () => 0,
      pause: () => Promise.resolve(),
    }).watch(new AbortController().signal);
    const [found] = strandedPods.find(cluster({ nodes: [BYSTANDER], boundPods: [pod] }), {
      machines: 1,
      node: machineNode({}),
    });
    expect(failed).toEqual(worker ? [expect.stringMatching(worker)] : []);
    expect(found?.consequence).toMatch(/^It is bound to edge-7, which has no kubelet, and stays Pending/);
    expect(found?.remedy).toMatch(impact);
  },
);
