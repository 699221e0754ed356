// A gRPC client on a unix socket, over node:http2: calls with one answer, and calls with a stream of them. Small on
// purpose: a whole gRPC library costs ten times its memory. Every expected failure is a result.
import { nextTurn } from "../../base/clock.ts";
import { failure, type Result, success } from "../../../shared/result.ts";
import { startCall } from "./call.ts";
import { connection } from "./connection.ts";
import { decode } from "./decode.ts";
import { encode } from "./encode.ts";
import { MAX_MESSAGE_BYTES } from "./frames.ts";
import type { ProtoInput, ProtoMessage, Schema } from "./schema.ts";
import { type Fault, fault } from "./status.ts";
import { WireError } from "./wire.ts";

export interface Method<Q extends Schema, A extends Schema> {
  /** "/package.Service/Method" */
  readonly path: string;
  readonly request: Q;
  readonly answer: A;
}

interface StreamOptions<A> {
  onMessage: (message: A) => void;
  /** Once, and last; null: the server ended it with OK. */
  onEnd: (fault: Fault | null) => void;
  /** Ends the call with DeadlineExceeded; without one it goes on until one side ends it. */
  deadlineMs?: number;
}

export interface GrpcClient {
  /** Never rejects. */
  unary: <Q extends Schema, A extends Schema>(
    method: Method<Q, A>,
    request: ProtoInput<Q>,
    deadlineMs: number,
  ) => Promise<Result<ProtoMessage<A>, Fault>>;
  /** One request, many answers. The returned function cancels the call. */
  serverStream: <Q extends Schema, A extends Schema>(
    method: Method<Q, A>,
    request: ProtoInput<Q>,
    options: StreamOptions<ProtoMessage<A>>,
  ) => () => void;
  /** Ends calls that are under way, and refuses later ones. */
  close: () => void;
}

export interface ClientOptions {
  socketPath: string;
  /** Monotonic; typically monotonicMs. Only the wait before a new connection depends on it. */
  nowMs: () => number;
  /** Called for every new connection: the server may be another one than before. */
  onConnect?: () => void;
  /** Of one message. */
  limitBytes?: number;
}

/** Connects with the first call. Fails at once while nobody listens, and tries again 0.1 to 3 s later. */
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
      // In a later turn of the event loop: a caller that tries again at once must not block the process.
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
