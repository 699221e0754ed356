// What ends a machine's right to its name while its lease is lent: nothing is renewed afterwards, not once, whatever still
// comes by its socket.
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { makeMachineKey } from "../../../node-shim/identity/machine-key.ts";
import { leave, rotate } from "../../../node-shim/worker-link/requests.ts";
import { ORIGIN } from "../../worker/support/constants.ts";
import { enrolled, operator, transport } from "../../worker/support/machine.ts";
import { SocketMachine } from "../../worker/support/socket-machine.ts";
import {
  BEAT_MS,
  evictNode,
  halfOpen,
  nextBeat,
  type OnSocket,
  onSocket,
  pass,
  renewedBy,
  slug,
  startClock,
  stopClock,
} from "./on-socket.ts";

const ANSWER = { type: "answer" };
const REGISTERED = { status: 200, answer: { phase: "registered" } };

beforeEach(stopClock);
afterEach(startClock);

const leaves = async ({ enrolled: machine }: OnSocket) =>
  expect(await leave(transport, { ...machine, origin: ORIGIN })).toMatchObject({ ok: true });

/** Its next key takes over with its first report. */
async function rotates({ enrolled: machine }: OnSocket): Promise<void> {
  const key = await makeMachineKey();
  const rotated = await rotate(transport, { ...machine, origin: ORIGIN }, key);
  if (!rotated.ok) throw new Error(JSON.stringify(rotated));
  const next = new SocketMachine({ ...machine, key, kid: rotated.value.kid, ticket: "" });
  expect(await next.http()).toMatchObject(REGISTERED);
}

/** Another machine has the name from now on. */
async function isSucceeded({ name }: OnSocket): Promise<SocketMachine> {
  const next = new SocketMachine(await enrolled(name, { rejoin: true }), "start-2");
  pass(BEAT_MS);
  expect(await next.http()).toMatchObject({ status: 200 });
  return next;
}

const ENDINGS: [situation: string, end: (of: OnSocket) => Promise<unknown>, told: object[]][] = [
  [
    "an operator revokes its keys",
    async ({ name }) => expect((await operator("POST", `/v1/nodes/${name}/revoke`)).status).toBe(204),
    [{ type: "closing", reason: "refused", comeBackInMs: 600_000 }],
  ],
  [
    "an operator forgets it",
    async ({ name }) => expect((await operator("DELETE", `/v1/nodes/${name}`)).status).toBe(204),
    [{ type: "left" }],
  ],
  ["it leaves", leaves, [{ type: "left" }]],
  ["it gives itself another key, which reports by HTTP", rotates, []],
  ["another machine rejoins with its name", isSucceeded, []],
  [
    "it leaves, and a machine joins with the same name",
    async (of) => {
      await leaves(of);
      await isSucceeded(of);
    },
    [{ type: "left" }],
  ],
];

describe.each([
  ["awake", false],
  ["evicted", true],
])("a machine on a socket, its object %s:", (state, isEvicted) => {
  it.each(ENDINGS)(
    "%s → no beat and no report of the socket renews any more",
    async (situation, end, told) => {
      const known = await onSocket(slug("ended", situation, state));
      const { name, gateway, socket } = known;
      expect(await renewedBy(name, () => nextBeat(socket))).toBe(1);
      const late = await halfOpen(gateway, name);
      if (isEvicted) await evictNode(name);
      await end(known);
      expect(socket.frames.slice(-told.length - 1)).toEqual([expect.objectContaining(ANSWER), ...told]);
      const renewed = await renewedBy(name, async () => {
        for (let beats = 0; beats < 4; beats++) {
          pass(BEAT_MS);
          await late(await socket.heartbeat());
          await late(await socket.reportFrame());
        }
      });
      expect(renewed).toBe(0);
      const statuses = socket.frames.flatMap((frame) => (frame.type === "report-answer" ? frame.status : []));
      expect(statuses.slice(1).every((status) => status >= 400)).toBe(true);
    },
  );
});
