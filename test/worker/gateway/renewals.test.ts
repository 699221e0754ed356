// Tests which PUTs of a gateway run at the same time, in which order the others follow, and when a PUT is dropped.
import { describe, expect, it } from "vitest";
import type { Lease } from "../../../shared/kubernetes/types.ts";
import type { LeasePut } from "../../../worker/gateway/lease.ts";
import { PUT_WAITS_MS, PUTS_AT_ONCE } from "../../../worker/gateway/renewals.ts";
import { pass } from "../support/clock.ts";
import {
  INTERVAL_MS,
  inGateway,
  LEASE_MS,
  type MachineSocket,
  type MadeUpGateway,
  until,
} from "../support/made-up-gateway.ts";

/** Connects machines `edge-0`, `edge-1`, …, a second apart, so that each lease has another age. */
async function connected(made: MadeUpGateway, count: number): Promise<MachineSocket[]> {
  const sockets: MachineSocket[] = [];
  for (let at = 0; at < count; at++) {
    made.nowMs += 1000;
    sockets.push(await made.connected(`edge-${at}`));
  }
  return sockets;
}

/** Holds all PUTs until the test answers them by the name of their lease. */
function held(made: MadeUpGateway) {
  const answers = new Map<string, (put: LeasePut) => void>();
  made.onPut = ({ metadata }: Lease) =>
    new Promise<LeasePut>((resolve) => void answers.set(metadata?.name ?? "", resolve));
  return {
    answer: async (name: string, put?: LeasePut) => {
      await until(() => answers.has(name));
      const lease = made.leases.get(name);
      answers.get(name)?.(put ?? made.write(lease!));
    },
  };
}

/** Sends a heartbeat of each socket at once. Returns the answers, which come later. */
async function beatAll(
  made: MadeUpGateway,
  sockets: MachineSocket[],
): Promise<Promise<string | undefined>[]> {
  made.nowMs += INTERVAL_MS;
  const beaten: Promise<string | undefined>[] = [];
  for (const socket of sockets) {
    const [begun, waiting] = [made.puts.length, made.waiting];
    beaten.push(made.beat(socket, { afterMs: 0 }));
    await until(() => made.puts.length > begun || made.waiting > waiting);
  }
  return beaten;
}

describe("PUTs at a time", () => {
  it.each([
    ["at the limit → all run", PUTS_AT_ONCE, 0],
    ["one more → it waits", PUTS_AT_ONCE + 1, 1],
  ])("%s", (_, count, waiting) =>
    inGateway(async (made) => {
      const { answer } = held(made);
      const sockets = await connected(made, count);
      const beaten = await beatAll(made, sockets);
      expect([made.puts.length, made.waiting]).toEqual([PUTS_AT_ONCE, waiting]);
      made.nowMs += 1500;
      expect(made.gateway.status()?.queue).toEqual({ length: waiting, seconds: waiting * 1.5 });
      for (const { name } of sockets) await answer(name);
      expect(new Set(await Promise.all(beaten))).toEqual(new Set(["answer"]));
      expect([made.puts.length, made.waiting]).toEqual([count, 0]);
    }),
  );

  it("a free slot goes to the lease that was renewed first, not to the heartbeat that came first", () =>
    inGateway(async (made) => {
      const { answer } = held(made);
      const sockets = await connected(made, PUTS_AT_ONCE + 3);
      const running = sockets.slice(3);
      const [oldest, middle, youngest] = sockets as [MachineSocket, MachineSocket, MachineSocket];
      const beaten = await beatAll(made, [...running, youngest, oldest, middle]);
      for (const { name } of [...running, oldest, middle, youngest]) await answer(name);
      await Promise.all(beaten);
      expect(made.puts.slice(PUTS_AT_ONCE)).toEqual(["edge-0", "edge-1", "edge-2"]);
    }));
});

describe("a PUT that waits", () => {
  /** Fills all slots, and lets one more machine wait. */
  async function waiting(made: MadeUpGateway) {
    const { answer } = held(made);
    const sockets = await connected(made, PUTS_AT_ONCE + 1);
    const beaten = await beatAll(made, sockets);
    const [socket, answered] = [sockets.at(-1)!, beaten.at(-1)!];
    const release = async () => {
      for (const { name } of sockets.slice(0, -1)) await answer(name);
      await Promise.all(beaten);
    };
    return { socket, answered, answer, release, name: socket.name };
  }

  const wasPut = (made: MadeUpGateway, name: string) => made.puts.includes(name);

  it.each<
    [
      situation: string,
      end: (made: MadeUpGateway, name: string) => Promise<unknown>,
      said: string | undefined,
    ]
  >([
    [
      "the loan is withdrawn → returned at once, and the machine reports",
      (made, name) => made.gateway.withdraw(name, 99),
      "again over",
    ],
    [
      "an operator wants a report → the machine reports",
      (made, name) => made.gateway.reportNow(name),
      "report-now",
    ],
    [
      "the machine is dismissed → its socket closes",
      (made, name) => made.gateway.dismiss(name, "refused"),
      "closing refused",
    ],
  ])("%s; it is never sent", (_, end, said) =>
    inGateway(async (made) => {
      const { answered, name, release } = await waiting(made);
      await end(made, name);
      expect(await answered).toBe(said);
      expect(made.waiting).toBe(0);
      await release();
      expect(wasPut(made, name)).toBe(false);
    }),
  );

  it("the machine's socket closes → its object is notified at once, and the PUT is never sent", () =>
    inGateway(async (made) => {
      const { socket, name, release } = await waiting(made);
      await made.lose(socket);
      expect(made.asked.at(-1)).toMatchObject({ name, what: "ended", returned: { requests: 0 } });
      await release();
      expect(wasPut(made, name)).toBe(false);
    }));

  it("the apiserver fails meanwhile → answered without a PUT, and the next heartbeat comes sooner", () =>
    inGateway(async (made) => {
      const { socket, answered, name, answer } = await waiting(made);
      await answer("edge-0", { kind: "failed", isAnswered: true, retryAfterMs: 0 });
      expect(await answered).toBe("answer");
      expect(socket.last).toMatchObject({ nextInMs: 2400 });
      expect(wasPut(made, name)).toBe(false);
    }));

  it("the clock is put back meanwhile → the loan is over", () =>
    inGateway(async (made) => {
      const { answered, answer } = await waiting(made);
      made.nowMs -= 60_000;
      await answer("edge-0");
      expect(await answered).toBe("again over");
    }));

  it.each<[situation: string, leaseMs: number, waitsMs: number, said: string, nextInMs: number | undefined]>([
    [
      "a lease of two intervals → the machine reports",
      LEASE_MS / 2,
      PUT_WAITS_MS / 2,
      "again over",
      undefined,
    ],
    [
      "a lease of three intervals → the machine reports",
      (3 * LEASE_MS) / 4,
      (3 * PUT_WAITS_MS) / 4,
      "again over",
      undefined,
    ],
    ["a lease of four intervals → the next heartbeat comes at once", LEASE_MS, PUT_WAITS_MS, "answer", 1000],
    [
      "a lease of twelve intervals → answered: the next heartbeat renews it",
      3 * LEASE_MS,
      PUT_WAITS_MS,
      "answer",
      9600,
    ],
  ])("too long, %s; it is never sent", (_, leaseMs, waitsMs, said, nextInMs) =>
    inGateway(async (made) => {
      made.loan = { leaseMs };
      const { socket, answered, name, release } = await waiting(made);
      made.nowMs += waitsMs;
      await pass(waitsMs - 1);
      expect(made.waiting).toBe(1);
      await pass(1);
      expect(await answered).toBe(said);
      if (nextInMs !== undefined) expect(socket.last).toMatchObject({ nextInMs });
      await release();
      expect(wasPut(made, name)).toBe(false);
    }),
  );

  it("too long, while the isolate becomes busy → answered: a report would make it busier", () =>
    inGateway(async (made) => {
      const lateness = { ms: 0, calmMs: Infinity, note: () => undefined };
      made.live({ lateness });
      const { answered, release } = await waiting(made);
      Object.assign(lateness, { ms: 4000, calmMs: 0 });
      made.nowMs += PUT_WAITS_MS;
      await pass(PUT_WAITS_MS);
      expect(await answered).toBe("answer");
      await release();
    }));
});
