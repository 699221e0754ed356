// Tests doctor's findings about the connection to the Worker: the proxy, and the file of authorities. No finding
// contains the proxy's password.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, test } from "vitest";
import { type DoctorFlags, examine } from "../../../node-shim/doctor/doctor.ts";
import { type WorkerProbes, workerProbes } from "../../../node-shim/doctor/worker-probes.ts";
import { ProxyFault } from "../../../node-shim/worker-link/tunnel.ts";
import { temporaryFolder } from "../base/temporary-folder.ts";
import { connectProxy, selfSigned, tlsWorker, WORKER_NAME } from "../worker-link/connect-proxy.ts";

const WELL: WorkerProbes = {
  lookup: async () => ["192.0.2.1"],
  tunnel: async () => undefined,
  certificate: async () => ({ endsMs: 90 * 86_400_000, names: "", distrust: null }),
  livez: async () => ({ status: 200, body: "ok", dateMs: null }),
  refusal: async () => "challenge-stale",
  upgrade: async () => ({ why: "", reason: "unauthenticated", retryAfterMs: 0 }),
  now: () => 0,
};
const PROXY = { HTTPS_PROXY: "http://edge:Secret@proxy:3128" };

let folder: { path: string; remove: () => void };
let closing: (() => void)[];
beforeEach(() => {
  folder = temporaryFolder();
  closing = [];
});
afterEach(() => {
  for (const close of closing) close();
  folder.remove();
});

/** Returns a line for each finding about the connection to the Worker. */
async function looked(
  environment: NodeJS.ProcessEnv,
  flags: Partial<DoctorFlags> = {},
  probes: WorkerProbes = WELL,
): Promise<string[]> {
  const url = "https://rollcall.example.com";
  const state = join(folder.path, "state");
  const findings = await examine({ hostnameOverride: "edge-1", state, url, ...flags }, probes, environment);
  expect(JSON.stringify(findings)).not.toContain("Secret");
  const checks = new Set(["proxy", "CA file", "DNS", "TLS", "Worker"]);
  return findings
    .filter(({ check }) => checks.has(check))
    .map(({ check, level, message, todo }) => `${level} ${check}: ${message}${todo ? ` → ${todo}` : ""}`);
}

test.each<[situation: string, environment: NodeJS.ProcessEnv, flags: Partial<DoctorFlags>, line: RegExp]>([
  ["no proxy", {}, {}, /^ok proxy: none: HTTPS_PROXY is not set$/],
  ["HTTP_PROXY alone", { HTTP_PROXY: "proxy" }, {}, /^ok proxy: none: .*, and HTTP_PROXY is not for https:/],
  ["excepted", { ...PROXY, NO_PROXY: ".example.com" }, {}, /^ok proxy: none: NO_PROXY excepts the Worker/],
  ["a proxy", PROXY, {}, /^ok proxy: http:\/\/proxy:3128 \(HTTPS_PROXY, with a name and password\)$/],
  ["a proxy without a name", { https_proxy: "proxy" }, {}, /^ok proxy: http:\/\/proxy \(https_proxy\)$/],
  ["not a URL", { HTTPS_PROXY: "ftp://Secret" }, {}, /^fail proxy: HTTPS_PROXY must read .* → correct/],
  ["no CA file", {}, { caFile: "/nowhere" }, /^fail CA file: --ca-file \/nowhere cannot be read .* → pass/],
])("%s → reported", async (_situation, environment, flags, line) => {
  expect(await looked(environment, flags)).toContainEqual(expect.stringMatching(line));
});

it("a proxy → the Worker's name need not resolve on this machine", async () => {
  const lookup = () => Promise.reject(new Error("no resolver"));
  const lines = await looked(PROXY, {}, { ...WELL, lookup });
  expect(lines.map((line) => line.split(":")[0])).toEqual(["ok proxy", "ok TLS", "ok Worker"]);
});

test.each<[reason: ProxyFault["reason"], line: RegExp]>([
  ["unreachable", /^fail proxy: words → check HTTPS_PROXY, /],
  ["credentials", /^fail proxy: words → set HTTPS_PROXY=http:\/\/NAME:PASSWORD@HOST:PORT/],
  [
    "refused",
    /^fail proxy: words → ask .* to allow CONNECT to rollcall\.example\.com; or name it in NO_PROXY/,
  ],
  ["no proxy", /^fail proxy: words → check that HTTPS_PROXY is the URL of an HTTP proxy/],
])("the proxy's fault is %s → advice for it, and nothing further is checked", async (reason, line) => {
  const tunnel = () => Promise.reject(new ProxyFault(reason, "words"));
  expect(await looked(PROXY, {}, { ...WELL, tunnel })).toEqual([expect.stringMatching(line)]);
});

it("a real proxy and an authority of the operator's → all is well; without the file → the missing authority", async () => {
  const pems = await selfSigned(WORKER_NAME);
  const worker = await tlsWorker(pems, (_request, response) => response.end("ok"));
  const proxy = await connectProxy(({ join }) => join());
  closing.push(worker.close, proxy.close);
  const caFile = join(folder.path, "ca.pem");
  writeFileSync(caFile, pems.cert);
  const url = `https://${WORKER_NAME}:${worker.port}`;
  const environment = { HTTPS_PROXY: `http://127.0.0.1:${proxy.port}` };
  expect(await looked(environment, { url, caFile }, workerProbes())).toEqual([
    expect.stringMatching(/^ok proxy: http:/),
    expect.stringMatching(/^ok TLS: the certificate is trusted/),
    `ok Worker: ${url} answers`,
  ]);
  expect(await looked(environment, { url }, workerProbes())).toEqual([
    expect.stringMatching(/^ok proxy: http:/),
    expect.stringMatching(/^fail TLS: .*DEPTH_ZERO_SELF_SIGNED_CERT → .*--ca-file/),
  ]);
  await Promise.all([...proxy.sockets].map((socket) => new Promise((gone) => socket.once("close", gone))));
});
