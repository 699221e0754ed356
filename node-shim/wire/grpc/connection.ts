// One HTTP/2 connection to a unix socket, made when it is needed, and again when it was lost. Makes no calls.
import { failure, type Result, success } from "../../../shared/result.ts";
import { type ClientHttp2Session, connect } from "node:http2";
import { connect as connectSocket } from "node:net";
import { faultOf } from "../../base/fault.ts";
import { type Fault, fault } from "./status.ts";

/** As the kubelet's connections to the runtime (cri-client baseBackoffDelay, maxBackoffDelay), doubling. */
const FIRST_BACKOFF_MS = 100;
const MAX_BACKOFF_MS = 3000;

export interface Connection {
  /** A session on which streams can be opened, or why there is none. After a failure the next is not made at once. */
  session: () => Result<ClientHttp2Session, Fault>;
  lossOf: (session: ClientHttp2Session) => Fault | undefined;
  /** Drops the session and all that is on it, for good. */
  close: () => void;
}

/** `nowMs` is a monotonic clock: typically monotonicMs. `onConnect` is called when the server has greeted. */
export function connection(socketPath: string, nowMs: () => number, onConnect: () => void): Connection {
  let current: ClientHttp2Session | null = null;
  let closed = false;
  let failures = 0;
  let notBeforeMs = -Infinity;
  let lastFault = unavailable("not connected");
  const losses = new WeakMap<ClientHttp2Session, Fault>();

  function lost(session: ClientHttp2Session, error: unknown): void {
    if (!losses.has(session)) losses.set(session, unavailable(faultOf(error)));
    if (current === session) current = null;
  }

  function open(): ClientHttp2Session {
    let greeted = false;
    const session = connect("http://localhost", {
      createConnection: () => connectSocket(socketPath),
      settings: { enablePush: false },
    });
    session.on("remoteSettings", () => {
      if (!greeted) onConnect();
      greeted = true;
      failures = 0;
    });
    session.on("error", (error) => lost(session, error));
    // Calls that are under way may still be answered; new calls need a new session.
    session.on("goaway", (code: number) => {
      lost(session, new Error(`the server sent GOAWAY with error code: ${code}`));
    });
    session.on("close", () => {
      lost(session, new Error("connection closed"));
      if (greeted) return;
      // As in grpc-go, a server that closes the connection before it greets counts as absent.
      lastFault = losses.get(session) ?? lastFault;
      notBeforeMs = nowMs() + Math.min(FIRST_BACKOFF_MS * 2 ** failures, MAX_BACKOFF_MS);
      failures++;
    });
    return session;
  }

  return {
    session: () => {
      if (closed) return fault("Canceled", "grpc: the client connection is closing");
      if (current && !current.closed && !current.destroyed) return success(current);
      if (nowMs() < notBeforeMs) return failure(lastFault);
      current = open();
      return success(current);
    },
    lossOf: (session) => losses.get(session),
    close: () => {
      closed = true;
      current?.destroy();
      current = null;
    },
  };
}

function unavailable(message: string): Fault {
  return { code: "Unavailable", message };
}
