// Measures the cost of an hour of one steady machine on a socket, as the platform counts it. Counts rows, requests to
// the apiserver, and calls to Durable Objects.
import { runInDurableObject } from "cloudflare:test";
import { afterEach, expect, it, vi } from "vitest";
import { NodeObject } from "../../../worker/machine/node-object.ts";
import { RegistryObject } from "../../../worker/registry/registry-object.ts";
import { lentMachine, live, leasePath, nodePath, stoppedClock } from "./members.ts";
import { BEAT_MS, callsAbout, gatewayOf, objectOf } from "./on-socket.ts";

const MINUTES = 60;

afterEach(() => void vi.restoreAllMocks());

/**
 * Returns a counter of the rows that this object writes from now on. Setting the alarm counts as one row, as the
 * platform bills it.
 */
async function countRows(stub: DurableObjectStub): Promise<() => Promise<number>> {
  const cursors: { readonly rowsWritten: number }[] = [];
  let alarms = 0;
  await runInDurableObject(stub, (_, { storage }) => {
    const { sql } = storage;
    const [exec, setAlarm] = [sql.exec.bind(sql), storage.setAlarm.bind(storage)];
    const counted = (...args: Parameters<typeof exec>) => {
      const cursor = exec(...args);
      cursors.push(cursor);
      return cursor;
    };
    const countedAlarm = (...args: Parameters<typeof setAlarm>) => {
      alarms++;
      return setAlarm(...args);
    };
    Object.defineProperty(sql, "exec", { value: counted });
    Object.defineProperty(storage, "setAlarm", { value: countedAlarm });
  });
  // A SQL cursor can be read only inside its object.
  return () =>
    runInDurableObject(stub, () => cursors.reduce((sum, { rowsWritten }) => sum + rowsWritten, alarms));
}

/** Counts the calls to this machine's node object from now on, by method. */
function countCalls(name: string): () => Record<string, number> {
  const spies = {
    report: vi.spyOn(NodeObject.prototype, "reportBySocket"),
    ended: vi.spyOn(NodeObject.prototype, "socketEnded"),
  };
  return () =>
    Object.fromEntries(Object.entries(spies).map(([call, spy]) => [call, callsAbout(spy, [name])]));
}

it("an hour of a steady machine → a row or two, one PUT for each heartbeat, and reports for the status only", async () => {
  const clock = stoppedClock();
  const machine = await lentMachine("cost", clock);
  // The measurement begins once the next alarm of the machine's node object is an hour ahead.
  await live([machine], clock, 330_000);
  await machine.asked();
  const stubs = [objectOf(machine.name), gatewayOf(machine.gateway)];
  const counters = await Promise.all(stubs.map(countRows));
  const calls = countCalls(machine.name);
  const confirm = vi.spyOn(RegistryObject.prototype, "confirm");
  const said = { answer: 0, registered: 0 };
  await live([machine], clock, MINUTES * 60_000, (each) => said[each as keyof typeof said]++);

  const [ofNode = NaN, ofGateway = NaN] = await Promise.all(counters.map((each) => each()));
  expect(ofNode / MINUTES).toBeLessThanOrEqual(0.05);
  // The gateway writes rows only in its alarm, and one alarm serves all machines of the gateway.
  expect(ofGateway / MINUTES).toBeLessThanOrEqual(2.2);

  // A full report follows every five minutes, or sooner after a change.
  expect(said.registered).toBeLessThanOrEqual(MINUTES / 5 + 1);
  expect(said.answer + said.registered).toBe(Math.floor((MINUTES * 60_000) / BEAT_MS));
  const asked = Map.groupBy(await machine.asked(), (line) => line);
  expect(Object.fromEntries([...asked].map(([line, { length }]) => [line, length]))).toEqual({
    [`PUT ${leasePath(machine.name)}`]: said.answer,
    [`GET ${nodePath(machine.name)}`]: said.registered,
    [`PATCH ${nodePath(machine.name)}/status`]: said.registered,
  });
  expect(calls()).toEqual({ report: said.registered, ended: 0 });
  expect(confirm.mock.calls.filter(([name]) => name === machine.name)).toEqual([]);
});
