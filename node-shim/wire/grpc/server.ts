// A gRPC server on a unix socket (node:http2), for unary methods. A faulty call ends without its connection.
import { after } from "../../base/clock.ts";
import { failure, type Result, success } from "../../../shared/result.ts";
import {
  createServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import { decode, encode, WireError } from "./protobuf.ts";
import type { Method } from "./client.ts";
import { deframer, frame } from "./frames.ts";
import type { ProtoInput, ProtoMessage, Schema } from "./schema.ts";
import { type Fault, statusHeaders } from "./status.ts";

/** The most bytes of a request: grpc-go's default limit. */
const MAX_REQUEST_BYTES = 4 * 1024 * 1024;
/** Milliseconds after which an incomplete request ends with a fault. */
const REQUEST_DEADLINE_MS = 10_000;
const MAX_CONCURRENT_STREAMS = 100;

/** A method's path and its handler on bytes: see `serve`. */
export interface Served {
  path: string;
  answer: (request: Buffer) => Promise<Result<Buffer, Fault>>;
}

export interface GrpcServer {
  /** Listens on a socket, whose old file the caller must remove. Rejects with the system's error: EADDRINUSE … */
  listen: (socketPath: string) => Promise<void>;
  /** Drops every connection, and removes the socket file. */
  close: () => Promise<void>;
}

/** Returns a method with its handler. A throwing handler's answer is Unknown with the error's text, as in Go. */
export function serve<Q extends Schema, A extends Schema>(
  method: Method<Q, A>,
  handle: (request: ProtoMessage<Q>) => Result<ProtoInput<A>, Fault> | Promise<Result<ProtoInput<A>, Fault>>,
): Served {
  const answer = async (bytes: Buffer): Promise<Result<Buffer, Fault>> => {
    try {
      const answer = await handle(decode(method.request, bytes));
      return !answer.ok ? answer : success(encode(method.answer, answer.value));
    } catch (error) {
      const code = error instanceof WireError ? "Internal" : "Unknown";
      return failure({ code, message: error instanceof Error ? error.message : String(error) });
    }
  };
  return { path: method.path, answer };
}

export function grpcServer(methods: readonly Served[]): GrpcServer {
  const server = createServer({ settings: { maxConcurrentStreams: MAX_CONCURRENT_STREAMS } });
  const sessions = new Set<ServerHttp2Session>();
  server.on("session", (session) => {
    sessions.add(session);
    session.on("close", () => sessions.delete(session));
    session.on("error", () => session.destroy());
  });
  server.on("sessionError", () => undefined);
  server.on("stream", (stream, headers) => receive(stream, headers, methods));
  return {
    listen: (socketPath) =>
      new Promise((resolve, reject) => {
        server.once("error", reject);
        server.listen(socketPath, () => {
          server.off("error", reject);
          resolve();
        });
      }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const session of sessions) session.destroy();
      }),
  };
}

function receive(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, methods: readonly Served[]): void {
  stream.on("error", () => undefined);
  if (!/^application\/grpc($|[+;])/.test(headers["content-type"] ?? "")) {
    stream.respond({ ":status": 415 }, { endStream: true });
    return;
  }
  const method = methods.find(({ path }) => path === headers[":path"]);
  if (!method) {
    refuse(stream, {
      code: "Unimplemented",
      message: `unknown method ${String(headers[":path"]).slice(0, 200)}`,
    });
    return;
  }
  const requests: Buffer[] = [];
  const messages = deframer((message) => requests.push(Buffer.from(message)), MAX_REQUEST_BYTES);
  const late: Fault = { code: "DeadlineExceeded", message: "the request did not come" };
  const cancelDeadline = after(REQUEST_DEADLINE_MS, () => refuse(stream, late));
  stream.on("close", cancelDeadline);
  stream.on("data", (chunk: Buffer) => {
    const wrong = stream.headersSent ? null : messages.push(chunk);
    if (wrong) refuse(stream, wrong);
    else if (requests.length > 1) refuse(stream, moreThanOne);
  });
  stream.on("end", () => {
    cancelDeadline();
    const [request] = requests;
    const wrong = messages.end() ?? (request ? null : noRequest);
    if (wrong) refuse(stream, wrong);
    else if (request && !stream.headersSent) void answer(stream, method, request);
  });
}

const moreThanOne: Fault = { code: "Internal", message: "more than one request for a unary method" };
const noRequest: Fault = { code: "Internal", message: "no request" };

/** Answers a request with the status alone, in the headers. */
function refuse(stream: ServerHttp2Stream, fault: Fault): void {
  if (stream.headersSent || stream.destroyed) return;
  stream.respond(
    { ":status": 200, "content-type": "application/grpc", ...statusHeaders(fault) },
    { endStream: true },
  );
  // Discards the rest of the request.
  stream.resume();
}

async function answer(stream: ServerHttp2Stream, method: Served, request: Buffer): Promise<void> {
  const answer = await method.answer(request);
  if (stream.destroyed || stream.headersSent) return;
  if (!answer.ok) {
    refuse(stream, answer.error);
    return;
  }
  stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
  stream.on("wantTrailers", () => stream.sendTrailers(statusHeaders(null)));
  stream.end(frame(answer.value));
}
