// Tests node-shim upgrade: its requests to the Worker and to apt, and the way back from a version that does not
// report.
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, test } from "vitest";
import {
  REPORT_MS,
  type ServiceShim,
  type UpgradeFlags,
  type UpgradeHost,
  upgradeShim,
} from "../../../node-shim/commands/upgrade.ts";
import { loadOrMakeKey, storeEnrolment } from "../../../node-shim/identity/identity.ts";
import { lockFolder } from "../../../node-shim/identity/lock.ts";
import { failure, type Result, success } from "../../../shared/result.ts";
import { VERSION } from "../../../shared/version.ts";
import { temporaryFolder } from "../base/temporary-folder.ts";

const NEWER = "9.2.0-rc.1";
const DATE_MS = Date.parse("2026-01-01T10:00:00Z");

let folder: { path: string; remove: () => void };
let server: Server;
let asked: string[];
let answer: { status: number; body: object };
beforeEach(async () => {
  folder = temporaryFolder();
  asked = [];
  answer = { status: 200, body: { version: NEWER } };
  server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (chunk: string) => (body += chunk));
    request.once("end", () => {
      asked.push(`${request.method} ${request.url} ${body}`);
      response.statusCode = answer.status;
      response.end(JSON.stringify(answer.body));
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
});
afterEach(() => {
  server.close();
  server.closeAllConnections();
  folder.remove();
});
const origin = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

async function enrolled(more: Partial<UpgradeFlags> = {}): Promise<UpgradeFlags> {
  const { thumbprint } = await loadOrMakeKey(folder.path);
  storeEnrolment(folder.path, { name: "edge-7", thumbprint, kid: "k", origin: origin() });
  return { state: folder.path, ...more };
}

const OLD: ServiceShim = { version: VERSION, hasAnswer: true };
const NEW: ServiceShim = { version: NEWER, hasAnswer: true };

interface Situation {
  isRoot?: boolean;
  /** The results of dpkg's runs, in this order. */
  dpkg?: Result<string>[];
  /** The results of apt-get's runs, by the first words of their arguments. */
  apt?: Readonly<Record<string, Result<null>>>;
  /** The service's shim at each check. The last one stays. */
  shims?: (ServiceShim | null)[];
  dateMs?: number;
}

/** Returns a machine with the package, whose service runs. `ran` has the calls of apt-get. */
function host({ isRoot = true, dpkg, apt = {}, shims = [OLD, NEW], dateMs = DATE_MS }: Situation = {}) {
  const ran: string[] = [];
  const waited: string[] = [];
  const said = [...(dpkg ?? [success("rollcall-node-shim: /shim\n"), success("installed 0.1.0")])];
  let looks = 0;
  let passedMs = 0;
  const made: UpgradeHost = {
    isRoot,
    program: "/shim",
    packages: {
      query: async () => said.shift() ?? failure("nothing more is asked"),
      aptGet: async (args) => {
        const [command = ""] = args;
        const what = command === "install" ? `${command} ${args.at(-1)}` : command;
        ran.push(what);
        return apt[what] ?? success(null);
      },
    },
    service: () => shims[Math.min(looks++, shims.length - 1)] ?? null,
    clock: { nowMs: () => passedMs, sleep: async (ms) => void (passedMs += ms) },
    dateMs: () => dateMs,
    progress: (text) => waited.push(text),
  };
  return { host: made, ran, waited, passedMs: () => passedMs };
}

const UPDATE = "update";
const INSTALL = "install rollcall-node-shim=9.2.0~rc.1";
const BACK = "install rollcall-node-shim=0.1.0";

describe("the answer has a version", () => {
  it("that reports → installed by its Debian version; the service runs, and its lock does not block", async () => {
    const flags = await enrolled();
    const lock = lockFolder(folder.path);
    const starting = { version: NEWER, hasAnswer: false };
    const { host: machine, ran, waited } = host({ shims: [OLD, OLD, null, starting, NEW] });
    expect(await upgradeShim(flags, machine)).toBe(
      `edge-7 has ${NEWER} now, after ${VERSION}, and it reports`,
    );
    lock.release();
    expect(asked).toEqual([`POST /v1/nodes/edge-7/upgrade {"protocol":1,"version":"${VERSION}"}`]);
    expect(ran).toEqual([UPDATE, INSTALL]);
    expect([...new Set(waited)]).toEqual([
      "apt-get update",
      `apt-get install of ${NEWER}`,
      `a first report of ${NEWER}`,
    ]);
  });

  it("no service runs → installed, with a message that no report was seen", async () => {
    const { host: machine, ran, passedMs } = host({ shims: [null] });
    expect(await upgradeShim(await enrolled(), machine)).toBe(
      `edge-7 has ${NEWER} installed, after ${VERSION}; its service does not run, so no report has been seen`,
    );
    expect([ran, passedMs()]).toEqual([[UPDATE, INSTALL], 0]);
  });

  it("a source of the machine cannot be read → still installed if apt has the version", async () => {
    const { host: machine, ran } = host({ apt: { [UPDATE]: failure("ended with 100: E: no Release file") } });
    expect(await upgradeShim(await enrolled(), machine)).toMatch(/and it reports$/);
    expect(ran).toEqual([UPDATE, INSTALL]);
  });

  it("its first answer comes just in time → it stays", async () => {
    const looks = REPORT_MS / 2000;
    const { host: machine, passedMs } = host({
      shims: [...Array.from({ length: looks + 1 }, () => OLD), NEW],
    });
    expect(await upgradeShim(await enrolled(), machine)).toMatch(/and it reports$/);
    expect(passedMs()).toBe(REPORT_MS);
  });
});

describe("a version that does not report → the former one again, and exit code 1", () => {
  const NOT_ANSWERED = { version: NEWER, hasAnswer: false };
  test.each<[situation: string, shim: ServiceShim | null]>([
    ["it ends at each start", null],
    ["it runs, and gets no answer", NOT_ANSWERED],
    ["the former process was not restarted", OLD],
  ])("%s", async (_situation, shim) => {
    const { host: machine, ran, passedMs } = host({ shims: [OLD, shim] });
    await expect(upgradeShim(await enrolled(), machine)).rejects.toThrow(
      `${NEWER} was installed, and has not reported within 3 minutes: 0.1.0 is installed again; \`journalctl -u rollcall-node-shim\` has the log of ${NEWER}`,
    );
    expect(ran).toEqual([UPDATE, INSTALL, BACK]);
    expect(passedMs()).toBe(REPORT_MS);
  });

  it("going back fails too → both faults are printed, and the command that goes back", async () => {
    const apt = { [BACK]: failure("ended with 100: E: Version '0.1.0' was not found") };
    const { host: machine } = host({ shims: [OLD, null], apt });
    await expect(upgradeShim(await enrolled(), machine)).rejects.toThrow(
      `${NEWER} was installed, and has not reported within 3 minutes, and 0.1.0 could not be installed again (apt-get ended with 100: E: Version '0.1.0' was not found): apt-get install --allow-downgrades rollcall-node-shim=0.1.0`,
    );
  });

  it("an hour later → not tried again; a day later, or another version → tried", async () => {
    const flags = await enrolled();
    await expect(upgradeShim(flags, host({ shims: [OLD, null] }).host)).rejects.toThrow(/installed again/);
    const hourLater = host({ dateMs: DATE_MS + 3_600_000 });
    await expect(upgradeShim(flags, hourLater.host)).rejects.toThrow(
      `not upgraded: ${NEWER} did not report here; it is tried again after 2026-01-02T10:00:00.000Z, or now: rm ${folder.path}/failed-upgrade.json && node-shim upgrade`,
    );
    expect(hourLater.ran).toEqual([]);
    answer.body = { version: "9.3.0" };
    const other = host({ shims: [OLD, { version: "9.3.0", hasAnswer: true }], dateMs: DATE_MS + 3_600_000 });
    expect(await upgradeShim(flags, other.host)).toMatch(/^edge-7 has 9\.3\.0 now/);
    answer.body = { version: NEWER };
    expect(await upgradeShim(flags, host({ dateMs: DATE_MS + 86_400_000 }).host)).toMatch(/and it reports$/);
  });
});

describe("the two units: one asks and writes the version, the other installs the version", () => {
  const file = () => join(folder.path, "run/version");
  beforeEach(() => mkdirSync(join(folder.path, "run"), { mode: 0o700 }));
  const asking = () => enrolled({ versionTo: file() });
  /** The flags of the unit that installs. Any request to this URL would fail. */
  const installing = () => enrolled({ versionFrom: file(), url: "http://127.0.0.1:1" });
  const write = (version: string) => writeFileSync(file(), `${version}\n`, { mode: 0o600 });

  it("the answer has a version → written, and nothing is installed", async () => {
    const { host: machine, ran } = host();
    expect(await upgradeShim(await asking(), machine)).toBe(`edge-7 has ${VERSION}, and may have ${NEWER}`);
    expect([readFileSync(file(), "utf8"), asked.length, ran]).toEqual(["9.2.0~rc.1\n", 1, []]);
  });

  test.each<[situation: string, body: object, status: number]>([
    ["has no version", { version: null, why: "no rollout" }, 200],
    ["is the running version", { version: VERSION }, 200],
    ["has an older version", { version: "0.0.9" }, 200],
    ["is not a Worker's", { version: "newest" }, 200],
    ["has more than a version", { version: `${NEWER} -o Dir::Etc=/tmp` }, 200],
    ["is a refusal", { reason: "key-revoked", title: "This key was revoked" }, 403],
  ])("the answer %s → no file, also not an earlier answer's", async (_situation, body, status) => {
    write("9.1.0");
    answer = { status, body };
    await upgradeShim(await asking(), host().host).catch(() => undefined);
    expect([existsSync(file()), asked.length]).toEqual([false, 1]);
  });

  it("the file has a version → installed once, without a request", async () => {
    write("9.2.0~rc.1");
    const { host: machine, ran } = host();
    expect(await upgradeShim(await installing(), machine)).toBe(
      `this machine has ${NEWER} now, after ${VERSION}, and it reports`,
    );
    expect([ran, asked, existsSync(file())]).toEqual([[UPDATE, INSTALL], [], false]);
    await expect(upgradeShim(await installing(), host().host)).rejects.toThrow(/cannot be used \(ENOENT\)/);
  });

  it("its version does not report → the former one again", async () => {
    write("9.2.0~rc.1");
    const { host: machine, ran } = host({ shims: [OLD, null] });
    await expect(upgradeShim(await installing(), machine)).rejects.toThrow(/0\.1\.0 is installed again/);
    expect(ran).toEqual([UPDATE, INSTALL, BACK]);
    write("9.2.0~rc.1");
    await expect(upgradeShim(await installing(), host().host)).rejects.toThrow(/it is tried again after/);
  });

  test.each<[situation: string, text: string, said: RegExp]>([
    ["an older version", "0.0.9", /older than .*: it cannot downgrade a machine/],
    ["no version", "newest", /has no version of a package$/],
    ["options of apt-get", "9.2.0 -o Dir::Etc=/tmp", /has no version of a package$/],
  ])("the file has %s → nothing is installed", async (_situation, text, said) => {
    write(text);
    const { host: machine, ran } = host();
    await expect(upgradeShim(await installing(), machine)).rejects.toThrow(said);
    expect(ran).toEqual([]);
  });

  it("the file has the running version → nothing is installed", async () => {
    write(VERSION);
    const { host: machine, ran } = host();
    expect(await upgradeShim(await installing(), machine)).toMatch(/no newer$/);
    expect(ran).toEqual([]);
  });
});

describe("the answer has no version → nothing changes, and the reason is printed", () => {
  test.each<[why: string, text: string]>([
    ["no rollout", "there is no rollout"],
    ["up to date", "the rollout's version is no newer"],
    ["stopped", "the rollout is stopped"],
    ["not chosen", "the rollout has not come to this machine yet"],
    ["too many at once", "the rollout waits for other machines"],
    ["not known", "the Worker does not know enough of this machine yet"],
    ["a later\nreason", "the Worker answers: a later reason"],
    ["toString", "the Worker answers: toString"],
  ])("%j", async (why, text) => {
    answer.body = { version: null, why };
    const { host: machine, ran } = host();
    expect(await upgradeShim(await enrolled(), machine)).toBe(`edge-7 stays with ${VERSION}: ${text}`);
    expect(ran).toEqual([]);
  });

  it("the running version → the same", async () => {
    answer.body = { version: VERSION };
    const { host: machine, ran } = host();
    expect(await upgradeShim(await enrolled(), machine)).toMatch(/no newer$/);
    expect(ran).toEqual([]);
  });
});

describe("--check → asks, prints, and changes nothing, for every user and every kind of installation", () => {
  test.each<[answer: object, text: string]>([
    [{ version: NEWER }, `edge-7 has ${VERSION}, and may have ${NEWER}: sudo node-shim upgrade`],
    [
      { version: null, why: "not chosen" },
      `edge-7 stays with ${VERSION}: the rollout has not come to this machine yet`,
    ],
  ])("%j", async (body, text) => {
    answer.body = body;
    const { host: machine, ran } = host({ isRoot: false, dpkg: [failure("no dpkg")] });
    expect(await upgradeShim(await enrolled({ check: true }), machine)).toBe(text);
    expect([asked.length, ran]).toEqual([1, []]);
  });
});

describe("cannot upgrade → what to do, and nothing is installed", () => {
  test.each<
    [situation: string, change: { body?: object; status?: number } & Situation, line: RegExp, asks: number]
  >([
    [
      "the answer has an older version",
      { body: { version: "0.0.9" } },
      /^not upgraded: the Worker gives 0\.0\.9, which is older than .*: it cannot downgrade a machine; to do that yourself, run apt-get install --allow-downgrades rollcall-node-shim=0\.0\.9$/,
      1,
    ],
    [
      "not installed by a .deb → no request, so the Worker does not count it as upgrading",
      { dpkg: [failure("ended with 1: dpkg-query: no path found matching pattern /shim")] },
      /^not upgraded: apt can upgrade only what a \.deb has installed, and \/shim is no file of .*: run install\.sh again, or npm install -g/,
      0,
    ],
    ["not root → no request either", { isRoot: false }, /^only root can do that: sudo node-shim upgrade$/, 0],
    [
      "a Worker of a version without rollouts",
      { status: 404, body: { reason: "not-found", title: "Not found" } },
      /^not upgraded: the Worker at http:\S+ is too old to name a version: upgrade it first$/,
      1,
    ],
    [
      "the same, refused by the method",
      { status: 405, body: { reason: "method-not-allowed", title: "Method not allowed" } },
      /is too old to name a version/,
      1,
    ],
    [
      "the Worker refuses",
      { status: 403, body: { reason: "key-revoked", title: "This key was revoked" } },
      /^not upgraded: This key was revoked; try again, or run `node-shim doctor`$/,
      1,
    ],
    ["another server answers", { body: { version: "newest" } }, /is this a rollcall Worker\?/, 1],
  ])("%s", async (_situation, { body, status, ...situation }, line, asks) => {
    answer = { status: status ?? 200, body: body ?? { version: NEWER } };
    const { host: machine, ran } = host(situation);
    await expect(upgradeShim(await enrolled(), machine)).rejects.toThrow(line);
    expect([asked.length, ran]).toEqual([asks, []]);
  });

  it("never enrolled → join first, and no file is made", async () => {
    const state = join(folder.path, "none");
    await expect(upgradeShim({ state }, host().host)).rejects.toThrow(
      `${state} holds no enrolment: join first`,
    );
    expect(existsSync(state)).toBe(false);
  });

  it("the Worker cannot be reached", async () => {
    const flags = await enrolled({ url: "http://127.0.0.1:1" });
    await expect(upgradeShim(flags, host().host)).rejects.toThrow(
      /^not upgraded: .*ECONNREFUSED.*; try again, or run `node-shim doctor`$/,
    );
  });

  it("apt-get install fails → its last lines, also those of an update that failed before it", async () => {
    const apt = {
      [UPDATE]: failure("ended with 100: E: no Release file"),
      [INSTALL]: failure("ended with 100: E: Version '9.2.0~rc.1' was not found; E: Unable"),
    };
    const { host: machine, ran } = host({ apt });
    await expect(upgradeShim(await enrolled(), machine)).rejects.toThrow(
      `not upgraded: apt-get install of ${NEWER} ended with 100: E: Version '9.2.0~rc.1' was not found; E: Unable (apt-get update ended with 100: E: no Release file); \`apt-cache policy rollcall-node-shim\` shows what this machine's sources have`,
    );
    expect(ran).toEqual([UPDATE, INSTALL]);
  });
});
