// Tests the gRPC server, called by grpc-js and by broken clients.
import { failure, success } from "../../../../shared/result.ts";
import { type ClientHttp2Session, connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";
import * as grpc from "@grpc/grpc-js";
import { afterEach, beforeEach, expect, test } from "vitest";
import { grpcClient, type Method } from "../../../../node-shim/wire/grpc/client.ts";
import { decode, encode } from "../../../../node-shim/wire/grpc/protobuf.ts";
import { frame } from "../../../../node-shim/wire/grpc/frames.ts";
import { grpcServer, serve } from "../../../../node-shim/wire/grpc/server.ts";
import { faultText } from "../../../../node-shim/wire/grpc/status.ts";
import { place, type Place } from "./socket.ts";

const TEXT = { text: [1, "string"] } as const;
const method = (name: string): Method<typeof TEXT, typeof TEXT> => ({
  path: `/test.Test/${name}`,
  request: TEXT,
  answer: TEXT,
});

let at: Place;
beforeEach(async () => {
  at = place();
  const server = grpcServer([
    serve(method("Echo"), ({ text }) => success({ text })),
    serve(method("Refuse"), () => failure({ code: "InvalidArgument", message: "100 % größer\n✗" })),
    serve(method("Throw"), () => {
      throw new Error("broken");
    }),
  ]);
  await server.listen(at.socketPath);
  at.later(server.close);
});
afterEach(() => at.end());

function callByGrpcJs(name: string, text: string): Promise<string> {
  const made = new grpc.Client(`unix://${at.socketPath}`, grpc.credentials.createInsecure());
  at.later(() => made.close());
  return new Promise((resolve) => {
    made.makeUnaryRequest(
      `/test.Test/${name}`,
      (message: { text: string }) => encode(TEXT, message),
      (bytes) => decode(TEXT, bytes),
      { text },
      (error, answer) => resolve(error ? error.message : (answer?.text ?? "")),
    );
  });
}

test.each([
  ["Echo", "", ""],
  ["Echo", "größer", "größer"],
  ["Refuse", "", "3 INVALID_ARGUMENT: 100 % größer\n✗"],
  ["Throw", "", "2 UNKNOWN: broken"],
  ["Other", "", "12 UNIMPLEMENTED: unknown method /test.Test/Other"],
])("grpc-js calls %s(%j) → %j", async (name, text, expected) => {
  expect(await callByGrpcJs(name, text)).toBe(expected);
});

test("a request of more than 4 MiB → ResourceExhausted; of 1 MiB → answered", async () => {
  expect(await callByGrpcJs("Echo", "x".repeat(4 * 1024 * 1024))).toMatch(
    /RESOURCE_EXHAUSTED: .*larger than max/,
  );
  expect(await callByGrpcJs("Echo", "x".repeat(1024 * 1024))).toHaveLength(1024 * 1024);
});

function session(): ClientHttp2Session {
  const made = connectHttp2("http://localhost", { createConnection: () => connect(at.socketPath) });
  made.on("error", () => undefined);
  at.later(() => made.destroy());
  return made;
}

async function send(body: Buffer, contentType = "application/grpc"): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const stream = session().request({
    ":method": "POST",
    ":path": "/test.Test/Echo",
    "content-type": contentType,
  });
  stream.on("response", (headers) => {
    const status = headers["grpc-status"];
    resolve(
      status === undefined
        ? `HTTP ${headers[":status"]}`
        : `${String(status)}: ${String(headers["grpc-message"])}`,
    );
  });
  stream.end(body);
  return promise;
}

const GOOD = frame(encode(TEXT, { text: "good" }));
test.each([
  ["no message", Buffer.alloc(0), "13: no request"],
  ["two messages", Buffer.concat([GOOD, GOOD]), "13: more than one request for a unary method"],
  ["half a message", GOOD.subarray(0, 7), "13: grpc: the stream ended within a message"],
  [
    "a compressed message",
    Buffer.from("0100000000", "hex"),
    "13: grpc: message with flag 1, which was not agreed on",
  ],
  ["bytes that are no protobuf", frame(Buffer.from("0aff", "hex")), "13: a number is cut off"],
])("%s → refused, and the next call is answered", async (_name, body, expected) => {
  expect(await send(body)).toBe(expected);
  expect(await callByGrpcJs("Echo", "next")).toBe("next");
});

test("another content type → 415", async () => {
  expect(await send(GOOD, "application/json")).toBe("HTTP 415");
});

test("bytes that are no HTTP/2 → dropped, and the next call is answered", async () => {
  const socket = connect(at.socketPath);
  const closed = new Promise((resolve) => void socket.on("close", resolve));
  socket.on("error", () => undefined);
  socket.end("GET / HTTP/1.1\r\n\r\n");
  socket.resume();
  await closed;
  expect(await callByGrpcJs("Echo", "next")).toBe("next");
});

test("called by our own client → answered", async () => {
  const made = grpcClient({ socketPath: at.socketPath, nowMs: () => 0 });
  at.later(made.close);
  expect(await made.unary(method("Echo"), { text: "a" }, 60_000)).toEqual(success({ text: "a" }));
  const refused = await made.unary(method("Refuse"), {}, 60_000);
  expect(!refused.ok && faultText(refused.error)).toBe(
    "rpc error: code = InvalidArgument desc = 100 % größer\n✗",
  );
});

test("a socket that is in use → rejected with EADDRINUSE", async () => {
  await expect(grpcServer([]).listen(at.socketPath)).rejects.toMatchObject({ code: "EADDRINUSE" });
});
