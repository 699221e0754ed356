// Splits a gRPC stream into messages: a flag, a length, the bytes. Buffers at most one message, whose size is limited.
import { type Fault, fault } from "./status.ts";

/** The most bytes of a message, like the limit of the kubelet's client of the runtime (cri-client maxMsgSize). */
export const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;
const PREFIX_BYTES = 5;

export function frame(message: Buffer): Buffer {
  const prefix = Buffer.alloc(PREFIX_BYTES);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

export interface Deframer {
  /** Takes bytes of the stream. Returns their fault, after which no more bytes may be pushed; null if there is none. */
  push: (chunk: Buffer) => Fault | null;
  /** Must be called at the end of the stream. Returns a fault if the last message is incomplete. */
  end: () => Fault | null;
}

/** Makes a deframer, which refuses a message above `limitBytes` by its prefix, before reading the message. */
export function deframer(onMessage: (message: Buffer) => void, limitBytes: number): Deframer {
  let chunks: Buffer[] = [];
  let heldBytes = 0;
  /** The bytes to wait for: the prefix or, once the prefix is read, the prefix and its message. */
  let wantedBytes = PREFIX_BYTES;
  let prefixRead = false;

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
