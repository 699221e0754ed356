// Tests which files --ca-file accepts. worker-link.test.ts shows, with each version of Node.js, that the usual
// authorities stay trusted.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, test } from "vitest";
import { caFileCertificates } from "../../../node-shim/worker-link/outbound.ts";
import { temporaryFolder } from "../base/temporary-folder.ts";
import { type Pems, selfSigned } from "./connect-proxy.ts";

let folder: { path: string; remove: () => void };
let pems: Pems;
beforeAll(async () => {
  folder = temporaryFolder();
  pems = await selfSigned("ca.test");
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
    "--ca-file /nowhere/ca.pem cannot be read (ENOENT)",
  );
  expect(() => caFileCertificates(join(folder.path, "folder"))).toThrow(/folder is not a file$/);
  expect(() => caFileCertificates("/dev/zero")).toThrow("--ca-file /dev/zero is not a file");
});
