import { expect, it, vi, afterEach } from "vitest";
import { enrolled, requestsAbout } from "../../worker/support/machine.ts";
import { SocketMachine } from "../../worker/support/socket-machine.ts";
import { putClock } from "../watched.ts";

afterEach(() => void vi.restoreAllMocks());

it("a machine goes on over a socket → its quiet heartbeats renew its lease, and wake nobody", async () => {
  const clock = putClock();
  const machine = new SocketMachine(await enrolled("socket-1"));
  expect(await machine.http()).toMatchObject({ status: 200, answer: { phase: "registered" } });
  clock.shift(10_000);
  console.log(JSON.stringify(await machine.http()));
  const socket = await machine.connect();
  const answer = await socket.report();
  console.log(JSON.stringify(answer));
  await requestsAbout("socket-1");
  for (let index = 0; index < 3; index++) {
    clock.shift(9600);
    console.log(JSON.stringify(await socket.beat()));
    console.log(await requestsAbout("socket-1"));
  }
});
