// Tests the fleet index's data of machines, through the whole Worker: the index receives each transition once and
// in order, through all failures of the index.
import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { MachineSummary, MachineUpdate } from "../../shared/fleet/summary.ts";
import type { Node } from "../../shared/kubernetes/types.ts";
import type { FleetMachine, IndexState } from "../../shared/protocol/fleet-answers.ts";
import type { HistoryKind } from "../../shared/protocol/history-kinds.ts";
import type { Vitals } from "../../shared/protocol/report.ts";
import { fleetIndex } from "../../worker/env.ts";
import { IndexObject } from "../../worker/fleet/index-object.ts";
import { reporter } from "../../node-shim/worker-link/reporter.ts";
import type { Transport } from "../../node-shim/worker-link/exchange.ts";
import { ORIGIN } from "../worker/support/constants.ts";
import {
  enrolled,
  facts,
  HEALTHY,
  operator,
  send as sendFrom,
  setFault,
  shimOf,
} from "../worker/support/machine.ts";
import { eventually, passing, shift } from "../worker/support/clock.ts";

const MINUTE_MS = 60_000;
const SHUTTING_DOWN: Vitals = { ...HEALTHY, shuttingDown: true };
const UNDER_PRESSURE: Vitals = {
  signals: { ...HEALTHY.signals, "memory.available": [1024, 8 * 2 ** 30] },
};

const index = () => fleetIndex(env);
const objectOf = (name: string) => env.NODES.getByName(name);
const summaryOf = (name: string) => index().summary(name);

afterEach(() => {
  vi.restoreAllMocks();
});

/** Waits until the index has these values of the machine, or no machine if `expected` is null. */
async function says(name: string, expected: Partial<MachineSummary> | null): Promise<void> {
  await eventually(async () => {
    const summary = await summaryOf(name);
    if (expected === null) expect(summary).toBeNull();
    else expect(summary).toMatchObject(expected);
  });
}

/** Returns the machine's history in the index, oldest line first. */
function toldLines(name: string, kind = "state"): Promise<string[]> {
  const query = "SELECT text FROM history WHERE name = ? AND kind = ? ORDER BY id";
  return runInDurableObject(index(), (_, { storage }) =>
    storage.sql
      .exec<{ text: string }>(query, name, kind)
      .toArray()
      .map(({ text }) => text),
  );
}

/** Returns the history in the machine's own object, oldest line first. */
async function ownLines(name: string, kind: HistoryKind = "state"): Promise<string[]> {
  const entries = await objectOf(name).history({ kind: [kind], limit: 1000 });
  return entries.map(({ text }) => text).toReversed();
}

/** Counts the rows that an object writes from now on. Only statements that match `of` count. */
async function countRows(stub: DurableObjectStub, of = /^/): Promise<() => Promise<number>> {
  const cursors: SqlStorageCursor<Record<string, SqlStorageValue>>[] = [];
  const object = stub as DurableObjectStub<IndexObject>;
  await runInDurableObject(object, (_, { storage: { sql } }) => {
    const exec = sql.exec.bind(sql);
    const counted = (...args: Parameters<typeof exec>) => {
      const cursor = exec(...args);
      if (of.test(args.slice(0, 3).join(" ") + " ")) cursors.push(cursor);
      return cursor;
    };
    Object.defineProperty(sql, "exec", { value: counted, configurable: true });
  });
  const written = () => cursors.splice(0).reduce((sum, { rowsWritten }) => sum + rowsWritten, 0);
  return () => runInDurableObject(object, written);
}

/**
 * Records the updates of one machine to the index from now on. `instead` may replace the handling of an update, for
 * example by a failure.
 */
function tellings(
  name: string,
  instead: (telling: MachineUpdate) => Promise<never> | undefined = () => undefined,
) {
  // oxlint-disable-next-line typescript/unbound-method -- it is called with its object
  const { tell } = IndexObject.prototype;
  const seen: MachineUpdate[] = [];
  vi.spyOn(IndexObject.prototype, "tell").mockImplementation(function (this: IndexObject, telling) {
    if (telling.name !== name) return tell.call(this, telling);
    seen.push(telling);
    return instead(telling) ?? tell.call(this, telling);
  });
  return seen;
}

/** Returns a machine that has reported twice. */
async function steady(name: string) {
  const machine = await enrolled(name);
  const report = shimOf(machine);
  const send = (vitals = HEALTHY) => report(facts(name), vitals);
  await send();
  await send();
  await says(name, { state: "ready" });
  return { machine, send };
}

it("a machine's Node → the index has its creation time once it exists, and nothing before", async () => {
  const name = "index-created";
  const machine = await enrolled(name);
  await says(name, { state: "not-ready", createdMs: 0 });
  await shimOf(machine)(facts(name), HEALTHY);
  const { node } = (await objectOf(name).show())!;
  const { creationTimestamp } = (node as Node).metadata ?? {};
  await says(name, { state: "ready", createdMs: Date.parse(String(creationTimestamp)) });
  const { body } = await operator<FleetMachine>("GET", `/v1/nodes/${name}/summary`);
  expect(Date.parse(body.created ?? "")).toBe(Date.parse(String(creationTimestamp)));
});

async function ring(name: string): Promise<void> {
  await runDurableObjectAlarm(objectOf(name));
}

/** The fields of a steady machine's summary that are the same in each test: without key, token and times. */
const STEADY: Partial<MachineSummary> = {
  phase: "registered",
  why: "",
  silentSinceMs: null,
  isUnschedulable: false,
  withheld: "",
  transport: "http",
};

describe("a machine's life", () => {
  it("→ the index has the expected summary at each step", async () => {
    const name = "fleet-life";
    const machine = await enrolled(name);
    await says(name, {
      state: "not-ready",
      phase: null,
      why: "it has enrolled and not reported yet",
      labels: {},
    });
    const report = shimOf(machine);
    const send = (vitals = HEALTHY) => report(facts(name), vitals);

    await send();
    await says(name, { ...STEADY, state: "ready", key: { ...(await summaryOf(name))!.key, isUsed: true } });
    expect(await summaryOf(name)).toMatchObject({
      versions: { kernel: "6.1.0", os: "Test Linux", architecture: "amd64", runtime: "", shim: "" },
      capacity: { cpu: "4", memory: "8Gi" },
      labels: { "rollcall.dev/hostname": name },
      addresses: [
        { type: "InternalIP", address: "10.0.0.5" },
        { type: "Hostname", address: name },
      ],
      key: { thumbprint: machine.key.thumbprint },
    });

    await send(UNDER_PRESSURE);
    await eventually(async () => {
      const conditions = (await summaryOf(name))?.conditions.map(({ type, status }) => `${type}=${status}`);
      expect(conditions).toEqual([
        "MemoryPressure=True",
        "DiskPressure=False",
        "PIDPressure=False",
        "Ready=True",
      ]);
    });
    await send(SHUTTING_DOWN);
    await says(name, { state: "not-ready", why: "node is shutting down" });
    await send();
    await says(name, { state: "ready", why: "" });

    shift(5 * MINUTE_MS);
    await ring(name);
    await says(name, { state: "silent", phase: "registered" });
    const silent = await summaryOf(name);
    expect(silent?.sinceMs).toBe(silent?.silentSinceMs);
    await send();
    await says(name, { ...STEADY, state: "ready" });
    expect((await toldLines(name, "silence")).at(-1)).toBe(
      "heard of again after 300 s: was cut off, not down: kept running for 5 min",
    );

    await setFault(name, "html");
    await send();
    await says(name, { state: "cluster-unreachable" });
    await setFault(name, "");
    await send();
    await says(name, { state: "ready" });

    expect((await operator("POST", `/v1/nodes/${name}/revoke`)).status).toBe(204);
    await says(name, { state: "revoked" });
    expect((await operator("DELETE", `/v1/nodes/${name}`)).status).toBe(204);
    await says(name, null);
    expect(await toldLines(name)).toEqual([
      "not-ready",
      "not-ready → ready",
      "ready → not-ready",
      "not-ready → ready",
      "ready → silent",
      "silent → ready",
      "ready → cluster-unreachable",
      "cluster-unreachable → ready",
      "ready → revoked",
    ]);
    expect((await toldLines(name, "registration")).at(-1)).toBe("forgotten by an operator");
  });

  it("a name that another machine has taken → not ready until that one reports; the same key again → unchanged", async () => {
    const name = "fleet-anew";
    const { machine } = await steady(name);
    expect((await operator("DELETE", `/v1/nodes/${name}`)).status).toBe(204);
    await says(name, null);
    const next = await enrolled(name);
    await says(name, { state: "not-ready", phase: null });
    expect((await summaryOf(name))?.key.thumbprint).not.toBe(machine.key.thumbprint);
    await shimOf(next)(facts(name), HEALTHY);
    await says(name, { state: "ready" });
  });

  it("enrolled without a report → silent", async () => {
    const name = "fleet-unused";
    await enrolled(name);
    await evictDurableObject(objectOf(name));
    shift(5 * MINUTE_MS);
    await ring(name);
    await says(name, { state: "silent", why: "it has enrolled and never reported: start its shim" });
  });

  it("cloned, then silent, then cloned again", async () => {
    const name = "fleet-cloned";
    const machine = await enrolled(name);
    const shim = (boot: string) => {
      const report = shimOf(machine, `start-${boot}`);
      const own = facts(name);
      const machineFacts = { ...own.machine!, bootID: boot };
      return () => {
        shift(5000);
        return report({ ...own, machine: machineFacts }, HEALTHY);
      };
    };
    const [original, copy] = [shim("a"), shim("b")];
    for (const say of [original, copy, original, copy]) await say();
    await says(name, { state: "blocked", phase: "cloned" });
    shift(MINUTE_MS);
    await evictDurableObject(objectOf(name));
    await ring(name);
    shift(MINUTE_MS);
    await ring(name);
    await says(name, { state: "silent", phase: "cloned" });
    await copy();
    await says(name, { state: "blocked", phase: "cloned", silentSinceMs: null });
  });
});

describe("the cost", () => {
  it("a steady machine → no row and no update, also after an eviction", async () => {
    const name = "fleet-steady";
    const { send } = await steady(name);
    const told = tellings(name);
    // Other tests use the same index, so only rows with this machine's name count.
    const [own, fleet] = [await countRows(objectOf(name)), await countRows(index(), new RegExp(name))];
    for (let beats = 0; beats < 3; beats++) await send();
    expect([await own(), await fleet(), told]).toEqual([0, 0, []]);
    await evictDurableObject(objectOf(name));
    await send();
    await send();
    expect([await fleet(), told]).toEqual([0, []]);
  });

  it("a transition → three rows of its object, and some of the index", async () => {
    const name = "fleet-rows";
    const { send } = await steady(name);
    const told = tellings(name);
    // Three rows are expected: the state, its line of history, and the sent update.
    const own = await countRows(objectOf(name), /^INSERT INTO (records.* (state|told) |history.* state )/s);
    const fleet = await countRows(index(), new RegExp(name));
    await send(SHUTTING_DOWN);
    await says(name, { state: "not-ready" });
    await eventually(async () => expect(await objectOf(name).toldSummary()).not.toBeNull());
    expect(told).toHaveLength(1);
    expect(await own()).toBe(3);
    // The index writes the machine's row, its place in the order of changes, its summary, and two lines of history,
    // each with indexes.
    expect(await fleet()).toBeLessThanOrEqual(12);
  });

  it("another address with each report → sent once, and again after ten minutes", async () => {
    const name = "fleet-address";
    const { machine } = await steady(name);
    const told = tellings(name);
    const send: Transport = async ({ method, path, headers, body }) => {
      const response = await sendFrom(path, {
        method,
        headers: { ...headers, "cf-connecting-ip": address },
        body,
      });
      return { status: response.status, body: await response.text() };
    };
    let address = "";
    const machineTime = () => new Date().toISOString();
    const report = reporter({ ...machine, origin: ORIGIN, startId: "start-1", send, machineTime });
    const from = async (next: string) => {
      address = next;
      expect(await report(facts(name), HEALTHY)).toMatchObject({ ok: true });
    };
    await from("203.0.113.1");
    await says(name, { address: "203.0.113.1" });
    for (const next of ["203.0.113.2", "203.0.113.3"]) await from(next);
    expect((await summaryOf(name))?.address).toBe("203.0.113.1");
    shift(10 * MINUTE_MS);
    await from("203.0.113.3");
    await says(name, { address: "203.0.113.3" });
    expect(told.map(({ summary }) => summary.address)).toEqual(["203.0.113.1", "203.0.113.3"]);
  });
});

describe("an index that", () => {
  it("fails during transitions → all arrive later, in order, also after an eviction", async () => {
    const name = "fleet-failing";
    const { send } = await steady(name);
    let isWell = false;
    const told = tellings(name, () => (isWell ? undefined : Promise.reject(new Error("overloaded"))));
    await send(SHUTTING_DOWN);
    await eventually(async () => expect(await runDueAlarm(name)).toBe(true));
    await send();
    await evictDurableObject(objectOf(name));
    await send(SHUTTING_DOWN);
    expect(told).toHaveLength(1);
    expect(await summaryOf(name)).toMatchObject({ state: "ready" });
    isWell = true;
    shift(31_000);
    await ring(name);
    await says(name, { state: "not-ready" });
    expect((await toldLines(name)).slice(-4)).toEqual([
      "not-ready → ready",
      "ready → not-ready",
      "not-ready → ready",
      "ready → not-ready",
    ]);
    expect(await toldLines(name)).toEqual(await ownLines(name));
  });

  it("refuses the removal → the machine has left all the same, and its object sends it later", async () => {
    const name = "fleet-leaving";
    await steady(name);
    const remove = vi.spyOn(IndexObject.prototype, "remove").mockRejectedValue(new Error("overloaded"));
    expect((await operator("DELETE", `/v1/nodes/${name}`)).status).toBe(204);
    expect(await summaryOf(name)).not.toBeNull();
    remove.mockRestore();
    await evictDurableObject(objectOf(name));
    shift(MINUTE_MS);
    await ring(name).catch(() => undefined);
    await says(name, null);
  });
});

/** Runs the alarm of the machine's object if the alarm is set for an update that failed. Returns whether it ran. */
async function runDueAlarm(name: string): Promise<boolean> {
  return runInDurableObject(objectOf(name), async (_, { storage }) => {
    const [row] = storage.sql
      .exec<{ value: string }>("SELECT value FROM records WHERE key = 'told'")
      .toArray();
    const told = JSON.parse(row?.value ?? "{}") as { again?: { atMs: number } };
    const alarmMs = await storage.getAlarm();
    return told.again !== undefined && alarmMs !== null && alarmMs <= told.again.atMs;
  });
}

describe("an index that lost its data", () => {
  it("is complete again after a repair, while machines report", async () => {
    const names = ["fleet-lost-a", "fleet-lost-b", "fleet-lost-c"];
    const machines = await Promise.all(names.map(steady));
    const whole = await Promise.all(names.map(summaryOf));
    await runInDurableObject(index(), async (_, state) => {
      await state.storage.deleteAll();
      state.abort("lost");
    }).catch(() => undefined);
    await machines[0]!.send(SHUTTING_DOWN);
    const { body, status } = await operator<IndexState>("POST", "/v1/index/repair");
    expect([status, body.repair?.cause]).toEqual([202, "admin secret asked for it"]);
    await machines[1]!.send();
    await eventually(async () => {
      await passing(runDurableObjectAlarm(index()));
      const { body: now } = await operator<IndexState>("GET", "/v1/index");
      expect(now.repair).toMatchObject({ endedAtMs: expect.any(Number) as number, failed: 0 });
      expect(now.machines).toBeLessThanOrEqual(now.names);
    });
    await machines[0]!.send();
    await says(names[0]!, { state: "ready" });
    for (const [at, name] of names.entries()) {
      const { sinceMs: _, conditions: __, ...before } = whole[at]!;
      expect(await summaryOf(name)).toMatchObject(before);
      expect(await toldLines(name)).toEqual(await ownLines(name));
    }
    const { body: audited } = await operator<{ entries: { what: string }[] }>(
      "GET",
      "/v1/audit?target=index",
    );
    expect(audited.entries[0]).toMatchObject({ what: "index.repair", who: "admin secret" });
  });
});
