// Tests which files --ca-file accepts, and which authorities are trusted with the file.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import tls from "node:tls";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, test } from "vitest";
import { httpTransport } from "../../../node-shim/worker-link/http-transport.ts";
import { caFileCertificates, outboundTo } from "../../../node-shim/worker-link/outbound.ts";
import { temporaryFolder } from "../base/temporary-folder.ts";
import { type Pems, selfSigned, tlsWorker } from "./connect-proxy.ts";

let folder: { path: string; remove: () => void };
let pems: Pems;
let elsewhere: Pems;
beforeAll(async () => {
  folder = temporaryFolder();
  [pems, elsewhere] = await Promise.all([selfSigned("localhost"), selfSigned("elsewhere.test")]);
});
afterAll(() => folder.remove());
const file = () => join(folder.path, "ca.pem");
const LIMIT = 1024 * 1024;

test.each<[situation: string, text: () => string, certificates: number]>([
  ["one", () => pems.cert, 1],
  ["several, with words between them", () => `# ours\n${pems.cert}\r\n# theirs\n${pems.cert}`, 2],
  ["a key in addition", () => `${pems.key}\n${pems.cert}`, 1],
  ["a file of 1 MiB", () => pems.cert.padEnd(LIMIT), 1],
])("%s → read", (_situation, text, certificates) => {
  writeFileSync(file(), text());
  expect(caFileCertificates(file())).toHaveLength(certificates);
});

test.each<[situation: string, text: () => string, said: RegExp]>([
  ["an empty file", () => "", /ca\.pem holds no certificate in PEM$/],
  ["a key alone", () => pems.key, /holds no certificate in PEM$/],
  ["a truncated one", () => pems.cert.slice(0, -30), /holds no certificate in PEM$/],
  [
    "a damaged one",
    () => "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----",
    /ca\.pem: certificate 1 of 1 cannot be read$/,
  ],
  [
    "a damaged one among several",
    () => `${pems.cert}\n-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----`,
    /ca\.pem: certificate 2 of 2 cannot be read$/,
  ],
  ["more than 1 MiB", () => pems.cert.padEnd(LIMIT + 1), /ca\.pem: 1048577 bytes, more than 1048576$/],
])("%s → refused, and the file is named", (_situation, text, said) => {
  writeFileSync(file(), text());
  expect(() => caFileCertificates(file())).toThrow(said);
  expect(() => caFileCertificates(file())).toThrow(/^--ca-file \//);
});

it("no file, a folder, a device → refused, and not read", () => {
  mkdirSync(join(folder.path, "folder"));
  expect(() => caFileCertificates("/nowhere/ca.pem")).toThrow(
    expect.objectContaining({
      message: "--ca-file /nowhere/ca.pem cannot be read (ENOENT)",
      cause: expect.objectContaining({ code: "ENOENT" }) as Error,
    }),
  );
  expect(() => caFileCertificates(join(folder.path, "folder"))).toThrow(/folder is not a file$/);
  expect(() => caFileCertificates("/dev/zero")).toThrow("--ca-file /dev/zero is not a file");
});

describe("a Worker without a proxy, over TLS", () => {
  type Authorities = (type: string) => string[];
  const node = tls as { getCACertificates?: Authorities };

  /** Lets Node.js list these authorities until the test ends. undefined: Node.js 20, which has no such function. */
  function listing(authorities: Authorities | undefined): void {
    const { getCACertificates } = node;
    if (authorities) node.getCACertificates = authorities;
    else delete node.getCACertificates;
    onTestFinished(() => void Object.assign(node, { getCACertificates }));
  }

  /** Sends requests to a Worker with `pems`, all at once. Returns the Worker, whose `sockets` are the connections. */
  async function asked(caFile: string | undefined, extra?: string, requests = 1) {
    const worker = await tlsWorker(pems, (_request, response) => response.end("{}"));
    onTestFinished(worker.close);
    const origin = `https://localhost:${worker.port}`;
    const outbound = outboundTo(
      origin,
      { ...(caFile !== undefined && { caFile }) },
      { ...(extra !== undefined && { NODE_EXTRA_CA_CERTS: extra }) },
    );
    const { send, close } = httpTransport(origin, 30_000, outbound);
    onTestFinished(close);
    const request = { method: "POST", path: "/v1", headers: {}, body: "{}" } as const;
    const answers = await Promise.all(Array.from({ length: requests }, () => send(request)));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    return worker;
  }
  const written = (name: string, text: string) => {
    writeFileSync(join(folder.path, name), text);
    return join(folder.path, name);
  };
  const [OWN, OTHER] = [() => written("own.pem", pems.cert), () => written("other.pem", elsewhere.cert)];

  it("of an authority in --ca-file → trusted; several requests share one connection", async () => {
    const { sockets, servernames } = await asked(OWN(), undefined, 2);
    expect([sockets.size, servernames]).toEqual([1, ["localhost"]]);
  });

  it.each<[situation: string, authorities: Authorities | undefined, extra?: () => string]>([
    ["that Node.js lists", (type) => (type === "default" ? [pems.cert] : [])],
    ["in NODE_EXTRA_CA_CERTS, with Node.js 20", undefined, OWN],
  ])("of an authority %s, and --ca-file has another → trusted", async (_, authorities, extra) => {
    listing(authorities);
    await asked(OTHER(), extra?.());
  });

  it.each<[situation: string, extra?: () => string]>([
    ["without NODE_EXTRA_CA_CERTS"],
    ["NODE_EXTRA_CA_CERTS is missing, about which Node.js warns", () => join(folder.path, "missing.pem")],
    ["NODE_EXTRA_CA_CERTS has no certificate", () => written("empty.pem", "")],
  ])("of an authority in --ca-file, with Node.js 20: %s → trusted", async (_, extra) => {
    listing(undefined);
    await asked(OWN(), extra?.());
  });

  it.each<[situation: string, caFile?: () => string]>([["without --ca-file"], ["with another one", OTHER]])(
    "of an unknown authority, %s → refused",
    async (_, caFile) => {
      await expect(asked(caFile?.())).rejects.toThrow(
        /^no trusted authority has signed .* \(DEPTH_ZERO_SELF_SIGNED_CERT\)$/,
      );
    },
  );
});
