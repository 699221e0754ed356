// Tests a machine whose shim looks for its container runtime. Without a runtime the machine is Ready unless it had one
// earlier. An operator may state that the machine needs no runtime.
import { evictDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import type { AuditEntry, HistoryAnswer } from "../../shared/protocol/operator-answers.ts";
import type { Facts } from "../../shared/protocol/facts.ts";
import type { Vitals } from "../../shared/protocol/report.ts";
import {
  enrolled,
  type EnrolledMachine,
  facts,
  HEALTHY,
  kube,
  operator,
  shimOf,
} from "../worker/support/machine.ts";

const CONTAINERD = { name: "containerd", version: "2.1.0" };
const READY = "True: machine is posting ready status";
const DOWN = "False: container runtime is down";

/**
 * Returns a machine's facts with this runtime. `findRuntime`: false if the shim's version or configuration does not
 * look for a runtime.
 */
function says(name: string, runtime: Facts["runtime"], findRuntime: boolean): Facts {
  const { settings, ...others } = facts(name);
  const { runtime: _none, ...rest } = others;
  return {
    ...rest,
    settings: { ...settings, ...(findRuntime && { findRuntime }) },
    ...(runtime !== undefined && { runtime, ...(runtime && { images: [] }) }),
  };
}

async function machine(name: string, again?: EnrolledMachine) {
  const enrolment = again ?? (await enrolled(name));
  let process = 1;
  let shim = shimOf(enrolment, "process-1");
  const set = (body: unknown) => operator("PATCH", `/v1/nodes/${name}`, body);
  return {
    /** Sends a report with this runtime, and returns the Node's Ready condition. */
    async with(
      runtime: Facts["runtime"],
      { findRuntime = true, errors }: { findRuntime?: boolean; errors?: Vitals["errors"] } = {},
    ): Promise<string> {
      await shim(says(name, runtime, findRuntime), { ...HEALTHY, ...(errors && { errors }) });
      const { status } = await kube("GET", `/api/v1/nodes/${name}`);
      const ready = status?.conditions?.find(({ type }) => type === "Ready");
      return `${ready?.status}: ${ready?.message}`;
    },
    report: (runtime: Facts["runtime"]) => shim(says(name, runtime, true), HEALTHY),
    set: async (runtime: unknown) => (await set({ runtime })).status,
    sends: async (body: unknown) => (await set(body)).status,
    evicted: () => evictDurableObject(env.NODES.getByName(name)),
    /** Restarts the machine's shim and its object, so that the object knows no earlier process. */
    async restarted() {
      await evictDurableObject(env.NODES.getByName(name));
      shim = shimOf(enrolment, `process-${++process}`);
    },
    history: async () => {
      const { body } = await operator<HistoryAnswer>("GET", `/v1/nodes/${name}/history?kind=runtime`);
      return body.entries.map(({ text }) => text).toReversed();
    },
  };
}

describe("no runtime is found", () => {
  it("on a machine that never had one → Ready, also after a restart and an eviction, and without a version", async () => {
    const box = await machine("runtime-never");
    expect(await box.with(null)).toBe(READY);
    await box.evicted();
    expect(await box.with(null)).toBe(READY);
    await box.restarted();
    expect(await box.with(null)).toBe(READY);
    const { status } = await kube("GET", "/api/v1/nodes/runtime-never");
    expect(status?.nodeInfo?.containerRuntimeVersion).toBe("");
    expect(await box.history()).toEqual([]);
  });

  it("on a machine that had one → not Ready with the kubelet's message, until it is back", async () => {
    const box = await machine("runtime-gone");
    expect(await box.with(CONTAINERD)).toBe(READY);
    expect(await box.with(null)).toBe(DOWN);
    expect(await box.report(null)).toMatchObject({
      value: { ready: false, message: expect.stringMatching(/^its container runtime is gone: start it, or/) },
    });
    expect(await box.with(CONTAINERD)).toBe(READY);
    expect(await box.history()).toEqual([
      "container runtime: containerd 2.1.0 → none",
      "container runtime: none → containerd 2.1.0",
    ]);
  });

  it("by a shim that starts before the runtime → not Ready from its first report on, then Ready, without a change in between", async () => {
    const box = await machine("runtime-late");
    await box.with(CONTAINERD);
    await box.with(null);
    await box.restarted();
    expect([await box.with(null), await box.with(null), await box.with(CONTAINERD)]).toEqual([
      DOWN,
      DOWN,
      READY,
    ]);
  });

  it("by the first shim of this version, after one that required it → not Ready", async () => {
    const box = await machine("runtime-upgraded");
    await box.with(CONTAINERD, { findRuntime: false });
    await box.restarted();
    expect(await box.with(null)).toBe(DOWN);
  });

  it("and the configuration has none → Ready, whatever the machine had before", async () => {
    const box = await machine("runtime-configured-away");
    await box.with(CONTAINERD);
    expect(await box.with(null, { findRuntime: false })).toBe(READY);
    expect(await box.with(null)).toBe(DOWN);
  });
});

describe("an operator states that a machine needs none", () => {
  it("→ Ready with its next report, also after an eviction; withdrawn → not Ready", async () => {
    const name = "runtime-waived";
    const box = await machine(name);
    await box.with(CONTAINERD);
    expect(await box.with(null)).toBe(DOWN);
    expect(await box.set("none")).toBe(204);
    expect(await box.with(null)).toBe(READY);
    await box.evicted();
    expect(await box.with(null)).toBe(READY);
    expect((await operator("GET", `/v1/nodes/${name}`)).body).toMatchObject({
      runtime: "none",
      isReady: true,
    });
    expect([await box.set("none"), await box.set("auto")]).toEqual([204, 204]);
    await box.evicted();
    expect(await box.with(null)).toBe(DOWN);
    expect(await box.history()).toEqual([
      "container runtime: containerd 2.1.0 → none",
      "an operator said that the machine needs no container runtime",
      "an operator said that a container runtime counts again",
    ]);
    const { body } = await operator<{ entries: AuditEntry[] }>("GET", `/v1/audit?target=${name}`);
    expect(body.entries.map(({ who, what, detail }) => [who, what, detail])).toEqual([
      ["admin secret", "node.set", "runtime auto"],
      ["admin secret", "node.set", "runtime none"],
      ["admin secret", "node.set", "runtime none"],
    ]);
  });

  it("before it has any → Ready after it had one", async () => {
    const box = await machine("runtime-waived-early");
    expect(await box.set("none")).toBe(204);
    expect([await box.with(CONTAINERD), await box.with(null)]).toEqual([READY, READY]);
  });

  it.each([
    ["that is there and reports an error", true, CONTAINERD],
    ["that the machine's configuration requires, and that does not answer", false, undefined],
  ])("and one %s → not Ready all the same", async (_, findRuntime, runtime) => {
    const box = await machine(`runtime-erring-${findRuntime}`);
    await box.set("none");
    const errors = { runtime: ["container runtime is down"] };
    expect(await box.with(runtime, { findRuntime, errors })).toBe(DOWN);
  });

  it("in an invalid body → refused, and nothing changes", async () => {
    const name = "runtime-refused";
    const box = await machine(name);
    await box.with(CONTAINERD);
    for (const body of [{ runtime: "docker" }, {}, { runtime: "none", labels: {} }, "none", undefined])
      expect(await box.sends(body), JSON.stringify(body)).toBe(400);
    expect(await box.with(null)).toBe(DOWN);
    const { body } = await operator<{ entries: unknown[] }>("GET", `/v1/audit?target=${name}`);
    expect(body.entries).toEqual([]);
  });

  it("for an unknown name → 404", async () => {
    expect((await operator("PATCH", "/v1/nodes/runtime-nobody", { runtime: "none" })).status).toBe(404);
  });
});

it("another machine under the name → has neither the runtime nor the operator's statement", async () => {
  const name = "runtime-next-machine";
  const before = await machine(name);
  await before.with(CONTAINERD);
  const second = await machine(name, await enrolled(name, { rejoin: true }));
  expect(await second.with(null)).toBe(READY);
  await second.with(CONTAINERD);
  await second.set("none");
  expect(await second.with(null)).toBe(READY);
  const third = await machine(name, await enrolled(name, { rejoin: true }));
  await third.with(CONTAINERD);
  expect(await third.with(null)).toBe(DOWN);
});
