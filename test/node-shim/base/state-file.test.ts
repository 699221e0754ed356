// Tests a state folder to which another user had access. The shim reads no file of that user, writes to no place
// that the user chose, and prints the reason. As root, the tests make other users' folders and files.
import {
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, test, vi } from "vitest";
import { readRecord } from "../../../node-shim/sources/devices/manager.ts";
import { writeRecord } from "../sources/devices/plugin.ts";
import {
  loadEnrolment,
  loadKey,
  loadNextKey,
  loadOrMakeKey,
  makeMachineKey,
  makeNextKey,
  storedEnrolment,
  storeEnrolment,
} from "../../../node-shim/identity/identity.ts";
import { replacedFile, whenAnswering } from "../../../node-shim/base/state-file.ts";
import { lockFolder } from "../../../node-shim/identity/lock.ts";
import { commandLine } from "../cli/command-line.ts";
import { temporaryFolder } from "./temporary-folder.ts";
import { heldTimers } from "./timers.ts";

const isRoot = process.geteuid?.() === 0;
const EVE = 4711;
const ENROLMENT = { name: "edge-1", thumbprint: "T1", kid: "k" };

let folder: { path: string; remove: () => void };
beforeEach(() => {
  folder = temporaryFolder();
  mkdirSync(state(), { mode: 0o700 });
});
afterEach(() => folder.remove());
const state = () => join(folder.path, "state");
const inState = (name: string) => join(state(), name);

/** The functions of the shim that use the state folder. */
const uses: [what: string, use: () => unknown][] = [
  ["take its lock", () => lockFolder(state()).release()],
  ["load the key", () => loadKey(state())],
  ["make a key", () => loadOrMakeKey(state())],
  ["load the enrolment", () => storedEnrolment(state())],
  ["store an enrolment", () => storeEnrolment(state(), ENROLMENT)],
  ["load the next key", () => loadNextKey(state())],
  ["make a next key", () => makeNextKey(state())],
  ["read the devices' record", () => readRecord(state(), () => undefined)],
  ["write the devices' record", () => writeRecord(state(), { registered: [], removed: [] })],
];

/** Returns the message of the error that `use` throws or rejects with. */
async function faultOf(use: () => unknown): Promise<string> {
  try {
    await use();
  } catch (error) {
    return (error as Error).message;
  }
  return "";
}

/** Writes a key and an enrolment that another user knows. */
async function plantIdentity(): Promise<void> {
  const { jwk, thumbprint } = await makeMachineKey();
  const enrolment = { ...ENROLMENT, thumbprint, origin: "https://eve.example" };
  writeFileSync(inState("key.json"), JSON.stringify(jwk), { mode: 0o600 });
  writeFileSync(inState("enrolment.json"), JSON.stringify(enrolment), { mode: 0o600 });
}

describe("a folder that another user could have filled", () => {
  const situations: [situation: string, make: () => void, fault: RegExp][] = [
    [
      "others can write it",
      () => chmodSync(state(), 0o702),
      /state can be written by others \(mode 702\): chmod go-w/,
    ],
    [
      "others can write the one above",
      () => chmodSync(folder.path, 0o757),
      /can be written by others \(mode 757\): chmod go-w/,
    ],
  ];
  const ofOthers: typeof situations = [
    ["another user's", () => chownSync(state(), EVE, EVE), /state belongs to user 4711: chown it to root/],
    ["in another user's", () => chownSync(folder.path, EVE, EVE), /belongs to user 4711, who can replace/],
  ];

  const refuses = async (make: () => void, fault: RegExp) => {
    await plantIdentity();
    make();
    for (const [what, use] of uses) {
      const said = await faultOf(use);
      expect(said, what).toMatch(/^--state \S+ is not trusted: \S+ .*, or pass another --state$/);
      expect(said, what).toMatch(fault);
    }
    expect(readdirSync(state())).toEqual(["enrolment.json", "key.json"]);
  };
  test.each(situations)("%s → nothing is read, made or written", (_, make, fault) => refuses(make, fault));
  test.runIf(isRoot).each(ofOthers)(
    "%s → nothing is read, made or written (only as root)",
    (_, make, fault) => refuses(make, fault),
  );

  it("below a folder that others can write → no folder is made there", () => {
    chmodSync(state(), 0o777);
    expect(() => lockFolder(inState("a/b"))).toThrow(/state can be written by others/);
    expect(readdirSync(state())).toEqual([]);
  });

  test.each([
    ["run", ["run", "--url", "http://127.0.0.1:1", "--container-runtime-endpoint", ""]],
    ["run, at the Worker that the folder names", ["run", "--container-runtime-endpoint", ""]],
    ["join", ["join", "--url", "http://127.0.0.1:1"]],
    ["rotate", ["rotate"]],
    ["leave", ["leave"]],
    ["install-service", ["install-service"]],
  ])("node-shim %s → one line with the reason, exit code 1", async (_, args) => {
    await plantIdentity();
    chmodSync(state(), 0o777);
    expect(await commandLine([...args, "--state", state(), "--hostname-override", "edge-1"])).toEqual({
      code: 1,
      stdout: "",
      stderr: `node-shim: --state ${state()} is not trusted: ${state()} can be written by others (mode 777): chmod go-w, or pass another --state\n`,
    });
  });

  it("corrected → continues with its former state", async () => {
    await plantIdentity();
    chmodSync(state(), 0o777);
    await expect(loadKey(state())).rejects.toThrow("chmod go-w");
    chmodSync(state(), 0o755);
    const key = await loadKey(state());
    expect(loadEnrolment(state(), { name: "edge-1", thumbprint: key!.thumbprint })).not.toBeNull();
  });
});

describe("files that were planted before the folder was corrected", () => {
  const victim = () => join(folder.path, "victim");
  beforeEach(() => writeFileSync(victim(), "theirs", { mode: 0o600 }));

  const READ = [
    ["key.json", () => loadOrMakeKey(state())],
    ["enrolment.json", () => storedEnrolment(state())],
    ["next.json", () => loadNextKey(state())],
    ["devices.json", () => readRecord(state(), () => undefined)],
    ["lock", () => lockFolder(state())],
  ] as const;
  test.each(READ)("a link for %s → refused, not followed", async (file, use) => {
    symlinkSync(victim(), inState(file));
    expect(await faultOf(use)).toBe(
      `--state ${state()} is not trusted: ${inState(file)} is not a file (links are not followed): remove it, or pass another --state`,
    );
    expect(readFileSync(victim(), "utf8")).toBe("theirs");
  });

  test.each(READ)("others can write %s → refused", async (file, use) => {
    writeFileSync(inState(file), "{}");
    chmodSync(inState(file), 0o602);
    expect(await faultOf(use)).toMatch(
      `${inState(file)} can be written by others (mode 602): chmod go-w, or`,
    );
  });

  test.runIf(isRoot).each(READ)("%s of another user → refused (only as root)", async (file, use) => {
    writeFileSync(inState(file), "{}", { mode: 0o600 });
    chownSync(inState(file), EVE, EVE);
    expect(await faultOf(use)).toMatch(`${inState(file)} belongs to user ${EVE}: chown it to root, or`);
  });

  test.each<[string, () => unknown, string]>([
    ["key.json.new", () => loadOrMakeKey(state()), "key.json"],
    ["enrolment.json.new", () => storeEnrolment(state(), ENROLMENT), "enrolment.json"],
    ["next.json.new", () => makeNextKey(state()), "next.json"],
    ["devices.json.new", () => writeRecord(state(), { registered: [], removed: [] }), "devices.json"],
    [`lock.${process.pid}`, () => lockFolder(state()), "lock"],
  ])("a link for %s → replaced, and its target is unchanged", async (file, use, made) => {
    symlinkSync(victim(), inState(file));
    await use();
    expect(readFileSync(victim(), "utf8")).toBe("theirs");
    expect(existsSync(inState(file))).toBe(false);
    expect(lstatSync(inState(made)).isFile()).toBe(true);
    expect(lstatSync(inState(made)).mode & 0o777).toBe(0o600);
  });

  test.runIf(isRoot)(
    "another user's open file as key.json.new → does not get the key (only as root)",
    async () => {
      writeFileSync(inState("key.json.new"), "", { mode: 0o666 });
      chownSync(inState("key.json.new"), EVE, EVE);
      const { ino } = lstatSync(inState("key.json.new"));
      // The link keeps the file reachable, as if the other user had it open or under another name.
      linkSync(inState("key.json.new"), join(folder.path, "kept"));
      await loadOrMakeKey(state());
      expect(readFileSync(join(folder.path, "kept"), "utf8")).toBe("");
      expect(lstatSync(inState("key.json"))).toMatchObject({ uid: 0 });
      expect(lstatSync(inState("key.json")).ino).not.toBe(ino);
    },
  );
});

describe("a folder that an earlier version left → is used", () => {
  test.each([0o700, 0o750, 0o755])(
    "of mode %o, with the lock and the half-written file of a crash",
    async (mode) => {
      await plantIdentity();
      writeFileSync(inState("lock"), "4194305 77", { mode: 0o600 });
      writeFileSync(inState("key.json.new"), "{", { mode: 0o600 });
      chmodSync(state(), mode);
      const { release } = lockFolder(state());
      const key = await loadOrMakeKey(state());
      expect(loadEnrolment(state(), { name: "edge-1", thumbprint: key.thumbprint })).not.toBeNull();
      storeEnrolment(state(), { ...ENROLMENT, thumbprint: key.thumbprint });
      release();
    },
  );

  it("through a link of its own user to another disk", async () => {
    await plantIdentity();
    const link = join(folder.path, "link");
    symlinkSync("state", link);
    lockFolder(link).release();
    expect(await loadKey(link)).not.toBeNull();
  });
});

describe("a state folder's file system", () => {
  it.each([
    ["answers", () => writeFileSync(inState("key.json"), "{}")],
    ["has no key", () => undefined],
  ])("%s → no line, and no wait", async (_, prepare) => {
    const pass = heldTimers();
    prepare();
    const lines: string[] = [];
    await whenAnswering(state(), (line) => lines.push(line));
    pass(60_000);
    expect(lines).toEqual([]);
  });

  it("hangs → one line after three seconds; answers → the command begins", async () => {
    const pass = heldTimers();
    const lines: string[] = [];
    const { promise, resolve } = Promise.withResolvers<void>();
    const began = whenAnswering(
      "/nfs",
      (line) => lines.push(line),
      () => promise,
    );
    pass(2999);
    expect(lines).toEqual([]);
    pass(60_000);
    expect(lines).toEqual(["/nfs has not answered for 3 s: node-shim waits for the machine's key there"]);
    resolve();
    await began;
  });
});

it("a replaced file whose write hangs → a fault in two seconds, and at once of the next; it returns → written", async () => {
  heldTimers();
  const { promise, resolve } = Promise.withResolvers<null>();
  const path = join(folder.path, "devices.json");
  const file = replacedFile(path, { mode: 0o600, giveUpMs: 2000 }, () => promise);
  const outcomes: (string | null)[] = [];
  const write = async () => void outcomes.push(await file.write("{}"));
  const fault = `${path} cannot be written within 2 s`;
  void write();
  await vi.advanceTimersByTimeAsync(1999);
  expect(outcomes).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect(outcomes).toEqual([fault]);
  await write();
  expect(outcomes).toEqual([fault, fault]);
  resolve(null);
  await vi.advanceTimersByTimeAsync(0);
  await write();
  expect(outcomes).toEqual([fault, fault, null]);
});
