// Tests several senders with one key, over HTTP: their answers, their Node, and the number of written rows.
import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { reporter, type ReportOutcome } from "../../node-shim/worker-link/reporter.ts";
import { sha256Base64url } from "../../node-shim/worker-link/sign.ts";
import { rotate } from "../../node-shim/worker-link/requests.ts";
import { type Transport } from "../../node-shim/worker-link/exchange.ts";
import { makeMachineKey } from "../../node-shim/identity/identity.ts";
import type { Facts } from "../../shared/protocol/facts.ts";
import type { Report, Vitals } from "../../shared/protocol/report.ts";
import type { Event } from "../../shared/kubernetes/types.ts";
import type { AuditEntry, ListedSenders } from "../../shared/protocol/operator-answers.ts";
import { ORIGIN } from "../worker/support/constants.ts";
import {
  type EnrolledMachine,
  enrolled,
  enrolling,
  facts,
  HEALTHY,
  indexIsUpdated,
  kube,
  mintToken,
  operator,
  requestsAbout,
  setFault,
  transport,
  writesAbout,
} from "../worker/support/machine.ts";
import { eventually, shift } from "../worker/support/clock.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const CLONED = { ok: true, value: { phase: "cloned", ready: false } };
const REGISTERED = { ok: true, value: { phase: "registered", ready: true } };
/** The answer to a new sender's facts while the first sender still reports. */
const WAITING = { ok: true, value: { phase: "registering", ready: true } };
const TWO_SHIMS = { ok: true, value: { phase: "two shims", ready: true } };
const objectOf = (name: string) => env.NODES.getByName(name);

interface Say {
  (vitals?: Vitals): Promise<ReportOutcome>;
  /** Returns the requests of the last report: for each the HTTP status, and whether it had facts. */
  trips: () => string[];
}

/** Returns a process of the shim with this boot ID, as a function that reports. Five seconds pass before each report. */
function shim(machine: EnrolledMachine, startId: string, bootID: string, more: Partial<Facts> = {}): Say {
  const { name, key, kid } = machine;
  let trips: string[] = [];
  const send: Transport = async (request) => {
    const response = await transport(request);
    const { facts } = JSON.parse(request.body) as Report;
    trips.push(`${response.status}${facts === undefined ? "" : " facts"}`);
    return response;
  };
  const machineTime = () => new Date().toISOString();
  const report = reporter({ name, origin: ORIGIN, key, kid, startId, send, machineTime });
  const own = facts(name, { machine: { ...facts(name).machine!, bootID }, ...more });
  const say = (vitals = HEALTHY) => {
    trips = [];
    shift(5000);
    return report(own, vitals);
  };
  return Object.assign(say, { trips: () => trips });
}

/** Sends three reports in turns. The next report of the second sender would reveal the two senders. */
async function takeTurns(first: Say, second: Say): Promise<void> {
  expect(await first()).toMatchObject(REGISTERED);
  expect(await second()).toMatchObject(WAITING);
  expect(await first()).toMatchObject(REGISTERED);
}

/** Returns a machine and its copy, after the report that reveals them as clones. */
async function twins(name: string) {
  const machine = await enrolled(name);
  const [original, copy] = [shim(machine, "start-a", "boot-a"), shim(machine, "start-b", "boot-b")];
  await takeTurns(original, copy);
  expect(await copy()).toMatchObject(CLONED);
  await isUnknown(name);
  await indexIsUpdated(name);
  return { machine, original, copy };
}

/** Waits until Ready is Unknown: no answer waits for this write. */
const isUnknown = (name: string) =>
  eventually(async () => {
    const { status } = await kube("GET", `/api/v1/nodes/${name}`);
    expect(status?.conditions?.find(({ type }) => type === "Ready")).toMatchObject({
      status: "Unknown",
      reason: "MachineCloned",
    });
  });

const rowsOf = (name: string) =>
  runInDurableObject(objectOf(name), (_, { storage }) =>
    storage.sql.exec("SELECT key, value FROM records").toArray(),
  );
const writesOf = async (name: string) =>
  (await writesAbout(name)).filter(({ object }) => object.kind !== "Event");
const eventsOf = async (name: string, reason: string) => {
  const path = `/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3D${name}`;
  const { items } = await kube<{ items: Event[] }>("GET", path);
  return items.filter((event) => event.reason === reason);
};
const historyOf = async (name: string, kind: string) => {
  const path = `/v1/nodes/${name}/history?kind=${kind}`;
  const { body } = await operator<{ entries: { text: string }[] }>("GET", path);
  return body.entries.map(({ text }) => text);
};
const sendersOf = async (name: string) =>
  (await operator<ListedSenders>("GET", `/v1/nodes/${name}/clones`)).body;
/** Returns the form in which operators see a startId. */
const shownOf = (startId: string) => sha256Base64url(startId).slice(0, 8);
const believe = async (name: string) => (await operator("POST", `/v1/nodes/${name}/believe`)).status;

describe("a machine and its copy", () => {
  it("in turns → cloned: no report of either is stored or written; event, history and operator's view have it", async () => {
    const name = "cloned-nothing";
    const { original, copy } = await twins(name);
    const [rows, writes] = [await rowsOf(name), await writesOf(name)];
    expect(await original({ ...HEALTHY, shuttingDown: true })).toMatchObject(CLONED);
    expect(await copy({ signals: {}, setupError: "no room" })).toMatchObject(CLONED);
    expect(await writesOf(name)).toEqual(writes);
    expect(await rowsOf(name)).toEqual(rows);
    expect(await eventsOf(name, "KubeletSetupFailed")).toEqual([]);
    expect(await eventsOf(name, "MachineCloned")).toMatchObject([
      { type: "Warning", message: expect.stringContaining("machine m-1, boot boot-b") },
    ]);
    expect(await historyOf(name, "identity")).toEqual([
      "machine m-1, boot boot-a; machine m-1, boot boot-b: several machines report with one key, and none is believed",
    ]);
    expect(await sendersOf(name)).toMatchObject({
      double: { phase: "cloned", turns: 5 },
      senders: [
        { machineID: "m-1", bootID: "boot-b", process: shownOf("start-b"), isBelieved: false },
        { machineID: "m-1", bootID: "boot-a", process: shownOf("start-a"), isBelieved: false },
      ],
    });
  });

  it("→ a row a minute, and no facts are sent", async () => {
    const name = "cloned-cost";
    const { original, copy } = await twins(name);
    await original();
    const written = [JSON.stringify(await rowsOf(name))];
    for (const moreMs of [0, 0, 45_000, 0]) {
      shift(moreMs);
      const say = written.length % 2 === 1 ? copy : original;
      await say();
      expect(say.trips()).toEqual(["409", "200"]);
      written.push(JSON.stringify(await rowsOf(name)));
    }
    // The object writes rows a minute after the beginning, but not at each turn.
    expect(written.map((rows) => written.indexOf(rows))).toEqual([0, 0, 0, 3, 3]);
  });

  it.each([
    ["warm", false],
    ["evicted", true],
  ])(
    "one of which is gone → an hour after the last turn the other one is trusted, object %s",
    async (heat, cold) => {
      const name = `cloned-hour-${heat}`;
      const { copy } = await twins(name);
      if (cold) await evictDurableObject(objectOf(name));
      shift(HOUR_MS - 5000);
      expect(await copy()).toMatchObject(CLONED);
      shift(-4999);
      expect(await copy()).toMatchObject(REGISTERED);
      expect((await kube("GET", `/api/v1/nodes/${name}`)).status?.nodeInfo?.bootID).toBe("boot-b");
      expect((await historyOf(name, "identity"))[0]).toMatch(/^no longer cloned/);
      expect((await sendersOf(name)).double).toBeNull();
    },
  );

  it.each([
    ["in ten minutes → cloned", 0, CLONED],
    ["in a moment more → not", 1, REGISTERED],
  ])("three turns %s", async (_, moreMs, outcome) => {
    const machine = await enrolled(`cloned-window-${moreMs}`);
    const [original, copy] = [shim(machine, "start-a", "boot-a"), shim(machine, "start-b", "boot-b")];
    for (const say of [original, copy, original]) {
      expect(await say()).toMatchObject(REGISTERED);
      shift(5 * MINUTE_MS - 5000);
    }
    shift(moreMs);
    expect(await copy()).toMatchObject(outcome);
  });

  it("with a report that waits for the apiserver when they are revealed → it is not written", async () => {
    const name = "cloned-waiting";
    const machine = await enrolled(name);
    const [original, copy] = [shim(machine, "start-a", "boot-a"), shim(machine, "start-b", "boot-b")];
    await takeTurns(original, copy);
    expect(await original()).toMatchObject(REGISTERED);
    const writes = await writesOf(name);
    await requestsAbout(name);
    await setFault(name, { kind: "hangs", of: "^PUT /apis/coordination" });
    const waiting = [original(), original()];
    await eventually(async () =>
      expect(await requestsAbout(name)).toContainEqual(expect.stringMatching(/^PUT/)),
    );
    expect(await copy()).toMatchObject(CLONED);
    await setFault(name, "");
    expect((await Promise.all(waiting)).at(-1)).toMatchObject(CLONED);
    await isUnknown(name);
    const status = `PATCH /api/v1/nodes/${name}/status`;
    const later = (await writesOf(name)).slice(writes.length);
    expect(later.map(({ request }) => request)).toEqual([expect.stringContaining(status)]);
  });

  it("an operator's `believe` → ends at once, in the audit log; if both still report, it begins again", async () => {
    const name = "cloned-operator";
    const { original, copy } = await twins(name);
    expect([await believe(name), await believe(name)]).toEqual([204, 404]);
    // Only the first of the two requests changed anything, so the audit log has one entry.
    const { body } = await operator<{ entries: AuditEntry[] }>("GET", `/v1/audit?target=${name}`);
    expect(body.entries.filter(({ what }) => what === "node.believe")).toMatchObject([
      { who: "admin secret" },
    ]);
    const ended = (await historyOf(name, "identity")).filter((text) => text.startsWith("no longer cloned"));
    expect(ended).toEqual(["no longer cloned: an operator has ended it"]);
    await takeTurns(original, copy);
    expect(await copy()).toMatchObject(CLONED);
  });

  it("an eviction after every report → cloned all the same", async () => {
    const machine = await enrolled("cloned-evicted");
    const [original, copy] = [shim(machine, "start-a", "boot-a"), shim(machine, "start-b", "boot-b")];
    for (const [index, say] of [original, copy, original, copy, original, copy].entries()) {
      expect(await say()).toMatchObject(index < 3 ? REGISTERED : CLONED);
      await evictDurableObject(objectOf(machine.name));
    }
  });

  it("an alarm → renews nothing, and marks them silent if neither reports; one returns → cloned", async () => {
    const name = "cloned-alarm";
    const { copy } = await twins(name);
    const writes = await writesOf(name);
    shift(MINUTE_MS / 2);
    await runDurableObjectAlarm(objectOf(name));
    expect(await historyOf(name, "silence")).toEqual([]);
    shift(MINUTE_MS / 2);
    await runDurableObjectAlarm(objectOf(name));
    expect(await historyOf(name, "silence")).toEqual([expect.stringMatching(/^silent since/)]);
    expect(await copy()).toMatchObject(CLONED);
    expect((await historyOf(name, "silence"))[0]).toMatch(/^heard of again/);
    expect((await historyOf(name, "state")).slice(0, 3)).toEqual([
      "silent → blocked",
      "blocked → silent",
      "ready → blocked",
    ]);
    expect(await writesOf(name)).toEqual(writes);
  });

  it("with refused facts → cloned", async () => {
    const machine = await enrolled("cloned-refused");
    const original = shim(machine, "start-a", "boot-a");
    const copy = shim(machine, "start-b", "boot-b", {
      platform: { os: "linux", architecture: "no label's value" },
      machine: { ...facts(machine.name).machine!, bootID: "boot-b" },
    });
    for (const say of [original, copy, original]) await say();
    expect(await copy()).toMatchObject(CLONED);
    expect(await original()).toMatchObject(CLONED);
  });

  it("copied from a running machine, with its memory → cloned", async () => {
    const machine = await enrolled("cloned-running");
    const [original, copy] = [shim(machine, "start-a", "boot-a"), shim(machine, "start-a", "boot-a")];
    const told: string[] = [];
    for (let turn = 0; turn < 4; turn++) {
      for (const say of [original, copy]) {
        const outcome = await say();
        if (outcome.ok) told.push(outcome.value.phase);
      }
    }
    expect(told.slice(-2)).toEqual(["cloned", "cloned"]);
  });

  it("one rejoins with a new key → trusted at once, and the old key is refused", async () => {
    const name = "cloned-rejoined";
    const { copy } = await twins(name);
    const joinToken = await mintToken({ names: name, rejoin: true });
    const key = await makeMachineKey();
    const outcome = await enrolling(name, { joinToken, key });
    if (!("kid" in outcome)) throw new Error(outcome.reason);
    expect(await shim({ name, key, kid: outcome.kid, ticket: "" }, "start-c", "boot-a")()).toMatchObject(
      REGISTERED,
    );
    expect(await copy()).toMatchObject({ ok: false, error: { reason: "refused", problem: { status: 401 } } });
    expect((await sendersOf(name)).double).toBeNull();
  });
});

describe("a machine that changes its key while it is cloned", () => {
  it("→ the copy's key is refused from its next report on, and the operator's `believe` ends the phase", async () => {
    const name = "cloned-rotated";
    const { machine, copy } = await twins(name);
    const next = await makeMachineKey();
    const outcome = await rotate(transport, { ...machine, origin: ORIGIN }, next);
    if (!outcome.ok) throw new Error(JSON.stringify(outcome));
    const rotated = shim({ ...machine, key: next, kid: outcome.value.kid }, "start-c", "boot-a");
    expect(await rotated()).toMatchObject(CLONED);
    expect(await copy()).toMatchObject({
      ok: false,
      error: { reason: "refused", problem: { reason: "key-revoked" } },
    });
    await believe(name);
    expect(await rotated()).toMatchObject(REGISTERED);
  });
});

describe("two shims on one machine", () => {
  async function two(name: string) {
    const machine = await enrolled(name);
    // The second sender's facts differ, which must not make the object write at each turn.
    const other = { custom: { "example.com/by": "second" } };
    const [first, second] = [shim(machine, "start-a", "boot-a"), shim(machine, "start-b", "boot-a", other)];
    await takeTurns(first, second);
    expect(await second()).toMatchObject(TWO_SHIMS);
    expect(await first()).toMatchObject(TWO_SHIMS);
    return { first, second };
  }
  const leasesOf = async (name: string) => (await writesAbout(name, "Lease")).length;

  it("→ two shims: the first one keeps the Node, the second changes nothing, and neither restarts", async () => {
    const name = "two-shims";
    const { first, second } = await two(name);
    await indexIsUpdated(name);
    const [rows, starts] = [await rowsOf(name), await historyOf(name, "registration")];
    for (let turn = 0; turn < 2; turn++) {
      const leases = await leasesOf(name);
      expect(await second({ ...HEALTHY, shuttingDown: true })).toMatchObject(TWO_SHIMS);
      expect(second.trips()).toEqual(["409", "200"]);
      expect(await leasesOf(name)).toBe(leases);
      expect(await first()).toMatchObject(TWO_SHIMS);
      expect(await leasesOf(name)).toBe(leases + 1);
    }
    expect(await rowsOf(name)).toEqual(rows);
    expect(await historyOf(name, "registration")).toEqual(starts);
    expect(await eventsOf(name, "TwoShims")).toMatchObject([{ type: "Warning", count: 1 }]);
  });

  it("the second one is stopped → ten minutes later the phase ends", async () => {
    const { first } = await two("two-second-stopped");
    shift(10 * MINUTE_MS - 5000);
    expect(await first()).toMatchObject(TWO_SHIMS);
    shift(-4999);
    expect(await first()).toMatchObject(REGISTERED);
  });

  it.each([
    ["warm", false],
    ["evicted", true],
  ])("the first one is stopped → the second one speaks for the machine, object %s", async (heat, cold) => {
    const name = `two-first-stopped-${heat}`;
    const { second } = await two(name);
    if (cold) await evictDurableObject(objectOf(name));
    shift(2 * MINUTE_MS);
    expect(await second()).toMatchObject(TWO_SHIMS);
    const leases = await leasesOf(name);
    expect(await second()).toMatchObject(TWO_SHIMS);
    expect(await leasesOf(name)).toBe(leases + 1);
    expect(await sendersOf(name)).toMatchObject({
      senders: [
        { process: shownOf("start-b"), isBelieved: true },
        { process: shownOf("start-a"), isBelieved: false },
      ],
    });
  });

  it("an operator's `believe` → ends at once", async () => {
    const name = "two-operator";
    const { first } = await two(name);
    expect(await believe(name)).toBe(204);
    expect(await first()).toMatchObject(REGISTERED);
  });
});

describe("a single machine stays registered:", () => {
  it.each<[string, [startId: string, bootID: string][]]>([
    [
      "reboots",
      [
        ["a", "1"],
        ["b", "2"],
        ["c", "3"],
        ["d", "4"],
      ],
    ],
    [
      "a shim in a crash loop",
      [
        ["a", "1"],
        ["b", "1"],
        ["c", "1"],
        ["d", "1"],
        ["e", "1"],
      ],
    ],
    [
      "kexec",
      [
        ["a", "1"],
        ["a", "1"],
        ["b", "2"],
        ["b", "2"],
      ],
    ],
  ])("%s", async (situation, processes) => {
    const machine = await enrolled(`alone-${situation.replaceAll(" ", "-")}`);
    const started = new Map<string, Say>();
    for (const [startId, bootID] of processes) {
      const say = started.get(startId) ?? shim(machine, startId, bootID);
      // A new process reports ten seconds later: a boot takes longer than a report interval.
      if (!started.has(startId)) shift(10_000);
      started.set(startId, say);
      expect(await say()).toMatchObject(REGISTERED);
    }
    expect((await sendersOf(machine.name)).double).toBeNull();
  });

  it("lost answers, and repeats", async () => {
    const { name, key, kid } = await enrolled("alone-lost");
    let requests = 0;
    const send: Transport = async (request) => {
      await transport(request);
      // The transport sends every request twice, and loses every third answer.
      const response = await transport(request);
      if (++requests % 3 === 0) throw new Error("lost");
      return response;
    };
    const machineTime = () => new Date().toISOString();
    const report = reporter({ name, origin: ORIGIN, key, kid, startId: "a", send, machineTime });
    for (let beat = 0; beat < 6; beat++) {
      shift(1000);
      const outcome = await report(facts(name), HEALTHY);
      if (outcome.ok || outcome.error.reason !== "failed") expect(outcome).toMatchObject(REGISTERED);
    }
    expect((await sendersOf(name)).double).toBeNull();
  });

  it("an unknown name → 404", async () => {
    expect((await operator("GET", "/v1/nodes/clones-nobody/clones")).status).toBe(404);
    expect((await operator("POST", "/v1/nodes/clones-nobody/believe")).body).toMatchObject({
      reason: "not-found",
    });
  });
});
