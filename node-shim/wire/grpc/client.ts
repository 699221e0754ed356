// A gRPC client on a unix socket (node:http2), with one answer or a stream. A whole library needs ten times its memory.
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type IncomingHttpHeaders,
} from "node:http2";
import { backOff } from "../../../shared/back-off.ts";
import { failure, type Result, success } from "../../../shared/result.ts";
import { after, nextTurn } from "../../base/clock.ts";
import { faultOf } from "../../base/fault.ts";
import { connectTrusted } from "../../base/trusted-socket.ts";
import { deframer, frame, MAX_MESSAGE_BYTES } from "./frames.ts";
import { decode, encode, WireError } from "./protobuf.ts";
import type { ProtoInput, ProtoMessage, Schema } from "./schema.ts";
import { type Fault, fault, faultOfHttpStatus, faultOfReset, statusOf, timeoutHeader } from "./status.ts";

export interface Method<Q extends Schema, A extends Schema> {
  /** The method's path: "/package.Service/Method" */
  readonly path: string;
  readonly request: Q;
  readonly answer: A;
}

interface StreamOptions<A> {
  onMessage: (message: A) => void;
  /** Called once, after every message: with the fault, or with null if the server ended the stream with OK. */
  onEnd: (fault: Fault | null) => void;
  /** Milliseconds after which the call ends with DeadlineExceeded. Absent: only the client or server ends the call. */
  deadlineMs?: number;
}

export interface GrpcClient {
  /** Calls a method with one answer. Never rejects. */
  unary: <Q extends Schema, A extends Schema>(
    method: Method<Q, A>,
    request: ProtoInput<Q>,
    deadlineMs: number,
  ) => Promise<Result<ProtoMessage<A>, Fault>>;
  /** Calls a method with a stream of answers. Returns a function that cancels the call. */
  serverStream: <Q extends Schema, A extends Schema>(
    method: Method<Q, A>,
    request: ProtoInput<Q>,
    options: StreamOptions<ProtoMessage<A>>,
  ) => () => void;
  /** Ends the running calls, and refuses later calls. */
  close: () => void;
}

export interface ClientOptions {
  socketPath: string;
  /** The monotonic clock that measures the wait before a new connection. Typically monotonicMs. */
  nowMs: () => number;
  /** Called for every new connection, which may lead to another server. */
  onConnect?: () => void;
  /** The most bytes of one message. */
  limitBytes?: number;
}

/** Makes a client that connects at its first call. Without a listener, calls fail until a retry, 0.1 to 3 s later. */
export function grpcClient({
  socketPath,
  nowMs,
  onConnect = () => undefined,
  limitBytes = MAX_MESSAGE_BYTES,
}: ClientOptions): GrpcClient {
  const peer = connection(socketPath, nowMs, onConnect);

  const serverStream: GrpcClient["serverStream"] = (method, request, { onMessage, onEnd, deadlineMs }) => {
    const session = peer.session();
    if (!session.ok) {
      // Waits for the next turn of the event loop, so that a caller that retries at once does not block the process.
      nextTurn(() => onEnd(session.error));
      return () => undefined;
    }
    const cancel = startCall(session.value, {
      path: method.path,
      request: encode(method.request, request),
      deadlineMs: deadlineMs ?? null,
      limitBytes,
      onMessage: (bytes) => {
        const message = decoded(method.answer, bytes);
        if (message.ok) onMessage(message.value);
        else cancel(message.error);
      },
      onEnd,
      sessionLoss: () => peer.lossOf(session.value),
    });
    return () => cancel();
  };

  const unary: GrpcClient["unary"] = (method, request, deadlineMs) =>
    new Promise((resolve) => {
      let answer: Result<ProtoMessage<typeof method.answer>, Fault> = fault(
        "Internal",
        "no answer to a unary call",
      );
      let answers = 0;
      const cancel = serverStream(method, request, {
        deadlineMs,
        onMessage: (value) => {
          answer =
            answers++ === 0 ? success(value) : fault("Internal", "more than one answer to a unary call");
          if (answers > 1) cancel();
        },
        onEnd: (wrong) => resolve(wrong && answers < 2 ? failure(wrong) : answer),
      });
    });

  return { unary, serverStream, close: peer.close };
}

function decoded<S extends Schema>(schema: S, bytes: Buffer): Result<ProtoMessage<S>, Fault> {
  try {
    return success(decode(schema, bytes));
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    return fault("Internal", `grpc: failed to unmarshal the received message: ${error.message}`);
  }
}

/** One gRPC call on a session. Its messages are bytes. */
interface GrpcCall {
  /** The method's path: "/package.Service/Method" */
  path: string;
  request: Buffer;
  /** Milliseconds until the call's deadline; null if the call lasts until the client or the server ends it. */
  deadlineMs: number | null;
  limitBytes: number;
  onMessage: (message: Buffer) => void;
  /** Called once, after every message: with the fault, or with null for OK. */
  onEnd: (fault: Fault | null) => void;
  /** Returns the reason why the session was lost; undefined if it was not. */
  sessionLoss: () => Fault | undefined;
}

const CONNECTION_CLOSED: Fault = { code: "Unavailable", message: "connection closed" };

/** Starts the call. Returns a function that ends it early, as Canceled unless it gets another fault. */
function startCall(session: ClientHttp2Session, call: GrpcCall): (why?: Fault) => void {
  let ended = false;
  let status: Fault | null | undefined;
  let loss: Fault | undefined;
  let stream: ClientHttp2Stream | null = null;
  const late = () => finish({ code: "DeadlineExceeded", message: "context deadline exceeded" });
  const cancelTimer = call.deadlineMs === null ? () => undefined : after(call.deadlineMs, late);

  /** Ends the call. Resets a stream that is still open, so that the server stops sending. */
  function finish(fault: Fault | null): void {
    if (ended) return;
    ended = true;
    cancelTimer();
    if (stream && !stream.closed) stream.close(constants.NGHTTP2_CANCEL);
    call.onEnd(fault);
  }

  const messages = deframer((message) => {
    if (!ended) call.onMessage(message);
  }, call.limitBytes);

  try {
    stream = session.request(requestHeaders(call));
  } catch (error) {
    finish({ code: "Unavailable", message: faultOf(error) });
    return () => undefined;
  }
  stream.on("response", (headers) => {
    status = statusOf(headers);
    const refused = status === undefined ? answerFault(headers) : null;
    if (refused) finish(refused);
  });
  stream.on("data", (chunk: Buffer) => {
    const wrong = ended ? null : messages.push(chunk);
    if (wrong) finish(wrong);
  });
  stream.on("trailers", (headers) => {
    status = statusOf(headers);
  });
  stream.on("error", (error) => {
    // When a session was destroyed, Node.js wraps the connection's error in the stream's error, as its cause.
    if (session.destroyed) loss ??= { code: "Unavailable", message: faultOf(error.cause ?? error) };
  });
  stream.on("close", () => {
    if (status !== undefined) finish(status ?? messages.end());
    else if (session.destroyed) finish(call.sessionLoss() ?? loss ?? CONNECTION_CLOSED);
    else finish(endWithoutStatus(stream?.rstCode ?? 0));
  });
  stream.end(frame(call.request));
  return (why = { code: "Canceled", message: "context canceled" }) => finish(why);
}

function requestHeaders({ path, deadlineMs }: GrpcCall): Record<string, string> {
  return {
    ":method": "POST",
    ":path": path,
    te: "trailers",
    "content-type": "application/grpc",
    "user-agent": "rollcall",
    ...(deadlineMs !== null && { "grpc-timeout": timeoutHeader(deadlineMs) }),
  };
}

/** Returns the fault of headers without a gRPC status, perhaps from a server without gRPC; null for gRPC's headers. */
function answerFault(headers: IncomingHttpHeaders & { ":status"?: number | undefined }): Fault | null {
  if (headers[":status"] !== 200) return faultOfHttpStatus(headers[":status"]);
  const type = headers["content-type"] ?? "";
  if (/^application\/grpc($|[+;])/.test(type)) return null;
  return { code: "Unknown", message: `unexpected content-type ${JSON.stringify(type.slice(0, 100))}` };
}

function endWithoutStatus(resetCode: number): Fault {
  if (resetCode !== constants.NGHTTP2_NO_ERROR) return faultOfReset(resetCode);
  return { code: "Internal", message: "server closed the stream without sending trailers" };
}

/**
 * The first and the longest wait before a new connection. The wait doubles. The values are those of the kubelet's
 * connections to the runtime (cri-client baseBackoffDelay, maxBackoffDelay).
 */
const FIRST_BACKOFF_MS = 100;
const MAX_BACKOFF_MS = 3000;

/**
 * Makes a connection by HTTP/2 to a unix socket when a call needs it, and again after a loss. `session` returns a
 * session for streams, or the reason why there is none. Calls `onConnect` after the server's greeting.
 */
function connection(socketPath: string, nowMs: () => number, onConnect: () => void) {
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
      createConnection: () => connectTrusted(socketPath),
      settings: { enablePush: false },
    });
    session.on("remoteSettings", () => {
      if (!greeted) onConnect();
      greeted = true;
      failures = 0;
    });
    session.on("error", (error) => lost(session, error));
    // After a GOAWAY the server may still answer earlier calls, but new calls need a new session.
    session.on("goaway", (code: number) => {
      lost(session, new Error(`the server sent GOAWAY with error code: ${code}`));
    });
    session.on("close", () => {
      lost(session, new Error("connection closed"));
      if (greeted) return;
      // As in grpc-go, a server that closes the connection before its greeting counts as absent.
      lastFault = losses.get(session) ?? lastFault;
      failures++;
      notBeforeMs = nowMs() + backOff(failures, FIRST_BACKOFF_MS, MAX_BACKOFF_MS);
    });
    return session;
  }

  return {
    session: (): Result<ClientHttp2Session, Fault> => {
      if (closed) return fault("Canceled", "grpc: the client connection is closing");
      if (current && !current.closed && !current.destroyed) return success(current);
      if (nowMs() < notBeforeMs) return failure(lastFault);
      current = open();
      return success(current);
    },
    lossOf: (session: ClientHttp2Session) => losses.get(session),
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
