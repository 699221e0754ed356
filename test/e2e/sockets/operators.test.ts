// Tests that an operator's action reaches a machine with a socket at once, before the machine's next heartbeat.
import { CoreV1Api } from "@kubernetes/client-node";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Clock, systemClock } from "../../../node-shim/base/clock.ts";
import type { Reported } from "../../../node-shim/loop/loop.ts";
import { eventually } from "../local-cluster.ts";
import type { WorkerAccess } from "../own-worker.ts";
import { type PlacedMachine, sharedSocketPlace, type SocketPlace } from "./socket-place.ts";

/** The report interval. A machine whose clock is held for three intervals becomes silent and loses its socket. */
const INTERVAL_MS = 4000;

let place: SocketPlace<WorkerAccess>;
beforeAll(async () => {
  place = await sharedSocketPlace();
});
afterAll(() => place.stop());

/**
 * Returns a clock that a test can hold. While it is held, no timer of the shim fires: the shim sends only what the
 * Worker requests.
 */
function heldClock() {
  const due: (() => void)[] = [];
  let isHeld = false;
  const clock: Clock = {
    ...systemClock,
    timer(ms, callback) {
      let isCancelled = false;
      const call = () => void (isCancelled || callback());
      const cancel = systemClock.timer(ms, () => (isHeld ? void due.push(call) : call()));
      return () => {
        isCancelled = true;
        cancel();
      };
    },
  };
  const hold = () => void (isHeld = true);
  const release = () => {
    isHeld = false;
    for (const call of due.splice(0)) call();
  };
  return { clock, hold, release };
}

/** Runs a machine. Records in order: requests for reports, outcomes of reports, and changes of the transport. */
function watch(machine: PlacedMachine) {
  const events: string[] = [];
  const happened = (event: string) => void events.push(event);
  const { clock, hold, release } = heldClock();
  let rests = () => {};
  const shim = machine.run({
    clock,
    asked: () => happened("asked"),
    reported({ outcome }) {
      happened(outcomeText(outcome));
      rests();
    },
    changed: ({ via, fault }) => happened(fault === null ? via : `${via}: ${fault}`),
  });
  /** Resolves once `event` has happened, with all events since the call. */
  const until = async (event: string) => {
    const from = events.length;
    await eventually(() => Promise.resolve(events.includes(event, from)));
    return events.slice(from, events.indexOf(event, from) + 1);
  };
  /**
   * Runs an operator's command between two reports of the machine, so that the next heartbeat does not cause the
   * events. Resolves with the events up to `last`.
   */
  const act = async (words: string[], last: string) => {
    await new Promise<void>((resolve) => {
      rests = () => {
        hold();
        resolve();
      };
    });
    const reached = until(last);
    expect(await place.worker.rollcall([...words, shim.name])).toMatchObject({ code: 0, stderr: "" });
    const followed = await reached;
    rests = () => {};
    release();
    return followed;
  };
  return { shim, until, act, onSocket: eventually(() => Promise.resolve(shim.transport().via === "socket")) };
}

function outcomeText(outcome: Reported["outcome"]): string {
  if (outcome.ok) return outcome.value.phase;
  return outcome.error.reason === "refused" ? outcome.error.problem.reason : outcome.error.reason;
}

const machineOf = (index: number) => place.machine({ index, intervalMs: INTERVAL_MS });

it.concurrent(
  "register, after its Node was deleted → it reports at once, and its Node is there",
  async () => {
    const { shim, until, act, onSocket } = watch(await machineOf(11));
    await onSocket;
    await until("registered");
    await place.admin.makeApiClient(CoreV1Api).deleteNode({ name: shim.name });
    await until("node deleted");
    expect(await act(["node", "register"], "registered")).toEqual(["asked", "registered"]);
    expect((await place.ready()).get(shim.name)).toBe("True");
  },
);

it.concurrent("revoke → its socket is closed at once, and no lease of it is renewed any more", async () => {
  const { shim, until, act, onSocket } = watch(await machineOf(12));
  await onSocket;
  const closed = "http: the gateway has closed it: this machine's key is not accepted any more";
  expect(await act(["node", "revoke", "--yes"], closed)).toEqual([closed]);
  const renewedMs = (await place.renewals()).get(shim.name);
  await until("key-revoked");
  expect((await place.renewals()).get(shim.name)).toBe(renewedMs);
});
