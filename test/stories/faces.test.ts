// Tests that all faces of the fleet agree about a machine: list, CSV, command line, page, and notification.
import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
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
import { fleetIndex } from "../../worker/env.ts";
import { alertOf } from "../../worker/fleet/alert-rules.ts";
import { currentMs, eventually, shift } from "../worker/support/clock.ts";
import { enrolled, facts, HEALTHY, kube, operator, setFault, shimOf } from "../worker/support/machine.ts";

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
  /** Lets the machine be silent. `isNoticed`: the node controller has replaced its Node's conditions. */
  fallSilent: (isNoticed: boolean) => Promise<void>;
}

async function staged(name: string): Promise<Staged> {
  const send = shimOf(await enrolled(name));
  const own: Facts = facts(name, { runtime: RUNTIME });
  const report = (vitals: Vitals) => {
    shift(10_000);
    return send(own, vitals);
  };
  await report(HEALTHY);
  await report(HEALTHY);
  return {
    name,
    report,
    async fallSilent(isNoticed) {
      if (isNoticed) {
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
      shift(5 * 60_000);
      await runDurableObjectAlarm(env.NODES.getByName(name));
    },
  };
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
  const view = { screen: PIPE, nowMs: currentMs(), isWide: false };
  const { sentence = "", details = [], warnings = [] } = diagnosis ?? {};
  const summary = (await fleetIndex(env).summary(name))!;
  const state = ALERT_STATES.find((each) => each === summary.state) ?? null;
  const cause = { kind: "machine", outage: null, summary, why: "", deployment: "", id: "" } as const;
  const member = { machine: name, state, sinceMs: summary.sinceMs };
  return {
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
  /** What every face shows. */
  shows: RegExp[];
  /** What no face shows. */
  never: RegExp[];
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
      await fallSilent(false);
    },
    state: "silent",
    shows: [MEMORY],
    never: [CONTROLLER],
    only: { "rollcall node": /was ready when it reported last/ },
  },
  "the same, and the node controller has overwritten its Node → its last MemoryPressure": {
    stage: async ({ report, fallSilent }) => {
      await report(SHORT_OF_MEMORY);
      await fallSilent(true);
    },
    state: "silent",
    shows: [MEMORY],
    never: [CONTROLLER, /MemoryPressure=?( is)? ?Unknown/, /Ready +True for/],
    only: { "rollcall node": /was ready when it reported last/ },
  },
  "silent while it was not ready → the cause of its last report": {
    stage: async ({ report, fallSilent }) => {
      await report(IN_TROUBLE);
      await fallSilent(true);
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
    never: [/Ready(=| is | +)True\b/, /\bready +yes/],
  },
  "ready under a lack of memory → MemoryPressure": {
    stage: ({ report }) => report(SHORT_OF_MEMORY),
    state: "ready",
    shows: [MEMORY],
    never: [],
    except: ["the list", "notification"],
  },
};

it.each(Object.entries(SITUATIONS))(
  "%s",
  async (_, { stage, state, shows, never, only = {}, except = [] }) => {
    const name = `faces-${Object.values(SITUATIONS).findIndex((each) => each.stage === stage)}`;
    await stage(await staged(name));
    await eventually(async () => {
      expect((await operator<WholeNode>("GET", `/v1/nodes/${name}`)).body.summary?.state).toBe(state);
      expect(await env.NODES.getByName(name).toldSummary()).not.toBeNull();
    });
    for (const [face, text] of Object.entries(await facesOf(name))) {
      if (!except.includes(face)) for (const each of shows) expect(`${face}: ${text}`).toMatch(each);
      for (const each of never) expect(`${face}: ${text}`).not.toMatch(each);
      const own = only[face];
      if (own) expect(text).toMatch(own);
    }
    await setFault(name, "");
  },
);
