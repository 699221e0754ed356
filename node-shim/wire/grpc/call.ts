// One gRPC call on a session: it sends the request, receives messages, and ends exactly once. Messages are bytes here.
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  constants,
  type IncomingHttpHeaders,
} from "node:http2";
import { after } from "../../base/clock.ts";
import { faultOf } from "../../base/fault.ts";
import { deframer, frame } from "./frames.ts";
import { type Fault, faultOfHttpStatus, faultOfReset, statusOf, timeoutHeader } from "./status.ts";

export interface GrpcCall {
  /** "/package.Service/Method" */
  path: string;
  request: Buffer;
  /** null: the call lasts until one side ends it. */
  deadlineMs: number | null;
  limitBytes: number;
  onMessage: (message: Buffer) => void;
  /** Once, and last; null: OK. */
  onEnd: (fault: Fault | null) => void;
  /** Why the session was lost, where that is what ended the call. */
  sessionLoss: () => Fault | undefined;
}

const CONNECTION_CLOSED: Fault = { code: "Unavailable", message: "connection closed" };

/** Starts the call. The returned function ends it early, as Canceled unless it gets another fault. */
export function startCall(session: ClientHttp2Session, call: GrpcCall): (why?: Fault) => void {
  let ended = false;
  let status: Fault | null | undefined;
  let loss: Fault | undefined;
  let stream: ClientHttp2Stream | null = null;
  const late = () => finish({ code: "DeadlineExceeded", message: "context deadline exceeded" });
  const cancelTimer = call.deadlineMs === null ? () => undefined : after(call.deadlineMs, late);

  /** Resets a stream that is still open, so that the server stops sending. */
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
    // Node wraps the error of the connection.
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

/** The fault of headers without a status: the answer may come from something that is no gRPC server. */
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
