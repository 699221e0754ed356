// Tests faults between a machine and its node object: after any fault, the next report is accepted after one
// challenge at most.
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { Transport } from "../../node-shim/worker-link/exchange.ts";
import app from "../../worker/index.ts";
import { ORIGIN } from "../worker/support/constants.ts";
import { transport } from "../worker/support/machine.ts";
import { DOWN, expectSound, putClock, REGISTERED, steady, UP, type WatchedMachine } from "./watched.ts";

const TIMES = 10;
const HOUR_MS = 3_600_000;
const YEAR_MS = 365 * 24 * HOUR_MS;
const macKey = (id: number) => `${id}:${btoa(String(id).repeat(32)).replaceAll("=", "")}`;

afterEach(() => {
  vi.restoreAllMocks();
});

/** Returns a transport to a Worker that has new MAC keys in front of its old ones. */
const withMacKeys =
  (...ids: number[]): Transport =>
  async ({ path, ...init }) => {
    const keys = [...ids.map(macKey), env.KID_MAC_KEYS].join(" ");
    const response = await app.fetch(new Request(ORIGIN + path, init), { ...env, KID_MAC_KEYS: keys });
    return { status: response.status, body: await response.text() };
  };

/** Returns the number of requests that the machine sends until its next report is accepted. */
async function requestsOfReport(machine: WatchedMachine): Promise<number> {
  let requests = 0;
  const { deliver } = machine;
  machine.deliver = (request) => {
    requests++;
    return deliver(request);
  };
  expect(await machine.report(machine.said.at(-1)?.isUp ? UP : DOWN)).toMatchObject(REGISTERED);
  machine.deliver = deliver;
  return requests;
}

describe("the next report is accepted at once", () => {
  it.each<[string, (machine: WatchedMachine) => Promise<void>]>([
    [
      "after answers that were lost",
      async (machine) => {
        machine.deliver = async (request) => {
          await transport(request);
          throw new Error("connection reset");
        };
        for (let lost = 0; lost < TIMES; lost++) await machine.report(lost % 2 === 0 ? DOWN : UP);
        machine.deliver = transport;
      },
    ],
    [
      "after requests that were lost",
      async (machine) => {
        machine.deliver = () => Promise.reject(new Error("connection refused"));
        for (let lost = 0; lost < TIMES; lost++) await machine.report();
        machine.deliver = transport;
      },
    ],
  ])("%s", async (situation, trouble) => {
    const machine = await steady(situation.replaceAll(" ", "-"));
    await trouble(machine);
    expect(await requestsOfReport(machine)).toBe(1);
    await expectSound(machine);
  });
});

it("after ticks that were slower than the shim's deadline", async () => {
  const machine = await steady("livelock-slow");
  await machine.wrong({ kind: "hangs after its effect", of: "^PUT /apis/coordination" });
  const underway: Promise<unknown>[] = [];
  machine.deliver = async (request) => {
    underway.push(transport(request));
    throw new Error("no answer in time");
  };
  for (let slow = 0; slow < TIMES; slow++) await machine.report();
  await machine.well();
  await Promise.all(underway);
  machine.deliver = transport;
  putClock().shift(10_000);
  expect(await requestsOfReport(machine)).toBe(1);
});

describe("the next report is accepted after one challenge", () => {
  it.each<[string, () => void, Transport]>([
    ["suspended for an hour", () => putClock().shift(HOUR_MS), transport],
    ["off for a year", () => putClock().shift(YEAR_MS), transport],
    ["whose Worker has new MAC keys", () => putClock().shift(60_000), withMacKeys(3)],
    ["off for a year, while the MAC keys changed twice", () => putClock().shift(YEAR_MS), withMacKeys(4, 3)],
  ])("of a machine %s", async (situation, pass, deliver) => {
    const machine = await steady(`livelock-${situation.replaceAll(/[ ,]+/g, "-").toLowerCase()}`);
    pass();
    machine.deliver = deliver;
    expect(await requestsOfReport(machine)).toBe(2);
    expect(await requestsOfReport(machine)).toBe(1);
    await expectSound(machine);
  });

  it("and each later one too, with an eviction before every report", async () => {
    const machine = await steady("livelock-evicted");
    for (let evictions = 0; evictions < TIMES; evictions++) {
      await machine.evict();
      expect(await requestsOfReport(machine)).toBe(2);
    }
  });
});

it("changed reports that cross again and again → all are answered, and the last one counts", async () => {
  const machine = await steady("livelock-crossing");
  for (let crossing = 0; crossing < TIMES; crossing++) {
    const outcomes = await Promise.all([machine.report(DOWN), machine.report(UP), machine.report(DOWN)]);
    for (const outcome of outcomes) expect(outcome.ok).toBe(true);
    expect(await machine.report(UP)).toMatchObject({ value: { ready: true } });
  }
});
