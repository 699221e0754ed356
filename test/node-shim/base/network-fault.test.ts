// Tests the words for failed connections: the cause, the remedy, and the code for a search.
import { createServer as createTcpServer } from "node:net";
import type { AddressInfo } from "node:net";
import { createServer } from "node:http";
import { get as getHttps } from "node:https";
import { expect, it, test } from "vitest";
import { networkFault } from "../../../node-shim/base/network-fault.ts";

const coded = (code: string, fields: object = {}) =>
  Object.assign(new Error(`raw ${code}`), { code, ...fields });

test.each<[error: unknown, text: RegExp]>([
  [
    coded("ECONNREFUSED", { address: "127.0.0.1", port: 1 }),
    /^no program listens .*: check .* \(ECONNREFUSED 127\.0\.0\.1:1\)$/,
  ],
  [new AggregateError([coded("ECONNREFUSED", { address: "::1", port: 1 })]), /\(ECONNREFUSED ::1:1\)$/],
  [coded("ENOTFOUND", { hostname: "no.test" }), /^DNS does not have that name: .* \(ENOTFOUND no\.test\)$/],
  [coded("CERT_HAS_EXPIRED"), /^the server's certificate has expired: .* clock \(CERT_HAS_EXPIRED\)$/],
  [coded("SELF_SIGNED_CERT_IN_CHAIN"), /NODE_EXTRA_CA_CERTS.* \(SELF_SIGNED_CERT_IN_CHAIN\)$/],
  [coded("HPE_INVALID_CONSTANT"), /^the answer is not HTTP: .* \(HPE_INVALID_CONSTANT\)$/],
  [
    coded("ERR_SSL_WRONG_VERSION_NUMBER", { reason: "wrong version number" }),
    /^no TLS .* \(ERR_SSL_WRONG_VERSION_NUMBER wrong version number\)$/,
  ],
  [coded("EOTHER"), /^raw EOTHER$/],
  [new Error("first line\nsecond"), /^first line$/],
  ["a text", /^a text$/],
])("%s → %s", (error, text) => {
  expect(networkFault(error)).toMatch(text);
});

const failureOf = (url: string) =>
  new Promise<unknown>((resolve) => getHttps(url, { rejectUnauthorized: false }).once("error", resolve));

it("https to a server of http → no TLS, without a line of OpenSSL", async () => {
  const server = createServer();
  await new Promise<void>((ready) => void server.listen(0, "127.0.0.1", ready));
  const { port } = server.address() as AddressInfo;
  const text = networkFault(await failureOf(`https://127.0.0.1:${port}`));
  server.close();
  expect(text).toMatch(/^no TLS connection is possible: check the URL's scheme and port/);
  expect(text).not.toMatch(/SSL routines|\.c:\d+/);
});

it("a server that closes → the connection was closed", async () => {
  const server = createTcpServer((socket) => socket.resetAndDestroy());
  await new Promise<void>((ready) => void server.listen(0, "127.0.0.1", ready));
  const { port } = server.address() as AddressInfo;
  const text = networkFault(await failureOf(`https://127.0.0.1:${port}`));
  server.close();
  expect(text).toMatch(/^the connection was closed before the answer was complete: .* \(ECONNRESET/);
});
