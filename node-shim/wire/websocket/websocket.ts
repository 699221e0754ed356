// A WebSocket to a server (RFC 6455): node:http's upgrade, and frames on what that opens. Beside HTTP it weighs nothing;
// the platform's own client weighs 3.5 MiB, takes neither proxy nor authorities, and is not in Node 20.
import { createHash, randomBytes } from "node:crypto";
import { type Agent, type IncomingMessage, request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { failure, type Result, success } from "../../../shared/result.ts";
import { faultOf } from "../../base/fault.ts";
import { CLOSE, closePayload, encodeFrame, FrameFault, frameReader, type Message, OPCODE } from "./frames.ts";

export interface Opening {
  /** http: or https: */
  url: URL;
  headers: Record<string, string>;
  /** Makes the connection. */
  agent: Agent;
  deadlineMs: number;
  /** Ends what is under way until it is open. */
  signal: AbortSignal;
  /** Of a message, and of a refusal's body. */
  maxBytes: number;
}

export interface ConnectionListener {
  received: (text: string) => void;
  /** Called once, unless this side has ended it. */
  ended: (why: string) => void;
}

/** Why there is no WebSocket: something else answered the upgrade, or nothing did. */
export type UpgradeFault =
  | { reason: "answered"; status: number; body: string; headers: IncomingMessage["headers"] }
  | { reason: "failed"; error: Error }
  | { reason: "late" };

export interface WebSocketConnection {
  /** Call it once: nothing is read before. */
  listen: (listener: ConnectionListener) => void;
  send: (text: string) => void;
  /** Says so, and ends. */
  close: () => void;
  /** Ends at once, for a connection that is stuck. */
  terminate: () => void;
}

/** Of the accept header (section 1.3). */
const GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/** How long the other side may take to end what this side has closed. */
const END_WITHIN_MS = 1000;

/** Never rejects. */
export function openWebSocket(opening: Opening): Promise<Result<WebSocketConnection, UpgradeFault>> {
  const { url, headers, agent, deadlineMs, signal } = opening;
  const key = randomBytes(16).toString("base64");
  const start = url.protocol === "https:" ? httpsRequest : httpRequest;
  return new Promise((resolve) => {
    const request = start(url, {
      agent,
      signal,
      headers: {
        ...headers,
        connection: "Upgrade",
        upgrade: "websocket",
        "sec-websocket-version": "13",
        "sec-websocket-key": key,
      },
    });
    const settle = (outcome: Result<WebSocketConnection, UpgradeFault>) => {
      clearTimeout(late);
      resolve(outcome);
    };
    const late = setTimeout(() => {
      settle(failure({ reason: "late" }));
      request.destroy();
    }, deadlineMs);
    request.on("error", (error) => settle(failure({ reason: "failed", error })));
    request.once("response", (response) => void readRefusal(response, opening).then(settle));
    request.once("upgrade", (response, socket, head) => {
      const fault = upgradeFault(response, key);
      if (fault === null) return settle(success(connectionOn(socket, head, opening.maxBytes)));
      socket.destroy();
      settle(failure(fault));
    });
    request.end();
  });
}

/** What answers 101 without having read the key is no server of WebSockets. */
function upgradeFault({ headers }: IncomingMessage, key: string): UpgradeFault | null {
  const accept = createHash("sha1").update(`${key}${GUID}`).digest("base64");
  if (headers["sec-websocket-accept"] === accept && headers["sec-websocket-extensions"] === undefined)
    return null;
  return { reason: "answered", status: 101, body: "", headers };
}

async function readRefusal(
  response: IncomingMessage,
  { maxBytes }: Opening,
): Promise<Result<WebSocketConnection, UpgradeFault>> {
  const { statusCode: status = 0, headers } = response;
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > maxBytes) break;
      chunks.push(chunk);
    }
  } catch {
    // The status says enough.
  }
  response.destroy();
  return failure({ reason: "answered", status, body: Buffer.concat(chunks).toString(), headers });
}

function connectionOn(duplex: Duplex, head: Buffer, maxBytes: number): WebSocketConnection {
  const socket = duplex as Socket;
  let listener: ConnectionListener | null = null;
  /** Why it is over; null: it is not. */
  let end: string | null = null;
  const write = (opcode: number, payload: Buffer) => {
    if (end === null && socket.writable) socket.write(encodeFrame(opcode, payload, randomBytes(4)));
  };
  const close = (why: string, code: number = CLOSE.normal, reason = "") => {
    write(OPCODE.close, closePayload(code, reason));
    end ??= why;
    socket.end();
    // A process that ends does not wait for the other side.
    socket.unref();
    setTimeout(() => socket.destroy(), END_WITHIN_MS).unref();
  };
  const over = (why: string) => {
    if (end !== null) return;
    end = why;
    socket.destroy();
    listener?.ended(why);
  };
  const take = (message: Message) => {
    if (end !== null) return;
    if (message.kind === "text") listener?.received(message.text);
    if (message.kind === "ping") write(OPCODE.pong, message.payload);
    if (message.kind !== "close") return;
    const why = closedText(message.code, message.reason);
    close(why);
    listener?.ended(why);
  };
  const read = frameReader(maxBytes, take);
  const onData = (bytes: Buffer) => {
    try {
      if (end === null) read(bytes);
    } catch (error) {
      if (!(error instanceof FrameFault)) throw error;
      close(error.message, error.code, error.message);
      listener?.ended(error.message);
    }
  };
  socket.setTimeout(0);
  socket.setNoDelay(true);
  // Whoever sends on it notices that it is gone, and a machine on a metered link pays for probes.
  socket.setKeepAlive(false);
  socket.on("error", (error) => over(faultOf(error)));
  for (const event of ["end", "close"]) socket.on(event, () => over("the connection was closed"));
  return {
    listen(listens) {
      if (end !== null) return listens.ended(end);
      listener = listens;
      if (head.length > 0) socket.unshift(head);
      socket.on("data", onData);
    },
    send: (text) => write(OPCODE.text, Buffer.from(text)),
    close: () => void (end === null && close("closed")),
    terminate: () => {
      end ??= "closed";
      socket.destroy();
    },
  };
}

function closedText(code: number | null, reason: string): string {
  const why = reason === "" ? "" : `: ${reason}`;
  return code === null ? "it was closed" : `it was closed (${code}${why})`;
}
