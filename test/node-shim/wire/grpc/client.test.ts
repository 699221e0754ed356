// Tests the gRPC client against grpc-js and against broken servers.
import { failure } from "../../../../shared/result.ts";
import { createServer as createHttp2Server, type ServerHttp2Stream } from "node:http2";
import { createServer as createSocketServer, type Socket } from "node:net";
import * as grpc from "@grpc/grpc-js";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  type ClientOptions,
  type GrpcClient,
  grpcClient,
  type Method,
} from "../../../../node-shim/wire/grpc/client.ts";
import { decode, encode } from "../../../../node-shim/wire/grpc/protobuf.ts";
import { frame } from "../../../../node-shim/wire/grpc/frames.ts";
import { type Fault, faultText } from "../../../../node-shim/wire/grpc/status.ts";
import { place, type Place } from "./socket.ts";
import { heldTimers } from "../../base/timers.ts";

const TEXT = { text: [1, "string"] } as const;
const ECHO: Method<typeof TEXT, typeof TEXT> = { path: "/test.Test/Echo", request: TEXT, answer: TEXT };
const COUNT: Method<typeof TEXT, typeof TEXT> = { path: "/test.Test/Count", request: TEXT, answer: TEXT };
const LONG_MS = 60_000;
const LIMIT_BYTES = 16 * 1024 * 1024;

let at: Place;
beforeEach(() => {
  at = place();
});
afterEach(() => at.end());

function client(options: Partial<ClientOptions> = {}): GrpcClient {
  const made = grpcClient({ socketPath: at.socketPath, nowMs: () => 0, ...options });
  at.later(made.close);
  return made;
}

type Unary = grpc.handleUnaryCall<{ text: string }, { text: string }>;
type Streaming = grpc.handleServerStreamingCall<{ text: string }, { text: string }>;

const definition = (path: string, responseStream: boolean) => ({
  path,
  requestStream: false,
  responseStream,
  requestSerialize: (message: { text: string }) => encode(TEXT, message),
  requestDeserialize: (bytes: Buffer) => decode(TEXT, bytes),
  responseSerialize: (message: { text: string }) => encode(TEXT, message),
  responseDeserialize: (bytes: Buffer) => decode(TEXT, bytes),
});

async function grpcJsServer(echo: Unary, count?: Streaming): Promise<grpc.Server> {
  const server = new grpc.Server({ "grpc.max_send_message_length": -1 });
  server.addService(
    { Echo: definition(ECHO.path, false), Count: definition(COUNT.path, true) },
    { Echo: echo, ...(count && { Count: count }) },
  );
  await new Promise<void>((resolve, reject) => {
    server.bindAsync(`unix://${at.socketPath}`, grpc.ServerCredentials.createInsecure(), (error) =>
      error ? reject(error) : resolve(),
    );
  });
  at.later(() => server.forceShutdown());
  return server;
}

/** Starts a server that speaks HTTP/2. `onStream` answers each stream. */
async function http2Server(onStream: (stream: ServerHttp2Stream) => void): Promise<void> {
  const server = createHttp2Server();
  server.on("session", (session) => {
    session.on("error", () => undefined);
    at.later(() => session.destroy());
  });
  server.on("stream", (stream) => {
    stream.on("error", () => undefined);
    onStream(stream);
  });
  at.later(() => server.close());
  await new Promise<void>((resolve) => void server.listen(at.socketPath, resolve));
}

async function socketServer(onSocket: (socket: Socket) => void): Promise<{ count: number }> {
  const seen = { count: 0 };
  const server = createSocketServer((socket) => {
    seen.count++;
    socket.on("error", () => undefined);
    at.later(() => socket.destroy());
    onSocket(socket);
  });
  at.later(() => server.close());
  await new Promise<void>((resolve) => void server.listen(at.socketPath, resolve));
  return seen;
}

const echo: Unary = (call, callback) => callback(null, { text: call.request.text });
const ask = async (text = "hello", deadlineMs = LONG_MS, from = client()) =>
  from.unary(ECHO, { text }, deadlineMs);
const said = async (answer: ReturnType<typeof ask>) => {
  const result = await answer;
  return result.ok ? result.value.text : faultText(result.error);
};

describe("with grpc-js", () => {
  test("a unary call → its answer, over one connection", async () => {
    const server = await grpcJsServer(echo);
    const made = client();
    for (const text of ["", "hello", "größer"]) expect(await said(ask(text, LONG_MS, made))).toBe(text);
    const { promise, resolve } = Promise.withResolvers<void>();
    made.close();
    server.tryShutdown(() => resolve());
    await promise;
  });

  test("an error with a text in any script → code and text", async () => {
    await grpcJsServer((_call, callback) =>
      callback({ code: grpc.status.NOT_FOUND, details: "50 % of größe\nis missing ✗" }),
    );
    expect(await said(ask())).toBe("rpc error: code = NotFound desc = 50 % of größe\nis missing ✗");
  });

  test("a method that is not served → Unimplemented, trailers only", async () => {
    await grpcJsServer(echo);
    const answer = await client().unary({ ...ECHO, path: "/test.Test/Other" }, {}, LONG_MS);
    expect(answer).toMatchObject(failure({ code: "Unimplemented" }));
  });

  test("no answer by the deadline → DeadlineExceeded on both sides", async () => {
    const pass = heldTimers();
    const [called, cancelled] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    await grpcJsServer((call) => {
      call.on("cancelled", () => cancelled.resolve());
      called.resolve();
    });
    const answer = said(ask());
    await called.promise;
    pass(LONG_MS);
    expect(await answer).toBe("rpc error: code = DeadlineExceeded desc = context deadline exceeded");
    await cancelled.promise;
  });

  test("the server gets the deadline", async () => {
    await grpcJsServer((call, callback) => callback(null, { text: String(Number(call.getDeadline())) }));
    const deadline = Number(await said(ask("hello", LONG_MS)));
    expect(Math.abs(deadline - Date.now() - LONG_MS)).toBeLessThan(LONG_MS / 2);
  });

  test("an answer of 16 MiB → accepted; one byte more → ResourceExhausted", async () => {
    const overhead = encode(TEXT, { text: "x".repeat(LIMIT_BYTES - 5) }).length - (LIMIT_BYTES - 5);
    await grpcJsServer((call, callback) => callback(null, { text: "x".repeat(Number(call.request.text)) }));
    const made = client();
    const most = await ask(String(LIMIT_BYTES - overhead), LONG_MS, made);
    expect(most.ok && most.value.text.length).toBe(LIMIT_BYTES - overhead);
    expect(await said(ask(String(LIMIT_BYTES - overhead + 1), LONG_MS, made))).toBe(
      "rpc error: code = ResourceExhausted desc = " +
        "grpc: received message larger than max (16777217 vs. 16777216)",
    );
    expect(await said(ask("3", LONG_MS, made))).toBe("xxx");
  });

  test("a stream → every message, then its status", async () => {
    await grpcJsServer(echo, (call) => {
      for (const text of ["1", "2", "3"]) call.write({ text });
      call.emit("error", { code: grpc.status.ABORTED, details: "enough" });
    });
    expect(await streamed(client())).toEqual([["1", "2", "3"], { code: "Aborted", message: "enough" }]);
  });

  test("a stream that ends well → null", async () => {
    await grpcJsServer(echo, (call) => {
      call.write({ text: "only" });
      call.end();
    });
    expect(await streamed(client())).toEqual([["only"], null]);
  });

  test("a stream that is cancelled → Canceled here, cancelled there", async () => {
    const { promise: cancelled, resolve } = Promise.withResolvers<void>();
    await grpcJsServer(echo, (call) => {
      call.on("cancelled", () => resolve());
      call.write({ text: "1" });
    });
    expect(await streamed(client(), true)).toEqual([
      ["1"],
      { code: "Canceled", message: "context canceled" },
    ]);
    await cancelled;
  });

  test("a server that stops and comes back → Unavailable, then answers", async () => {
    const first = await grpcJsServer(echo);
    const clock = { nowMs: 0 };
    const made = client({ nowMs: () => clock.nowMs });
    expect(await said(ask("a", LONG_MS, made))).toBe("a");
    first.forceShutdown();
    expect(await said(ask("b", LONG_MS, made))).toMatch(/^rpc error: code = Unavailable desc = /);
    await grpcJsServer(echo);
    clock.nowMs += 3000;
    expect(await said(ask("c", LONG_MS, made))).toBe("c");
  });

  test("a call that waits when the server is killed → Unavailable, before its deadline", async () => {
    const server = await grpcJsServer(() => server.forceShutdown());
    expect(await said(ask())).toMatch(/^rpc error: code = Unavailable desc = /);
  });
});

/** Collects the messages and the end of a stream. */
async function streamed(from: GrpcClient, cancelAfterFirst = false): Promise<[string[], Fault | null]> {
  const texts: string[] = [];
  const { promise, resolve } = Promise.withResolvers<Fault | null>();
  const cancel = from.serverStream(
    COUNT,
    {},
    {
      onMessage: ({ text }) => {
        texts.push(text);
        if (cancelAfterFirst) cancel();
      },
      onEnd: resolve,
    },
  );
  return [texts, await promise];
}

const HEADERS = { ":status": 200, "content-type": "application/grpc" };
/** Returns a handler that answers a stream with these bytes and these trailers. */
const answering = (bytes: Buffer, trailers: Record<string, string> | null) => (stream: ServerHttp2Stream) => {
  stream.respond(HEADERS, { waitForTrailers: trailers !== null });
  stream.on("wantTrailers", () => stream.sendTrailers(trailers ?? {}));
  stream.end(bytes);
};
const GOOD = frame(encode(TEXT, { text: "good" }));
const OK = { "grpc-status": "0" };

function inPieces(stream: ServerHttp2Stream): void {
  stream.respond(HEADERS, { waitForTrailers: true });
  stream.on("wantTrailers", () => stream.sendTrailers(OK));
  const write = (at: number): void => {
    if (at === GOOD.length) stream.end();
    else stream.write(GOOD.subarray(at, at + 1), () => setImmediate(write, at + 1));
  };
  write(0);
}

describe("broken servers", () => {
  test.each<[string, (stream: ServerHttp2Stream) => void, RegExp]>([
    ["a good answer in pieces of a byte", inPieces, /^good$/],
    ["a compressed message", answering(Buffer.from("01000000021f8b", "hex"), OK), /Internal .*flag 1/],
    ["half a message", answering(GOOD.subarray(0, 8), OK), /Internal .*ended within a message/],
    ["half a prefix", answering(Buffer.from("0000", "hex"), OK), /Internal .*ended within a message/],
    ["no message", answering(Buffer.alloc(0), OK), /Internal .*no answer/],
    ["two messages", answering(Buffer.concat([GOOD, GOOD]), OK), /Internal .*more than one answer/],
    ["bytes that are no protobuf", answering(frame(Buffer.from("0aff", "hex")), OK), /Internal .*unmarshal/],
    ["no trailers", answering(GOOD, null), /Internal .*without sending trailers/],
    ["a status that is no number", answering(GOOD, { "grpc-status": "x" }), /Unknown .*status x/],
    ["an unknown status", answering(GOOD, { "grpc-status": "77" }), /Unknown .*status 77/],
    [
      "bad percent-encoding",
      answering(GOOD, { "grpc-status": "5", "grpc-message": "a%zz%4" }),
      /NotFound desc = a%zz%4$/,
    ],
    ["4 GiB announced", answering(Buffer.from("00ffffffff00", "hex"), OK), /ResourceExhausted .*4294967295/],
    ["HTTP 503", (stream) => stream.respond({ ":status": 503 }, { endStream: true }), /Unavailable .*503/],
    ["HTTP 404", (stream) => stream.respond({ ":status": 404 }, { endStream: true }), /Unimplemented .*404/],
    [
      "a web page",
      (stream) => stream.respond({ ":status": 200, "content-type": "text/html" }),
      /Unknown .*text\/html/,
    ],
    ["a refused stream", (stream) => stream.close(7), /Unavailable .*RST_STREAM with error code: 7/],
    ["a cancelled stream", (stream) => stream.close(8), /Canceled .*error code: 8/],
    ["a stream that breaks", (stream) => stream.close(2), /Internal .*error code: 2/],
    ["GOAWAY with an error", (stream) => stream.session?.destroy(undefined, 11), /Unavailable/],
  ])("%s → the right code", async (_name, onStream, expected) => {
    await http2Server(onStream);
    expect(await said(ask())).toMatch(expected);
  });

  test("GOAWAY without an error → running calls are answered, the next call opens a new connection", async () => {
    let sessions = 0;
    await http2Server((stream) => {
      sessions++;
      stream.session?.goaway(0);
      setImmediate(() => answering(GOOD, OK)(stream));
    });
    const made = client();
    expect(await said(ask("a", LONG_MS, made))).toBe("good");
    expect(await said(ask("b", LONG_MS, made))).toBe("good");
    expect(sessions).toBe(2);
  });

  test("a server that is silent → the deadline", async () => {
    const pass = heldTimers();
    const called = Promise.withResolvers<void>();
    await socketServer(() => called.resolve());
    const answer = said(ask());
    await called.promise;
    pass(LONG_MS);
    expect(await answer).toMatch(/DeadlineExceeded/);
  });

  test("bytes that are no HTTP/2 → Unavailable", async () => {
    await socketServer((socket) => socket.write("HTTP/1.1 400 Bad Request\r\n\r\n"));
    expect(await said(ask())).toMatch(/Unavailable/);
  });

  test("no listener → Unavailable, and the next call at once as well", async () => {
    const made = client();
    expect(await said(ask("a", LONG_MS, made))).toMatch(/Unavailable .*ENOENT/);
    expect(await said(ask("b", LONG_MS, made))).toMatch(/Unavailable .*ENOENT/);
  });

  test("a server that hangs up → connected to again after 100 ms, doubling, at most 3 s", async () => {
    const seen = await socketServer((socket) => socket.destroy());
    const clock = { nowMs: 0 };
    const made = client({ nowMs: () => clock.nowMs });
    const attempts: number[] = [];
    for (clock.nowMs = 0; clock.nowMs < 12_400; clock.nowMs += 50) {
      const before = seen.count;
      expect(await said(ask("a", LONG_MS, made))).toMatch(/Unavailable/);
      if (seen.count > before) attempts.push(clock.nowMs);
    }
    expect(attempts).toEqual([0, 100, 300, 700, 1500, 3100, 6100, 9100, 12_100]);
  });

  test("a closed client → Canceled, also for running calls", async () => {
    await http2Server(() => undefined);
    const made = client();
    const pending = said(ask("a", LONG_MS, made));
    made.close();
    expect(await pending).toMatch(/Unavailable|Canceled/);
    expect(await said(ask("b", LONG_MS, made))).toMatch(/Canceled .*closing/);
  });
});
