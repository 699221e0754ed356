// Opens a WebSocket to the Worker with the library ws. Describes its end in text for an operator.
import type { Agent, IncomingMessage } from "node:http";
import { WebSocket } from "ws";
import { after } from "../base/clock.ts";
import { shownText } from "../../shared/protocol/printable.ts";
import { failure, type Result, success } from "../../shared/result.ts";
import { faultOf } from "../base/fault.ts";

export interface Opening {
  /** An http: or https: URL. */
  url: URL;
  headers: Record<string, string>;
  /** The agent that makes the connection. */
  agent: Agent;
  deadlineMs: number;
  /** Aborting the signal ends an upgrade that has not completed. */
  signal: AbortSignal;
  /** The most bytes of a message, and of a refusal's body. */
  maxBytes: number;
}

export interface ConnectionListener {
  received: (text: string) => void;
  /** Called when the Worker's side has answered a ping. */
  ponged: () => void;
  /** Called once with the reason, unless this side has ended the connection. */
  ended: (why: string) => void;
}

/** The reason why there is no WebSocket: another answer to the upgrade, or no answer. */
export type UpgradeFault =
  | { reason: "answered"; status: number; body: string; headers: IncomingMessage["headers"] }
  | { reason: "failed"; error: Error }
  | { reason: "late" };

export interface WebSocketConnection {
  /** Sets the listener. Must be called once; messages wait until then. */
  listen: (listener: ConnectionListener) => void;
  /** Sends a text. `sent`: called when the text has left, or cannot be sent. */
  send: (text: string, sent?: () => void) => void;
  /** Sends a ping. The platform answers it without the gateway, also while the gateway is busy. */
  ping: () => void;
  /** Sends a close frame, and ends the connection. */
  close: () => void;
  /** Ends the connection at once, without a close frame, since it may be stuck. */
  terminate: () => void;
}

const CLOSE = { normal: 1000, unsupported: 1003, noStatus: 1005, abnormal: 1006 } as const;
/** Milliseconds that the Worker has to end a connection after the shim has closed it. */
const END_WITHIN_MS = 1000;

type Opened = Result<WebSocketConnection, UpgradeFault>;

/** Opens a WebSocket. Never rejects. */
export function openWebSocket(opening: Opening): Promise<Opened> {
  const { deadlineMs, maxBytes } = opening;
  const asked = askFor(opening);
  if (!asked.ok) return Promise.resolve(failure({ reason: "failed", error: asked.error }));
  const socket = asked.value;
  return new Promise((resolve) => {
    let answer: IncomingMessage | null = null;
    const settle = (outcome: Opened) => {
      cancel();
      resolve(outcome);
    };
    const cancel = after(deadlineMs, () => {
      settle(failure({ reason: "late" }));
      socket.terminate();
    });
    socket.once("upgrade", (response) => void (answer = response));
    // ws also emits this event for an answer with 101 that ws does not accept.
    socket.on("error", (error) => settle(failure(faultAfter(answer, error))));
    socket.once("unexpected-response", (_, response) => {
      void readRefusal(response, maxBytes).then((refusal) => {
        settle(refusal);
        socket.terminate();
      });
    });
    socket.once("open", () => settle(success(connectionOn(socket))));
  });
}

/** Begins the upgrade. Returns a failure for a URL or header that ws refuses by throwing. */
function askFor({ url, headers, agent, signal, maxBytes }: Opening): Result<WebSocket, Error> {
  try {
    const options = { agent, headers, signal, maxPayload: maxBytes, perMessageDeflate: false };
    return success(new WebSocket(url, options));
  } catch (error) {
    return failure(error instanceof Error ? error : new Error(String(error)));
  }
}

function faultAfter(answer: IncomingMessage | null, error: Error): UpgradeFault {
  if (answer === null) return { reason: "failed", error };
  return { reason: "answered", status: answer.statusCode ?? 0, body: "", headers: answer.headers };
}

async function readRefusal(response: IncomingMessage, maxBytes: number): Promise<Opened> {
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
    // The body is optional: the status alone already describes the refusal.
  }
  return failure({ reason: "answered", status, body: Buffer.concat(chunks).toString(), headers });
}

function connectionOn(socket: WebSocket): WebSocketConnection {
  let listener: ConnectionListener | null = null;
  /** The reason why the connection has ended; null while it is open. */
  let end: string | null = null;
  const over = (why: string) => {
    if (end !== null) return;
    end = why;
    listener?.ended(why);
  };
  const close = (code: number, reason = "") => {
    socket.close(code, reason);
    // Lets the process end as soon as the Worker has closed the connection.
    after(END_WITHIN_MS, () => socket.terminate(), { ref: false });
  };
  socket.pause();
  socket.on("error", (error) => over(faultOf(error)));
  socket.on("close", (code, reason) => over(closedText(code, reason.toString())));
  return {
    listen(listens) {
      if (end !== null) return listens.ended(end);
      listener = listens;
      socket.on("message", (data: Buffer, isBinary) => {
        if (end !== null) return;
        if (!isBinary) return listens.received(data.toString());
        over(NOT_TEXT);
        close(CLOSE.unsupported, NOT_TEXT);
      });
      socket.on("pong", () => void (end === null && listens.ponged()));
      socket.resume();
    },
    // ws hands the error of what cannot be sent to the callback. The caller notices by its deadline.
    send: (text, sent) => socket.send(text, () => sent?.()),
    ping: () => socket.ping(undefined, undefined, () => undefined),
    close() {
      end ??= "closed";
      close(CLOSE.normal);
    },
    terminate() {
      end ??= "closed";
      socket.terminate();
    },
  };
}

const NOT_TEXT = "messages are text";

function closedText(code: number, reason: string): string {
  if (code === CLOSE.abnormal) return "the connection was closed";
  const why = reason === "" ? "" : `: ${shownText(reason)}`;
  return code === CLOSE.noStatus ? "it was closed" : `it was closed (${code}${why})`;
}
