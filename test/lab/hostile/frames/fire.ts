// Sends a hostile frame on a socket, and waits for its answer or for the socket's end.
import type { Attack } from "../attack.ts";
import type { Answered } from "../post.ts";
import type { Outcome } from "./frames-verdict.ts";
import type { Shot } from "./shot.ts";
import type { WireSocket } from "./wire-socket.ts";

/** Sends the frame and returns the outcome. `post` sends a request by HTTP. */
export async function fire(
  wire: WireSocket,
  shot: Shot,
  post: (attack: Attack) => Promise<Answered>,
): Promise<Outcome> {
  const known = wire.heard.length;
  const pongs = wire.pongs;
  if ("request" in shot) {
    const answered = await post(shot.request);
    const status = "status" in answered ? { status: answered.status } : {};
    return { heard: [], pongs: 0, ended: null, isLate: !("status" in answered), ...status };
  }
  const times = "times" in shot ? (shot.times ?? 1) : 1;
  if ("binary" in shot) wire.binary(shot.binary);
  else if ("ping" in shot) wire.ping(shot.ping);
  else if ("raw" in shot) wire.raw(shot.raw);
  else for (let time = 0; time < times; time++) wire.text(shot.text, shot.pieces);
  const isAnswered = () =>
    "ping" in shot ? wire.pongs > pongs : !("raw" in shot) && wire.heard.length >= known + times;
  const isInTime = (await wire.until(isAnswered)) && (await untilClosed(wire, known));
  if (!isInTime) {
    console.log("LATE", JSON.stringify(shot).slice(0, 300));
    wire.drop();
  }
  return { heard: wire.heard.slice(known), pongs: wire.pongs - pongs, ended: wire.ended, isLate: !isInTime };
}

/** Waits until the socket has closed, if the gateway has sent `closing`. Returns false if the socket stays open. */
async function untilClosed(wire: WireSocket, known: number): Promise<boolean> {
  const isTold = () => wire.heard.slice(known).some(({ type }) => type === "closing");
  return !isTold() || wire.until(() => false);
}

/** Returns the number of messages or requests that are sent: WebSocket messages, or requests by HTTP. */
export function messagesOf(shot: Shot): number {
  return "times" in shot ? (shot.times ?? 1) : 1;
}
