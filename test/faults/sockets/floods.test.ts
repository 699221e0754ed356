// Tests a machine that sends too much, too often, or invalid frames: its socket closes, and the machine uses HTTP
// for a while. Other machines on the gateway do not notice.
import { describe, expect, it } from "vitest";
import { GATEWAY_LIMITS, LIMITS } from "../../../shared/protocol/limits.ts";
import type { OpenSocket } from "../../worker/support/socket-machine.ts";
import { requestsAbout } from "../../worker/support/machine.ts";
import { lentBy, nextBeat, onSocket, renewedBy, slug, BEAT_MS } from "./on-socket.ts";
import { shift } from "../../worker/support/clock.ts";

const ANSWER = { type: "answer" };
const AWAY_MS = 1000 * GATEWAY_LIMITS.awaySeconds;

/** Returns a machine, and another one on the same gateway; both leases are lent. */
async function neighbours(name: string) {
  const machine = await onSocket(name);
  const neighbour = await onSocket(`${name}-n`, machine.gateway);
  shift(BEAT_MS);
  await lentBy(machine.socket);
  return { ...machine, neighbour };
}

const closing = (reason: string) => ({ type: "closing", reason, comeBackInMs: AWAY_MS });

describe("a machine that", () => {
  it.each<[situation: string, reason: string, flood: (socket: OpenSocket) => Promise<void>]>([
    [
      "beats ten times a second",
      "too often",
      async (socket) => {
        for (let beats = 0; beats < 10 && !socket.closed; beats++) {
          shift(100);
          await socket.beat();
        }
      },
    ],
    [
      "beats ten times a second, and waits for no answer",
      "too often",
      async (socket) => {
        for (let beats = 0; beats < 10; beats++) socket.sendText(await socket.heartbeat({ n: 1 + beats }));
      },
    ],
    [
      "sends beats under another MAC",
      "too often",
      async (socket) => {
        for (let beats = 0; beats < 3; beats++) await socket.beat({ nonce: "another" });
      },
    ],
    [
      "beats where it is asked for a report",
      "too often",
      async (socket) => {
        for (let beats = 0; beats < 4; beats++) await socket.beat({ at: Date.now() + 3_600_000 });
      },
    ],
    [
      "reports more often than once a second",
      "too often",
      async (socket) => {
        for (let reports = 0; reports <= GATEWAY_LIMITS.reportsAtOnce; reports++)
          socket.sendText(await socket.reportFrame());
      },
    ],
    ["sends what is none of the frames", "bad frame", async (socket) => socket.sendText('{"type":"hello"}')],
    ["sends what is no JSON", "bad frame", async (socket) => socket.sendText("\n".repeat(100))],
    ["sends bytes", "bad frame", async (socket) => socket.sendBytes(new Uint8Array(100))],
    [
      "sends a frame of a byte too much",
      "bad frame",
      async (socket) => socket.sendText(await sized(socket, 1)),
    ],
  ])(
    "%s → closed, and on HTTP for ten minutes; its neighbour is answered and renewed",
    async (situation, reason, flood) => {
      const { name, machine, socket, neighbour } = await neighbours(slug("floods", situation));
      await requestsAbout(name);
      await flood(socket);
      while ((await socket.next()) !== "closed");
      expect(socket.frames.at(-1)).toEqual(closing(reason));
      expect(
        await renewedBy(neighbour.name, async () =>
          expect(await nextBeat(neighbour.socket)).toMatchObject(ANSWER),
        ),
      ).toBe(1);
      // The Worker accepts reports over HTTP and names a socket's path, but the gateway refuses it for ten minutes.
      expect(await renewedBy(name, () => machine.http())).toBe(1);
      await expect(machine.connect()).rejects.toThrow(/^no socket: 429 .*"retryAfterSeconds":59\d}/);
      shift(AWAY_MS);
      await machine.http();
      const next = await machine.connect();
      await next.report();
      expect(next.closed).toBeNull();
    },
  );

  it("sends a frame of the largest size → its report is answered, and the socket stays", async () => {
    const { socket } = await onSocket("floods-as-much");
    socket.sendText(await sized(socket, 0));
    expect(await socket.next()).toMatchObject({ type: "report-answer", status: 401 });
    await lentBy(socket);
  });

  it("sends ten heartbeats a second → no PUT", async () => {
    const { name, socket } = await onSocket("floods-without-a-put");
    await nextBeat(socket);
    await requestsAbout(name);
    for (let beats = 0; beats < 10 && !socket.closed; beats++) {
      shift(100);
      await socket.beat();
    }
    expect(await requestsAbout(name)).toEqual([]);
  });
});

/** Returns a frame with a report that exceeds the largest size by `more` bytes. */
async function sized(socket: OpenSocket, more: number): Promise<string> {
  const { token } = await socket.signed();
  const frame = (body: string) => JSON.stringify({ type: "report", token, body });
  return frame("x".repeat(LIMITS.bodyBytes + more - frame("").length));
}
