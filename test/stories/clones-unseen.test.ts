// Tests a thief with a machine's key, and even with the startId of its process, while the machine still reports:
// which facts the Node shows in ten rounds, and the phase afterwards.
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { reporter } from "../../node-shim/worker-link/reporter.ts";
import { sha256Base64url } from "../../node-shim/worker-link/sign.ts";
import type { Transport } from "../../node-shim/worker-link/exchange.ts";
import type { Facts } from "../../shared/protocol/facts.ts";
import type { Problem } from "../../shared/protocol/answers.ts";
import { canonicalJson } from "../../shared/protocol/digest.ts";
import { MAX_SENDERS, type SeenSenders } from "../../shared/node/duplicate-senders.ts";
import type { ListedSenders } from "../../shared/protocol/operator-answers.ts";
import { ORIGIN } from "../worker/support/constants.ts";
import {
  type EnrolledMachine,
  enrolled,
  facts,
  HEALTHY,
  kube,
  operator,
  requestsAbout,
  send,
  transport,
} from "../worker/support/machine.ts";
import { reportHeaders, reportOf } from "../worker/support/posting.ts";
import { shift } from "../worker/support/clock.ts";

const STARTED = "the machine's own process";
const objectOf = (name: string) => env.NODES.getByName(name);
const rowsOf = (name: string) =>
  runInDurableObject(objectOf(name), (_, { storage }) =>
    storage.sql.exec("SELECT key, value FROM records").toArray(),
  );

const machineFacts = (name: string, bootID: string, cores: number): Facts =>
  facts(name, { machine: { ...facts(name).machine!, bootID, cores } });

/** Returns a function that reports as the machine's own shim, with 4 CPUs. */
function honest({ name, key, kid }: EnrolledMachine, startId = STARTED, send: Transport = transport) {
  const machineTime = () => new Date().toISOString();
  const report = reporter({ name, origin: ORIGIN, key, kid, startId, send, machineTime });
  return (bootID = "boot", cores = 4) => report(machineFacts(name, bootID, cores), HEALTHY);
}

interface Stolen {
  startId: string;
  bootID: string;
  /** The number of CPUs in each of the thief's reports. The machine has 4. */
  cores?: number[];
  /** true if the thief obtains each ticket by a report with another startId. */
  prefetches?: boolean;
}

/**
 * Sends a round of reports as a thief that has the machine's key but no shim. The thief counts its requests from
 * 1000 and reports 64 CPUs in the end.
 */
async function steal(machine: EnrolledMachine, { startId, bootID, cores = [64], prefetches }: Stolen) {
  const { name } = machine;
  let [ticket, n] = ["", 1000];
  const post = async (process: string, reported: Facts) => {
    const factsDigest = sha256Base64url(canonicalJson(reported));
    const body = JSON.stringify(reportOf(name, { startId: process, factsDigest, facts: reported }));
    const headers = await reportHeaders(machine, body, { ticket, n: n++ });
    const response = await send(`/v1/nodes/${name}/report`, { method: "POST", headers, body });
    ticket = (await response.json<Problem>()).ticket ?? ticket;
    return response.status;
  };
  for (const count of cores) {
    const reported = machineFacts(name, bootID, count);
    if (prefetches) await post("a process that never was", reported);
    const statuses: number[] = [];
    while (statuses.at(-1) !== 200 && statuses.length < 3) statuses.push(await post(startId, reported));
    expect(statuses.at(-1)).toBe(200);
  }
}

/** Returns the number of CPUs and the boot ID in the Node, which show whose facts the cluster has. */
async function look(name: string): Promise<string> {
  const { status } = await kube("GET", `/api/v1/nodes/${name}`);
  return `${status?.capacity?.["cpu"]} ${status?.nodeInfo?.bootID}`;
}
const MACHINES = "4 boot";
const doubleOf = async (name: string) =>
  (await operator<ListedSenders>("GET", `/v1/nodes/${name}/clones`)).body.double?.phase;

/** The thief's part of a round, before the machine's own report. */
type Theft = (machine: EnrolledMachine, round: number) => Promise<unknown>;

/** Runs the theft at the highest allowed rate: about 100 requests at once, then one a second. */
async function flood(machine: EnrolledMachine, count: number, theft: Theft): Promise<void> {
  for (let index = 0; index < count; index++) {
    if (index >= 95) shift(1000);
    await theft(machine, index);
  }
}

describe("a thief with the machine's key, and the machine, ten times in turns:", () => {
  const known: Theft = (machine) => steal(machine, { startId: STARTED, bootID: "boot" });
  const prefetched: Theft = (machine) =>
    steal(machine, { startId: STARTED, bootID: "boot", prefetches: true });
  const restarts: Theft = (machine, index) => steal(machine, { startId: `stolen ${index}`, bootID: "boot" });
  const reboots: Theft = (machine, index) =>
    steal(machine, { startId: `stolen ${index}`, bootID: `stolen ${index}` });
  const [asOneProcess, asOneMachine]: Theft[] = [
    (machine) => steal(machine, { startId: "stolen", bootID: "boot" }),
    (machine) => steal(machine, { startId: "stolen", bootID: "stolen" }),
  ];

  const disguised: Theft = (machine, index) =>
    steal(machine, { startId: `stolen ${index}`, bootID: "boot", cores: [4, 64] });

  // `seen`: the number of reports, out of twenty, after which the Node has the thief's facts.
  it.each<
    [what: string, name: string, Theft, { after: "round" | "report" | "" }, phase: string, seen: number]
  >([
    ["n from 1000, the startId known", "known", known, { after: "" }, "cloned", 0],
    ["n from 1000, with a ticket for another process", "prefetched", prefetched, { after: "" }, "cloned", 1],
    ["n from 1000, the object evicted after each round", "evicted", known, { after: "round" }, "cloned", 0],
    ["a process of its own", "process", asOneProcess!, { after: "" }, "two shims", 0],
    ["a process and a boot of its own", "boot", asOneMachine!, { after: "" }, "cloned", 0],
    ["another process each time", "processes", restarts, { after: "" }, "two shims", 0],
    [
      "another process each time, the object evicted after each report",
      "cold-processes",
      restarts,
      { after: "report" },
      "two shims",
      1,
    ],
    ["the machine's own facts, then its own", "disguised", disguised, { after: "" }, "two shims", 0],
    ["another boot each time", "boots", reboots, { after: "" }, "cloned", 0],
    [
      "another boot each time, the object evicted after each report",
      "cold-boots",
      reboots,
      { after: "report" },
      "cloned",
      1,
    ],
  ])("%s (%s)", async (_, name, theft, { after }, phase, seen) => {
    const machine = await enrolled(`unseen-${name}`);
    const report = honest(machine);
    const evict = async (when: string) => {
      if (after === when) await evictDurableObject(objectOf(machine.name));
    };
    await report();
    await report();
    expect(await look(machine.name)).toBe(MACHINES);
    const looks: string[] = [];
    for (let round = 0; round < 10; round++) {
      shift(5000);
      await evict("report");
      await theft(machine, round);
      looks.push(await look(machine.name));
      await evict("report");
      shift(4600);
      await report();
      looks.push(await look(machine.name));
      await evict("round");
    }
    expect(await doubleOf(machine.name)).toBe(phase);
    // The thief's facts may appear only until the machine's first contradicting report.
    expect(looks.slice(2).filter((seen) => seen !== MACHINES)).toEqual([]);
    expect(looks.filter((seen) => seen !== MACHINES)).toHaveLength(seen);
  });

  it.each<[string, string, Theft, phase: string, first: string]>([
    [
      "as many boots as the limit allows between two reports of the machine",
      "flood-boots",
      reboots,
      "cloned",
      "cloned",
    ],
    [
      "as many processes as the limit allows between two reports of the machine",
      "flood-processes",
      restarts,
      "two shims",
      "registered",
    ],
  ])("%s → seen with the second report at the latest, and its facts never are", async (...row) => {
    const [, name, theft, phase, first] = row;
    const machine = await enrolled(`unseen-${name}`);
    const report = honest(machine);
    for (let beat = 0; beat < 2; beat++) await report();
    shift(1000);
    // 95 at once, and one in each of 8 seconds; more are refused.
    await flood(machine, 103, theft);
    const looks = [await look(machine.name)];
    shift(600);
    expect(await report()).toMatchObject({ ok: true, value: { phase: first } });
    for (let round = 1; round < 10; round++) {
      shift(5000);
      await theft(machine, 1000 + round);
      looks.push(await look(machine.name));
      shift(4600);
      expect(await report()).toMatchObject({ ok: true, value: { phase } });
    }
    expect(looks).toEqual(looks.map(() => MACHINES));
    expect(await doubleOf(machine.name)).toBe(phase);
    const { senders } = (await operator<ListedSenders>("GET", `/v1/nodes/${machine.name}/clones`)).body;
    const machines = sha256Base64url(STARTED).slice(0, 8);
    const isBelieved = senders.find(({ process }) => process === machines)?.isBelieved;
    expect(isBelieved).toBe(phase === "two shims");
    expect(senders.length).toBeLessThanOrEqual(MAX_SENDERS.processes + 2);
  });
});

const forksOf = (name: string) =>
  runInDurableObject(objectOf(name), (_, { storage }) => {
    const rows = storage.sql.exec<{ value: string }>("SELECT value FROM records WHERE key = 'sightings'");
    return (JSON.parse(rows.one().value) as SeenSenders).forks?.length ?? 0;
  });

describe("signs of a second sender", () => {
  it("one report more than expected → is stored, and outlives an eviction", async () => {
    const name = "unseen-too-many";
    const machine = await enrolled(name);
    const report = honest(machine);
    await report();
    shift(60_000);
    for (let sent = 0; sent < 50; sent++) await report();
    expect(await forksOf(name)).toBe(0);
    // The remaining reports come from a copy of the process's memory.
    const copy = honest(machine);
    for (let sent = 0; sent < 52; sent++) await copy();
    expect(await forksOf(name)).toBe(1);
    expect(await report()).toMatchObject({ ok: false, error: { problem: { reason: "rate-limited" } } });
    expect(await forksOf(name)).toBe(2);
    await evictDurableObject(objectOf(name));
    shift(1000);
    await report();
    await copy();
    expect(await doubleOf(name)).toBe("cloned");
  });

  it("cost a row each time; a steady machine has none, also after its answers were lost", async () => {
    const name = "unseen-rows";
    const machine = await enrolled(name);
    let isLost = false;
    const report = honest(machine, STARTED, async (request) => {
      const response = await transport(request);
      if (isLost) throw new Error("lost");
      return response;
    });
    for (let beat = 0; beat < 3; beat++) await report();
    const stored = await rowsOf(name);
    for (let beat = 0; beat < 12; beat++) {
      shift(9600);
      isLost = beat % 4 === 0 || beat % 5 === 0;
      await report();
    }
    isLost = false;
    await evictDurableObject(objectOf(name));
    expect(await report()).toMatchObject({ ok: true, value: { phase: "registered" } });
    expect(await rowsOf(name)).toEqual(stored);
    await requestsAbout(name);
    shift(9600);
    await report();
    expect(await requestsAbout(name)).toHaveLength(1);
  });
});

describe("a machine alone, whose facts change as it", () => {
  const STARTS = "starts again";
  it.each([
    ["at once", 0, "4 boot", 11_000],
    ["later", 11_000, "8 boot", undefined],
  ])(
    `${STARTS} %s → its Node has them, eleven seconds after its last report at the latest`,
    async (_, ms, seen, waitMs) => {
      const name = `unseen-restart-${ms}`;
      const machine = await enrolled(name);
      const before = honest(machine);
      for (let beat = 0; beat < 2; beat++) await before();
      shift(ms);
      const after = honest(machine, "its next process");
      const outcome = await after("boot", 8);
      const phase = waitMs === undefined ? "registered" : "registering";
      expect(outcome).toMatchObject({ ok: true, value: { phase, ready: true } });
      expect(await look(name)).toBe(seen);
      if (waitMs !== undefined) {
        expect(outcome).toMatchObject({
          value: { reportInMs: waitMs, message: expect.stringContaining("Another process") },
        });
        shift(waitMs);
        expect(await after("boot", 8)).toMatchObject({ ok: true, value: { phase: "registered" } });
      }
      expect(await look(name)).toBe("8 boot");
      expect(await doubleOf(name)).toBeUndefined();
    },
  );

  it("reboots → its Node has them at once, since a reboot takes longer than a report interval", async () => {
    const name = "unseen-reboot";
    const machine = await enrolled(name);
    await honest(machine)();
    shift(15_000);
    expect(await honest(machine, "booted")("next boot", 8)).toMatchObject({ ok: true });
    expect(await look(name)).toBe("8 next boot");
  });
});
