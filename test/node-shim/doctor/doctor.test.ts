// Tests doctor's findings: each check with each of its results, and the advice that doctor prints.
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import selfsigned from "selfsigned";
import { afterEach, beforeEach, describe, expect, it, test } from "vitest";
import { type DoctorFlags, examine, nodeFindings } from "../../../node-shim/doctor/doctor.ts";
import { type Finding, findingsText } from "../../../node-shim/doctor/finding.ts";
import { checkWorker } from "../../../node-shim/doctor/worker-checks.ts";
import { type WorkerProbes, workerProbes } from "../../../node-shim/doctor/worker-probes.ts";
import { DIRECTLY } from "../../../node-shim/worker-link/outbound.ts";
import { makeMachineKey, storePending } from "../../../node-shim/identity/identity.ts";
import { thisProcess } from "../../../node-shim/base/process-id.ts";
import { bootID } from "../../../node-shim/sources/kernel/names.ts";
import type { StatusFile } from "../../../node-shim/status/status-file.ts";
import { valueOr } from "../../../shared/result.ts";
import { temporaryFolder } from "../base/temporary-folder.ts";
import { at, WELL as REPORTING } from "../status/status.ts";

const NOW = Date.parse("2026-01-01T00:00:00Z");
const DAY_MS = 86_400_000;
const URL_OF_WORKER = "https://rollcall.example.com";
const TRUSTED = { endsMs: NOW + 90 * DAY_MS, names: "DNS:rollcall.example.com", distrust: null };
const refuse = (code: string) => () => Promise.reject(Object.assign(new Error(`failed ${code}`), { code }));

const WELL: WorkerProbes = {
  lookup: async () => ["192.0.2.1"],
  tunnel: async () => undefined,
  certificate: async () => TRUSTED,
  livez: async () => ({ status: 200, body: "ok", dateMs: NOW - 500 }),
  refusal: async () => "challenge-stale",
  upgrade: async () => ({ why: "", reason: "unauthenticated", retryAfterMs: 0 }),
  now: () => NOW,
};

let folder: { path: string; remove: () => void };
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(() => folder.remove());
const state = () => join(folder.path, "state");

/** Returns the finding of one check as text: its level, its message and its remedy. */
function found(findings: readonly Finding[], check: string): string {
  const finding = findings.find((finding) => finding.check === check);
  return finding
    ? `${finding.level}: ${finding.message}${finding.todo ? ` → ${finding.todo}` : ""}`
    : "nothing";
}

describe("the way to the Worker", () => {
  const ended = { ...TRUSTED, endsMs: NOW - 3 * DAY_MS };
  test.each<[situation: string, probes: Partial<WorkerProbes>, check: string, told: RegExp]>([
    ["all is well: name", {}, "DNS", /^ok: rollcall\.example\.com is 192\.0\.2\.1$/],
    ["all is well: certificate", {}, "TLS", /^ok: .* lasts 90 days$/],
    ["all is well: answer", {}, "Worker", /^ok: https:\/\/rollcall\.example\.com answers$/],
    ["all is well: clock", {}, "clock", /^ok: within 5 s/],
    ["all is well: origin", {}, "origin", /^ok: this machine signs for https:\/\/rollcall\.example\.com,/],
    [
      "an origin that is none of the Worker's",
      { refusal: async () => "wrong-origin" },
      "origin",
      /^fail: this machine signs for https:\/\/rollcall\.example\.com, .* → .*ORIGINS.*--url/,
    ],
    [
      "a Worker that is not configured",
      { refusal: async () => "not-configured" },
      "origin",
      /^fail: the Worker is not configured.* → .*operator.*\/readyz/,
    ],
    [
      "too many requests",
      { refusal: async () => "rate-limited" },
      "origin",
      /^warn: .*not known \(rate-limited\)/,
    ],
    [
      "a refusal without a reason for the origin",
      { refusal: refuse("ECONNRESET") },
      "origin",
      /^warn: .*not known: .*ECONNRESET/,
    ],
    ["another server: the origin is not checked", { livez: refuse("ETIMEDOUT") }, "origin", /^nothing$/],
    ["no such name", { lookup: refuse("ENOTFOUND") }, "DNS", /^fail: .*\(ENOTFOUND\) → .*getent hosts/],
    ["no such name: nothing more is checked", { lookup: refuse("ENOTFOUND") }, "TLS", /^nothing$/],
    ["refused", { certificate: refuse("ECONNREFUSED") }, "TLS", /^fail: no TLS.* → .*firewall/],
    [
      "certificate ended",
      { certificate: async () => ended },
      "TLS",
      /^fail: .*ended 3 days ago → renew it, or set/,
    ],
    [
      "certificate that expires soon",
      { certificate: async () => ({ ...TRUSTED, endsMs: NOW + 13 * DAY_MS }) },
      "TLS",
      /^warn: .*ends in 13 days/,
    ],
    [
      "certificate that lasts just long enough",
      { certificate: async () => ({ ...TRUSTED, endsMs: NOW + 14 * DAY_MS }) },
      "TLS",
      /^ok/,
    ],
    [
      "certificate of another name",
      {
        certificate: async () => ({
          ...TRUSTED,
          names: "DNS:other.example",
          distrust: "ERR_TLS_CERT_ALTNAME_INVALID",
        }),
      },
      "TLS",
      /^fail: .* → it is for DNS:other\.example, not rollcall\.example\.com/,
    ],
    [
      "unknown authority",
      { certificate: async () => ({ ...TRUSTED, distrust: "DEPTH_ZERO_SELF_SIGNED_CERT" }) },
      "TLS",
      /^fail: .*SELF_SIGNED.* → .*--ca-file \(or NODE_EXTRA_CA_CERTS\)/,
    ],
    ["hangs", { livez: refuse("ETIMEDOUT") }, "Worker", /^fail: .*does not answer/],
    [
      "another server",
      { livez: async () => ({ status: 200, body: "<html>", dateMs: NOW }) },
      "Worker",
      /^fail: .*HTTP 200, not "ok" → .*URL of a rollcall Worker/,
    ],
    [
      "clock 5 s ahead",
      { livez: async () => ({ status: 200, body: "ok", dateMs: NOW - 5500 }) },
      "clock",
      /^ok/,
    ],
    [
      "clock more than 5 s ahead",
      { livez: async () => ({ status: 200, body: "ok", dateMs: NOW - 5501 }) },
      "clock",
      /^warn: 5 s ahead of the Worker's → .*set-ntp/,
    ],
    [
      "clock behind",
      { livez: async () => ({ status: 200, body: "ok", dateMs: NOW + 60_000 }) },
      "clock",
      /^warn: 61 s behind/,
    ],
    [
      "no Date header",
      { livez: async () => ({ status: 200, body: "ok", dateMs: null }) },
      "clock",
      /^ok: .*not compared/,
    ],
  ])("%s → %s", async (_situation, probes, check, told) => {
    expect(found(await checkWorker(URL_OF_WORKER, { ...WELL, ...probes }), check)).toMatch(told);
  });

  it("http on loopback → the certificate is not checked", async () => {
    expect((await checkWorker("http://127.0.0.1:1", WELL)).map(({ check }) => check)).toEqual([
      "DNS",
      "Worker",
      "clock",
      "origin",
      "WebSocket",
    ]);
  });

  it("a real server with a certificate of its own → its names, and that no authority vouches for it", async () => {
    const notAfterDate = new Date(Date.now() + 30.5 * DAY_MS);
    const pems = await selfsigned.generate([{ name: "commonName", value: "elsewhere.example" }], {
      notAfterDate,
    });
    const server = createServer({ key: pems.private, cert: pems.cert }, (_request, response) =>
      response.end("ok"),
    );
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    try {
      const url = new URL(`https://127.0.0.1:${(server.address() as AddressInfo).port}`);
      const seen = await workerProbes().certificate(url, DIRECTLY);
      expect(seen.distrust).toBe("DEPTH_ZERO_SELF_SIGNED_CERT");
      expect(Math.floor((seen.endsMs - Date.now()) / DAY_MS)).toBe(30);
      expect(found(await checkWorker(url.origin, workerProbes()), "TLS")).toMatch(/^fail: .*not trusted/);
      await expect(workerProbes().livez(url, DIRECTLY)).rejects.toThrow(/self.signed/);
    } finally {
      server.close();
    }
  });
});

describe("the machine's identity", () => {
  const NAMED = { hostnameOverride: "edge-1" };
  const look = (flags: Partial<DoctorFlags> = {}, environment: NodeJS.ProcessEnv = {}) =>
    examine({ ...NAMED, state: state(), url: URL_OF_WORKER, ...flags }, WELL, environment);
  async function enrolled(name = "edge-1"): Promise<void> {
    const { jwk, thumbprint } = await makeMachineKey();
    mkdirSync(state(), { mode: 0o700 });
    writeFileSync(join(state(), "key.json"), JSON.stringify(jwk), { mode: 0o600 });
    const enrolment = { name, thumbprint, kid: "k", origin: URL_OF_WORKER };
    writeFileSync(join(state(), "enrolment.json"), JSON.stringify(enrolment), { mode: 0o600 });
  }

  it("not enrolled, no token → both are reported, and no file is made", async () => {
    const findings = await look();
    expect(found(findings, "join token")).toMatch(/^warn: none given → pass --join-token-file/);
    expect(found(findings, "state folder")).toMatch(/^ok: .*is not there yet: join makes it$/);
    expect(found(findings, "enrolment")).toMatch(/^warn: edge-1 is not enrolled → node-shim join/);
    expect(() => chmodSync(state(), 0o700)).toThrow(/ENOENT/);
  });

  it("waits for an operator's approval → no second join is needed", async () => {
    mkdirSync(state(), { mode: 0o700 });
    storePending(state(), { origin: URL_OF_WORKER, joinToken: "t" });
    const findings = await look();
    expect(found(findings, "join token")).toMatch(/^ok: stored in the state folder/);
    expect(found(findings, "enrolment")).toMatch(/^warn: edge-1 waits for .* → .* without a second join$/);
  });

  it("enrolled → neither URL nor token is needed", async () => {
    await enrolled();
    const findings = await examine({ ...NAMED, state: state() }, WELL, {});
    expect(found(findings, "URL")).toBe(`ok: ${URL_OF_WORKER} (${state()})`);
    expect(found(findings, "join token")).toMatch(/^ok: none given, none needed/);
    expect(found(findings, "enrolment")).toMatch(/^ok: edge-1, key /);
    expect(findings.filter(({ level }) => level === "fail")).toEqual([]);
  });

  test.each<[situation: string, make: () => Promise<void>, check: string, told: RegExp]>([
    [
      "another node's",
      () => enrolled("edge-2"),
      "enrolment",
      /^fail: .*is enrolled as edge-2: pass --hostname-override edge-2, or another/,
    ],
    [
      "others may read the key",
      async () => {
        await enrolled();
        chmodSync(join(state(), "key.json"), 0o640);
      },
      "state folder",
      /^fail: others may use .*key\.json \(mode 640\) → chmod go= /,
    ],
    [
      "others may enter the folder",
      async () => {
        await enrolled();
        chmodSync(state(), 0o701);
      },
      "state folder",
      /^fail: others may use .*state \(mode 701\)/,
    ],
    [
      "a damaged key",
      async () => {
        await enrolled();
        writeFileSync(join(state(), "key.json"), "{");
      },
      "enrolment",
      /^fail: .*key\.json does not hold this machine's key: restore it/,
    ],
    [
      "others may write to the folder",
      async () => {
        await enrolled();
        chmodSync(state(), 0o777);
      },
      "state folder",
      /^fail: --state .* is not trusted: .*state can be written by others \(mode 777\): chmod go-w, .* → first check its files/,
    ],
    ["a file", async () => writeFileSync(state(), ""), "state folder", /^fail: .*is no folder → remove it/],
    [
      "in use",
      async () => {
        await enrolled();
        writeFileSync(join(state(), "lock"), "4711 12", { mode: 0o600 });
      },
      "state folder",
      /^ok: .*in use by process 4711$/,
    ],
  ])("state folder: %s → %s", async (_situation, make, check, told) => {
    await make();
    expect(found(await look(), check)).toMatch(told);
  });

  test.each<[situation: string, changes: Partial<StatusFile> | null, told: RegExp]>([
    ["reports", {}, /^ok: process \d+: edge-1 is Ready$/],
    [
      "the Worker refuses it",
      { report: { at: at(0), fault: { reason: "key-revoked", message: "This key was revoked." } } },
      /^fail: .*is refused by the Worker: This key was revoked\. → ask an operator/,
    ],
    [
      "the Worker refuses its origin",
      { report: { at: at(0), fault: { reason: "wrong-origin", message: "Signed for another." } } },
      /^fail: .*that the Worker does not have: Signed for another\. → pass the --url/,
    ],
    [
      "the Worker is not configured",
      { report: { at: at(0), fault: { reason: "not-configured", message: "Ask." } } },
      /^warn: .*the Worker is not configured: Ask\. → this machine needs no action/,
    ],
    [
      "its Node was deleted, and stays deleted",
      { answer: { at: at(0), phase: "node deleted", ready: false, message: "Its Node was deleted." } },
      /^fail: .*it was deleted: Its Node was deleted\. → .*start the shim again, or ask an operator/,
    ],
    [
      "the cluster has another Node of this name",
      { answer: { at: at(0), phase: "name taken", ready: false } },
      /^warn: .*another Node or another writer has → rename/,
    ],
    ["is gone", { process: "1 1" }, /^warn: edge-1 has no shim that runs: .* → .*systemctl start/],
    ["was never started", null, /^warn: edge-1 has no shim that runs: nothing is reported → /],
  ])("the shim: %s → %s", async (_situation, changes, told) => {
    await enrolled();
    const now = { startedAt: at(0), nextReportAt: new Date().toISOString(), process: thisProcess() };
    const boot = valueOr(bootID("/"), "");
    const file = { ...REPORTING, ...now, name: "edge-1", state: state(), bootID: boot, ...changes };
    if (changes) writeFileSync(join(state(), "status.json"), JSON.stringify(file), { mode: 0o644 });
    expect(found(await look(), "shim")).toMatch(told);
  });

  it.each<[situation: string, change: object, told: RegExp]>([
    [
      "older than the Worker",
      { workerVersion: "9.0.0" },
      /^warn: this shim is 0\.1\.0, and the Worker 9\.0\.0 → upgrade/,
    ],
    ["as new as the Worker", {}, /^nothing$/],
  ])("the shim is %s → %s", async (_situation, change, told) => {
    await enrolled();
    const now = { startedAt: at(0), nextReportAt: new Date().toISOString(), process: thisProcess() };
    const own = { name: "edge-1", shim: "0.1.0", state: state(), bootID: valueOr(bootID("/"), "") };
    const answer = { at: at(0), phase: "registered", ready: true, ...change };
    const file = { ...REPORTING, ...now, ...own, answer };
    writeFileSync(join(state(), "status.json"), JSON.stringify(file), { mode: 0o644 });
    expect(found(await look(), "version")).toMatch(told);
  });

  it("not enrolled → no finding about a shim: to join comes first", async () => {
    expect(found(await look(), "shim")).toBe("nothing");
  });

  const WELL_FORMED = `rcj1_${"A".repeat(43)}`;
  test.each<[situation: string, environment: NodeJS.ProcessEnv, file: string | null, told: RegExp]>([
    ["of the environment", { ROLLCALL_JOIN_TOKEN: WELL_FORMED }, null, /^ok: well formed/],
    ["of a file, with a line's end", {}, `${WELL_FORMED}\n`, /^ok: well formed/],
    ["cut off", {}, WELL_FORMED.slice(0, -1), /^fail: this is not a join token.* → copy it again/],
    ["one character too many", {}, `${WELL_FORMED}A`, /^fail: this is not a join token/],
    ["empty", {}, "\n", /^fail: --join-token-file .* is empty/],
  ])("join token: %s → reported, and never printed", async (_situation, environment, file, told) => {
    const joinTokenFile = join(folder.path, "token");
    if (file !== null) writeFileSync(joinTokenFile, file, { mode: 0o600 });
    const findings = await look(file === null ? {} : { joinTokenFile }, environment);
    expect(found(findings, "join token")).toMatch(told);
    expect(JSON.stringify(findings)).not.toContain(WELL_FORMED.slice(5, 40));
  });

  it("join token: of a file that others can read → a warning with the command that corrects the file", async () => {
    const joinTokenFile = join(folder.path, "token");
    writeFileSync(joinTokenFile, WELL_FORMED);
    chmodSync(joinTokenFile, 0o644);
    expect(found(await look({ joinTokenFile }), "join token")).toMatch(
      /^warn: --join-token-file \S+ can be read by other users \(mode 644\): chmod 600 \S+, and ask/,
    );
  });

  it("join token: its file was removed after enrolling → fine, since none is needed; before → a fault", async () => {
    const joinTokenFile = join(folder.path, "gone");
    expect(found(await look({ joinTokenFile }), "join token")).toMatch(/^fail: .*cannot be read \(ENOENT\)/);
    await enrolled();
    expect(found(await look({ joinTokenFile }), "join token")).toMatch(/^ok: .*is not needed/);
  });

  test.each<[situation: string, flags: Partial<DoctorFlags>, told: RegExp]>([
    ["http to another machine", { url: "http://a.example" }, /^fail: --url http:\/\/a\.example: only https/],
    ["a path", { url: "https://a.example/x" }, /^fail: .*must read https:\/\/HOST/],
  ])("URL: %s → %s", async (_situation, flags, told) => {
    expect(found(await look(flags), "URL")).toMatch(told);
  });

  it("without a flag the environment's URL is used", async () => {
    const findings = await examine({ ...NAMED, state: state() }, WELL, { ROLLCALL_URL: URL_OF_WORKER });
    expect(found(findings, "URL")).toBe(`ok: ${URL_OF_WORKER} (ROLLCALL_URL)`);
  });

  test.each<[situation: string, flags: Partial<DoctorFlags>, check: string, told: RegExp]>([
    ["thresholds not met", {}, "DiskPressure", /^ok: machine has no disk pressure/],
    [
      "a threshold that is met already",
      { set: { "eviction-hard": ["pid.available<100%", "memory.available<99%"] } },
      "MemoryPressure",
      /^warn: machine has insufficient memory available → free memory, or lower/,
    ],
    [
      "a configuration that is refused",
      { set: { "max-pods": ["-1"] } },
      "configuration",
      /^fail: --max-pods: .* → `node-shim config`/,
    ],
    [
      "a file of pinned keys without a key",
      { questionsFrom: "/dev/null" },
      "pinned keys",
      /^warn: no operator may ask this machine: \/dev\/null: no key → write the line of `rollcall operators key`/,
    ],
  ])("Node: %s → %s", async (_situation, flags, check, told) => {
    expect(found(await look(flags), check)).toMatch(told);
  });
});

describe("a Node's conditions", () => {
  it("NetworkUnavailable is on → a warning: without a route controller no pod is ever placed", () => {
    const condition = {
      type: "NetworkUnavailable",
      status: "True",
      message: "NodeController create implicit route",
    };
    const node = { status: { conditions: [condition] } } as Parameters<typeof nodeFindings>[0]["node"];
    expect(found(nodeFindings({ node, errors: [] }), "NetworkUnavailable")).toMatch(
      /^warn: .*route controller/,
    );
  });

  it("a pressure that nothing measures → a warning, although its condition is False", () => {
    const message = "not measured: the machine does not report memory.available";
    const condition = { type: "MemoryPressure", status: "False", message };
    const node = { status: { conditions: [condition] } } as Parameters<typeof nodeFindings>[0]["node"];
    expect(found(nodeFindings({ node, errors: [] }), "MemoryPressure")).toMatch(/^warn: not measured/);
  });
});

describe("the findings as text", () => {
  it("aligned, with the advice on a line of its own", () => {
    const findings: Finding[] = [
      { check: "URL", level: "ok", message: "fine" },
      { check: "clock", level: "warn", message: "behind", todo: "set it" },
    ];
    expect(findingsText(findings)).toBe("ok    URL    fine\nwarn  clock  behind\n             → set it\n");
  });
});
