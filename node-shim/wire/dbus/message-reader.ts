// Reads what a bus sends, piece by piece: one line that accepts the authentication, then messages. Sends nothing.
import { decodeMessage, type BusMessage } from "./wire.ts";

/** Of what comes before the first message. */
const MAX_LINE_BYTES = 1024;

/** The function takes bytes as they arrive. It throws where they are no bus's, or refuse the authentication. */
export function messageReader(
  letIn: () => void,
  received: (message: BusMessage) => void,
): (bytes: Buffer) => void {
  let waiting: Buffer = Buffer.alloc(0);
  let isIn = false;

  /** False: the line has not ended yet. */
  function readLine(): boolean {
    const end = waiting.indexOf("\r\n");
    if (end < 0 && waiting.length > MAX_LINE_BYTES) throw new Error("this is no message bus");
    if (end < 0) return false;
    const line = waiting.toString("latin1", 0, end);
    if (!line.startsWith("OK ")) throw new Error(`not let in: ${line}`);
    waiting = waiting.subarray(end + 2);
    return true;
  }

  return (bytes) => {
    waiting = waiting.length === 0 ? bytes : Buffer.concat([waiting, bytes]);
    if (!isIn) {
      if (!readLine()) return;
      isIn = true;
      letIn();
    }
    for (let next = decodeMessage(waiting); next; next = decodeMessage(waiting)) {
      waiting = next.rest;
      received(next.message);
    }
  };
}
