// Tests a machine that loses its name while its lease is lent: no renewal follows, although the machine's socket
// still sends frames.
import { afterEach, describe, expect, it, vi } from "vitest";
import { makeMachineKey } from "../../../node-shim/identity/identity.ts";
import { leave, rotate } from "../../../node-shim/worker-link/requests.ts";
import { ORIGIN } from "../../worker/support/constants.ts";
import {
  enrolled,
  enrolling,
  facts,
  mintToken,
  operator,
  requestsAbout,
  transport,
} from "../../worker/support/machine.ts";
import { SocketMachine } from "../../worker/support/socket-machine.ts";
import { crash } from "./members.ts";
import {
  BEAT_MS,
  evictNode,
  halfOpen,
  historyOf,
  lentBy,
  nextBeat,
  objectOf,
  type OnSocket,
  onSocket,
  PUT_LEASE,
  renewedBy,
  ringNode,
  slowWithdrawals,
  slug,
} from "./on-socket.ts";
import { shift } from "../../worker/support/clock.ts";

const ANSWER = { type: "answer" };
const REGISTERED = { status: 200, answer: { phase: "registered" } };

afterEach(() => {
  vi.restoreAllMocks();
});

const REFUSED = { type: "closing", reason: "refused", comeBackInMs: 600_000 };

const revokes = ({ name }: { name: string }) => operator("POST", `/v1/nodes/${name}/revoke`);

const leaves = async ({ enrolled: machine }: OnSocket) =>
  expect(await leave(transport, { ...machine, origin: ORIGIN })).toMatchObject({ ok: true });

/**
 * Rotates the machine's key. Returns the machine with the new key, which replaces the old one with its first
 * report.
 */
async function rotates({ enrolled: machine }: OnSocket): Promise<SocketMachine> {
  const key = await makeMachineKey();
  const rotated = await rotate(transport, { ...machine, origin: ORIGIN }, key);
  if (!rotated.ok) throw new Error(JSON.stringify(rotated));
  return new SocketMachine({ ...machine, key, kid: rotated.value.kid, ticket: "" }, "start-2");
}

/** Enrols another machine under this name. From now on the name belongs to it. */
async function isSucceeded({ name }: OnSocket): Promise<SocketMachine> {
  const next = new SocketMachine(await enrolled(name, { rejoin: true }), "start-2");
  shift(BEAT_MS);
  expect(await next.http()).toMatchObject({ status: 200 });
  return next;
}

const ENDINGS: [situation: string, end: (of: OnSocket) => Promise<unknown>, told: object[]][] = [
  ["an operator revokes its keys", async (of) => expect((await revokes(of)).status).toBe(204), [REFUSED]],
  [
    "an operator forgets it",
    async ({ name }) => expect((await operator("DELETE", `/v1/nodes/${name}`)).status).toBe(204),
    [{ type: "left" }],
  ],
  ["it leaves", leaves, [{ type: "left" }]],
  [
    "it gives itself another key, which reports by HTTP",
    async (of) => expect(await (await rotates(of)).http()).toMatchObject(REGISTERED),
    [],
  ],
  [
    "its next key reports by HTTP, and has to wait: the apiserver is not asked",
    async (of) => {
      const changed = facts(of.name, { versions: { kernel: "6.2.0", osImage: "Test Linux" } });
      const next = await rotates(of);
      expect(await next.http({ facts: changed })).toMatchObject({ answer: { phase: "registering" } });
    },
    [],
  ],
  [
    "an operator approves another machine, which has not reported",
    async ({ name }) => {
      const key = await makeMachineKey();
      const asked = await enrolling(name, { joinToken: await mintToken({ names: name }), key });
      expect(asked).toMatchObject({ reason: "name-pinned" });
      const approval = { thumbprint: key.thumbprint };
      expect((await operator("POST", `/v1/nodes/${name}/approve`, approval)).status).toBe(204);
    },
    [REFUSED],
  ],
  ["another machine rejoins with its name", isSucceeded, [REFUSED]],
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
      const known = await onSocket(slug("ended", state, situation));
      const { name, gateway, socket } = known;
      expect(await renewedBy(name, () => nextBeat(socket))).toBe(1);
      const late = await halfOpen(gateway, name);
      if (isEvicted) await evictNode(name);
      await end(known);
      expect(socket.frames.slice(-told.length - 1)).toEqual([expect.objectContaining(ANSWER), ...told]);
      const renewed = await renewedBy(name, async () => {
        for (let beats = 0; beats < 4; beats++) {
          shift(BEAT_MS);
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

describe("a machine's object that is aborted during its withdrawal of the loan", () => {
  it.each<[situation: string, begin: typeof revokes, goOn: (of: OnSocket) => Promise<unknown>, told: object]>(
    [
      [
        "for a revocation, which the operator repeats",
        revokes,
        async (of) => expect((await revokes(of)).status).toBe(204),
        REFUSED,
      ],
      [
        "for a revocation, which is one of many machines'",
        revokes,
        async ({ name }) => {
          const unpinned = Number.MAX_SAFE_INTEGER;
          const order = { act: "revoke", generation: 0, unpinned } as const;
          expect(await objectOf(name).act(name, order)).toBeNull();
        },
        REFUSED,
      ],
      [
        "for a removal, until its alarm",
        ({ name }) => operator("DELETE", `/v1/nodes/${name}`),
        // Ringing the alarm fails: in the alarm the node object deletes the machine's data and aborts itself.
        ({ name }) => ringNode(name).catch(() => undefined),
        { type: "left" },
      ],
    ],
  )(
    "%s → the socket is closed then, and nothing is renewed any more",
    async (situation, begin, goOn, told) => {
      const known = await onSocket(slug("interrupted", situation));
      const { name, gateway, socket } = known;
      const late = await halfOpen(gateway, name);
      const { begun } = slowWithdrawals();
      const begins = begin(known).catch(() => undefined);
      await begun();
      await crash(objectOf(name));
      await begins;
      vi.restoreAllMocks();
      expect(socket.frames.filter(({ type }) => type === "closing" || type === "left")).toEqual([]);
      await goOn(known);
      expect(socket.frames.at(-1)).toEqual(told);
      expect(await renewedBy(name, async () => late(await socket.heartbeat()))).toBe(0);
    },
  );
});

it("an operator revokes a machine's keys again → one line of history", async () => {
  const known = await onSocket("revoked-again");
  for (let times = 0; times < 2; times++) expect((await revokes(known)).status).toBe(204);
  const lines = await historyOf(known.name, "registration");
  expect(lines.filter((text) => text === "an operator revoked this machine's keys")).toHaveLength(1);
});

describe("HTTP in addition to a socket", () => {
  it.each([
    ["awake", false],
    ["evicted", true],
  ])(
    "a report, the object %s → it has the lease back, and renews it over the last version",
    async (state, isEvicted) => {
      const { name, machine, socket } = await onSocket(slug("beside-a-socket", state));
      expect(await nextBeat(socket)).toMatchObject(ANSWER);
      if (isEvicted) await evictNode(name);
      await requestsAbout(name);
      shift(BEAT_MS);
      expect(await machine.http()).toMatchObject(REGISTERED);
      expect(await requestsAbout(name)).toEqual([expect.stringMatching(PUT_LEASE)]);
      expect(await renewedBy(name, () => nextBeat(socket))).toBe(0);
      expect(socket.frames.at(-1)).toEqual({ type: "again", reason: "over" });
      await lentBy(socket);
      expect(await renewedBy(name, () => nextBeat(socket))).toBe(1);
    },
  );
});
