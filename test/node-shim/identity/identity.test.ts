// Tests a machine's stored identity: one key, its enrolment, one process at a time.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, test } from "vitest";
import {
  forgetIdentity,
  leftName,
  loadEnrolment,
  loadOrMakeKey,
  storedEnrolment,
  storeEnrolment,
} from "../../../node-shim/identity/identity.ts";
import { isOfService, lockFolder } from "../../../node-shim/identity/lock.ts";
import { temporaryFolder } from "../base/temporary-folder.ts";

let folder: { path: string; remove: () => void };
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(() => folder.remove());
const inFolder = (name: string) => join(folder.path, name);
const modeOf = (path: string) => statSync(path).mode & 0o777;

/** An Ed25519 key pair, without its type (RFC 8037). */
const PAIR =
  '"x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo","d":"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A"';

describe("the machine's key", () => {
  it("no key → made once, 0600, without a half-written file next to it", async () => {
    const first = await loadOrMakeKey(folder.path);
    const second = await loadOrMakeKey(folder.path);
    expect(second.thumbprint).toBe(first.thumbprint);
    expect(modeOf(inFolder("key.json"))).toBe(0o600);
    expect(readdirSync(folder.path)).toEqual(["key.json"]);
  });

  test.each([
    ["empty", ""],
    ["cut short", '{"kty":"OKP","crv":"Ed'],
    ["not an object", "null"],
    ["a public key alone", '{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}'],
    ["of another kind", '{"kty":"EC","crv":"P-256","x":"a","d":"b"}'],
    ["of another type", `{"kty":"EC","crv":"Ed25519",${PAIR}}`],
    ["of another curve", `{"kty":"OKP","crv":"X25519",${PAIR}}`],
    ["of another length", '{"kty":"OKP","crv":"Ed25519","x":"AAAA","d":"AAAA"}'],
  ])("%s → one line that says what to do, and the file is unchanged", async (_situation, text) => {
    writeFileSync(inFolder("key.json"), text);
    const fault = await loadOrMakeKey(folder.path).catch((error: unknown) => error as Error);
    expect(fault).toMatchObject({
      message: expect.stringMatching(
        /^\S+key\.json does not hold this machine's key: restore it, or remove it and enrol again.*$/,
      ) as string,
      cause: expect.any(Error) as Error,
    });
    expect(readFileSync(inFolder("key.json"), "utf8")).toBe(text);
  });

  it("a key that cannot be read → one line that says what to do, and no new key", async () => {
    mkdirSync(inFolder("key.json"));
    await expect(loadOrMakeKey(folder.path)).rejects.toThrow(
      /^--state \S+ is not trusted: \S+key\.json is not a file \(links are not followed\): remove it, or .*$/,
    );
  });
});

describe("a folder that cannot be written → one line that says what to do, and its files stay", () => {
  const line = (file: string, code: string) =>
    new RegExp(`^\\S+${file}\\.json cannot be written \\(${code}\\): make room .*, or pass another --state$`);

  it("the key", async () => {
    mkdirSync(inFolder("key.json.new"));
    await expect(loadOrMakeKey(folder.path)).rejects.toThrow(line("key", "EISDIR"));
    expect(existsSync(inFolder("key.json"))).toBe(false);
  });

  it("the enrolment, when the folder was removed meanwhile", () => {
    const path = inFolder("gone");
    expect(() => storeEnrolment(path, { name: "edge-1", thumbprint: "T1", kid: "k" })).toThrow(
      line("enrolment", "ENOENT"),
    );
  });

  it("a crash while writing → half a file is never read as the whole one", async () => {
    const { thumbprint } = await loadOrMakeKey(folder.path);
    writeFileSync(inFolder("enrolment.json.new"), '{"name":"edge-1","thumb');
    writeFileSync(inFolder("key.json.new"), "{");
    expect((await loadOrMakeKey(folder.path)).thumbprint).toBe(thumbprint);
    expect(loadEnrolment(folder.path, { name: "edge-1", thumbprint })).toBeNull();
  });
});

describe("the enrolment", () => {
  const enrolment = { name: "edge-1", thumbprint: "T1", kid: "1.T1.a.b" };

  it("with the Worker's origin → the origin is kept", () => {
    const withOrigin = { ...enrolment, origin: "https://a.example" };
    storeEnrolment(folder.path, withOrigin);
    expect(storedEnrolment(folder.path)).toEqual(withOrigin);
  });

  it("none → null; stored → the same, 0600", () => {
    expect(loadEnrolment(folder.path, enrolment)).toBeNull();
    storeEnrolment(folder.path, enrolment);
    expect(loadEnrolment(folder.path, enrolment)).toEqual(enrolment);
    expect(modeOf(inFolder("enrolment.json"))).toBe(0o600);
  });

  it("the key was removed and made again → not enrolled", () => {
    storeEnrolment(folder.path, enrolment);
    expect(loadEnrolment(folder.path, { name: "edge-1", thumbprint: "T2" })).toBeNull();
  });

  it("the enrolment of another node → its name, and what to do", () => {
    storeEnrolment(folder.path, enrolment);
    expect(() => loadEnrolment(folder.path, { name: "edge-2", thumbprint: "T1" })).toThrow(
      `${folder.path} is enrolled as edge-1: pass --hostname-override edge-1, or another --state for edge-2`,
    );
  });

  test.each(["", "{", "null", '{"name":"edge-1"}', '{"name":"edge-1","thumbprint":"T1","kid":""}'])(
    "damaged (%s) → one line that says what to do",
    (text) => {
      writeFileSync(inFolder("enrolment.json"), text);
      expect(() => loadEnrolment(folder.path, enrolment)).toThrow(
        /^\S+enrolment\.json is damaged: remove it and enrol again with a join token \(the key stays\)$/,
      );
    },
  );
});

describe("a machine that leaves", () => {
  const enrolment = { name: "edge-1", thumbprint: "T1", kid: "k" };

  it("→ its name is stored, and key, enrolment and status are removed", async () => {
    await loadOrMakeKey(folder.path);
    storeEnrolment(folder.path, enrolment);
    for (const name of ["next", "status", "failed-upgrade"]) writeFileSync(inFolder(`${name}.json`), "{}");
    expect(leftName(folder.path)).toBeNull();
    forgetIdentity(folder.path, "edge-1");
    expect(leftName(folder.path)).toBe("edge-1");
    expect(readdirSync(folder.path)).toEqual(["left.json"]);
  });

  it("again, after a crash → the files are removed, and the first name stays", () => {
    forgetIdentity(folder.path, "edge-1");
    writeFileSync(inFolder("enrolment.json"), JSON.stringify(enrolment), { mode: 0o600 });
    forgetIdentity(folder.path, "edge-2");
    expect([leftName(folder.path), storedEnrolment(folder.path)]).toEqual(["edge-1", null]);
  });

  it("and enrols again → has not left", () => {
    forgetIdentity(folder.path, "edge-1");
    storeEnrolment(folder.path, enrolment);
    expect([leftName(folder.path), storedEnrolment(folder.path)]).toEqual([null, enrolment]);
  });

  it.each(["{", "{}", '{"name":7}', '{"name":"edge-1","more":1}'])(
    "a damaged file (%s) → has left, without a name",
    (text) => {
      writeFileSync(inFolder("left.json"), text, { mode: 0o600 });
      expect(leftName(folder.path)).toBe("this machine");
    },
  );
});

describe("the folder's lock", () => {
  const lock = () => inFolder("lock");

  it("free → taken, 0600; released → no file is left; a missing folder is made, 0700", () => {
    const path = inFolder("a/b");
    const { release } = lockFolder(path);
    expect(modeOf(path)).toBe(0o700);
    expect(modeOf(join(path, "lock"))).toBe(0o600);
    release();
    expect(readdirSync(path)).toEqual([]);
  });

  test.each([
    ["the service", "0::/system.slice/rollcall-node-shim.service\n", true],
    [
      "the service, cgroup v1",
      "3:cpu:/\n1:name=systemd:/system.slice/rollcall-node-shim.service\n0::/\n",
      true,
    ],
    ["a terminal", "0::/user.slice/user-1000.slice/session-3.scope\n", false],
    ["a cron job", "0::/system.slice/cron.service\n", false],
    ["another unit of such a name", "0::/system.slice/not-rollcall-node-shim.service\n", false],
    ["a group below the service", "0::/system.slice/rollcall-node-shim.service/below\n", false],
    ["a process that has ended", "", false],
  ])("held by %s → systemctl stop is the advice, or not", (_, cgroups, isNamed) => {
    expect(isOfService(cgroups)).toBe(isNamed);
  });

  it("twice in one process → refused", () => {
    const { release } = lockFolder(folder.path);
    expect(() => lockFolder(folder.path)).toThrow(`in use by process ${process.pid}`);
    release();
  });

  test.each([
    ["a pid that another process has now", `${process.pid} 1`],
    ["a pid without a process", "4194305 77"],
    ["no pid (a power cut)", ""],
    ["something else", "held"],
    ["the pid of a whole group", "-1 1"],
  ])("the lock names %s → taken over", (_situation, text) => {
    writeFileSync(lock(), text);
    const { release } = lockFolder(folder.path);
    expect(readFileSync(lock(), "utf8")).toMatch(new RegExp(`^${process.pid} \\d+$`));
    expect(readdirSync(folder.path)).toEqual(["lock"]);
    release();
  });

  it("released twice → the lock that was taken in between stays", () => {
    const first = lockFolder(folder.path);
    first.release();
    const second = lockFolder(folder.path);
    first.release();
    expect(existsSync(lock())).toBe(true);
    second.release();
  });

  it("another process has taken it over → release does not remove it", () => {
    const { release } = lockFolder(folder.path);
    rmSync(lock());
    writeFileSync(lock(), "1 1");
    release();
    expect(existsSync(lock())).toBe(true);
  });

  it("a missing folder with missing parents → made, for its owner alone", () => {
    lockFolder(inFolder("a/b/c")).release();
    expect(statSync(inFolder("a/b/c")).mode & 0o777).toBe(0o700);
  });

  it.each([
    ["under a file", () => inFolder("file/state"), "ENOTDIR"],
    ["where the kernel allows no folder", () => "/proc/nowhere/state", "ENOENT"],
  ])("a folder that cannot be made: %s → one line that says what to do", (_, path, code) => {
    writeFileSync(inFolder("file"), "");
    expect(() => lockFolder(path())).toThrow(
      expect.objectContaining({
        message: `${path()} cannot be used (${code}): pass another --state, or run as a user who may write there`,
        cause: expect.objectContaining({ code }) as Error,
      }),
    );
  });
});
