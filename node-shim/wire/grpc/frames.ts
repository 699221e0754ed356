// Messages within a gRPC stream: a flag, a length, the bytes. Keeps no more than one message, of limited size.
import { type Fault, fault } from "./status.ts";

/** As the kubelet's client of the runtime (cri-client maxMsgSize). */
export const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;
const PREFIX_BYTES = 5;

export function frame(message: Buffer): Buffer {
  const prefix = Buffer.alloc(PREFIX_BYTES);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

export interface Deframer {
  /** Returns the fault of the bytes, after which nothing more may be pushed; null: none. */
  push: (chunk: Buffer) => Fault | null;
  /** Call it at the end of the stream: returns a fault where a message is incomplete. */
  end: () => Fault | null;
}

/** Splits a stream into messages. A message that is announced as too long is refused before it is read. */
export function deframer(onMessage: (message: Buffer) => void, limitBytes: number): Deframer {
  let chunks: Buffer[] = [];
  let heldBytes = 0;
  /** With its prefix; unknown until the prefix is there. */
  let wantedBytes = PREFIX_BYTES;
  let prefixRead = false;

  /** All that is held, in one piece. */
  const joined = () => {
    const [only] = chunks;
    return chunks.length === 1 && only ? only : Buffer.concat(chunks, heldBytes);
  };

  function readPrefix(held: Buffer): Fault | null {
    if (held[0] !== 0)
      return { code: "Internal", message: `grpc: message with flag ${held[0]}, which was not agreed on` };
    const length = held.readUInt32BE(1);
    if (length > limitBytes) {
      const message = `grpc: received message larger than max (${length} vs. ${limitBytes})`;
      return { code: "ResourceExhausted", message };
    }
    wantedBytes = PREFIX_BYTES + length;
    prefixRead = true;
    return null;
  }

  function push(chunk: Buffer): Fault | null {
    chunks.push(chunk);
    heldBytes += chunk.length;
    while (heldBytes >= wantedBytes) {
      const held = joined();
      if (prefixRead) {
        onMessage(held.subarray(PREFIX_BYTES, wantedBytes));
        const rest = held.subarray(wantedBytes);
        chunks = rest.length > 0 ? [rest] : [];
        heldBytes = rest.length;
        [wantedBytes, prefixRead] = [PREFIX_BYTES, false];
      } else {
        chunks = [held];
        const wrong = readPrefix(held);
        if (wrong) return wrong;
      }
    }
    return null;
  }

  const end = () =>
    heldBytes === 0 ? null : fault("Internal", "grpc: the stream ended within a message").error;
  return { push, end };
}
