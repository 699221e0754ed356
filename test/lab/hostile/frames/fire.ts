// Sends what a kind has made on its socket, and waits for what follows: an answer for each frame, or the end.
import type { Attack } from "../attack.ts";
import type { Answered } from "../post.ts";
import type { Outcome } from "./frames-verdict.ts";
import type { Shot } from "./shot.ts";
import type { WireSocket } from "./wire-socket.ts";

/** `post`: sends a request by HTTP. */
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

/** What was told to close does. */
async function untilClosed(wire: WireSocket, known: number): Promise<boolean> {
  const isTold = () => wire.heard.slice(known).some(({ type }) => type === "closing");
  return !isTold() || wire.until(() => false);
}

/** Messages of the WebSocket, or a request. */
export function messagesOf(shot: Shot): number {
  return "times" in shot ? (shot.times ?? 1) : 1;
}
