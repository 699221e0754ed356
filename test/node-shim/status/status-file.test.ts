// Tests which status file is used, and whether its shim still runs.
import { chmodSync, mkdirSync, renameSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, test } from "vitest";
import {
  MAX_STATUS_BYTES,
  readLastingStatus,
  readStatus,
  sparePath,
  type StatusFile,
  statusPath,
  type StatusReader,
} from "../../../node-shim/status/status-file.ts";
import { temporaryFolder } from "../base/temporary-folder.ts";
import { at, WELL } from "./status.ts";

let folder: { path: string; remove: () => void };
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(() => folder.remove());
const state = () => join(folder.path, "state");
const service = () => join(folder.path, "run/rollcall-node-shim");
const reader = (changes: Partial<StatusReader> = {}): StatusReader => ({
  root: folder.path,
  environment: {},
  isAlive: (process) => process === "4711 88",
  bootID: "boot-1",
  ...changes,
});
function put(where: string, changes: Partial<StatusFile> = {}): string {
  mkdirSync(where, { recursive: true });
  const path = join(where, "status.json");
  writeFileSync(path, JSON.stringify({ ...WELL, state: state(), ...changes }));
  return path;
}
const read = (changes?: Partial<StatusReader>) => readStatus(state(), reader(changes));

describe("its path", () => {
  test.each([
    ["under systemd: its runtime folder", { RUNTIME_DIRECTORY: "/run/x" }, "/run/x/status.json"],
    ["the first of several", { RUNTIME_DIRECTORY: "/run/x:/run/y" }, "/run/x/status.json"],
    ["elsewhere: the state folder", {}, "/var/lib/rollcall/status.json"],
    ["an empty variable is none", { RUNTIME_DIRECTORY: "" }, "/var/lib/rollcall/status.json"],
  ])("%s", (_situation, environment, path) => {
    expect(statusPath("/var/lib/rollcall", environment)).toBe(path);
  });

  it("the service's, the state folder's, or that of another init system's folder → found", () => {
    expect(read()).toBeNull();
    put(state(), { name: "a" });
    expect(read()?.file.name).toBe("a");
    put(service(), { name: "b", startedAt: at(-10) });
    expect(read()?.file.name).toBe("b");
    const other = join(folder.path, "other");
    put(other, { name: "c", startedAt: at(-5) });
    expect(read({ environment: { RUNTIME_DIRECTORY: other } })?.file.name).toBe("c");
  });

  it("of another state folder's shim → not this one's", () => {
    put(service(), { state: "/elsewhere" });
    expect(read()).toBeNull();
  });

  it("one shim has written two files → the newer one", () => {
    const spare = sparePath(state(), folder.path);
    const inState = put(state(), { thumbprint: "in state" });
    put(service());
    renameSync(join(service(), "status.json"), spare);
    utimesSync(inState, 100, 100);
    utimesSync(spare, 200, 200);
    expect(read()).toMatchObject({ file: { thumbprint: WELL.thumbprint }, isInState: false });
    utimesSync(inState, 300, 300);
    expect(read()).toMatchObject({ file: { thumbprint: "in state" }, isInState: true });
  });

  it("one runs, another was started later and has ended → the running one", () => {
    put(service(), { name: "gone", process: "1 1", startedAt: at(0) });
    put(state(), { name: "runs" });
    expect(read()).toMatchObject({ file: { name: "runs" }, isRunning: true });
  });
});

describe("does its shim run?", () => {
  test.each<[situation: string, changes: Partial<StatusFile>, isRunning: boolean]>([
    ["its process lives", {}, true],
    ["its process has ended", { process: "4711 89" }, false],
    ["a process of the boot before", { bootID: "boot-0" }, false],
    ["it has written that it ends", { ended: { at: at(0), fault: "x" } }, false],
  ])("%s → %s", (_situation, changes, isRunning) => {
    put(state(), changes);
    expect(read()?.isRunning).toBe(isRunning);
  });
});

describe("of a later shim, whose status has another format", () => {
  const later = { version: 2, transport: { via: "pigeon" }, runtime: ["containerd"], shim: "9.0.0" };
  const putLater = () => put(service(), later as unknown as Partial<StatusFile>);

  it("→ not a status of this version", () => {
    putLater();
    expect(read()).toBeNull();
  });

  it("→ the running version, and whether it was answered, can still be read", () => {
    putLater();
    expect(readLastingStatus(state(), reader())).toMatchObject({
      isRunning: true,
      file: { shim: "9.0.0", answer: { at: at(-3) } },
    });
  });
});

describe("no valid status → as if there were none", () => {
  test.each([
    ["half a file", (path: string) => writeFileSync(path, '{"version":1')],
    ["of another version", (path: string) => writeFileSync(path, JSON.stringify({ ...WELL, version: 2 }))],
    ["writable for everybody", (path: string) => chmodSync(path, 0o666)],
  ])("%s", (_situation, spoil) => {
    spoil(put(state()));
    expect(read()).toBeNull();
  });

  it("a link → not followed", () => {
    mkdirSync(state());
    symlinkSync(put(join(folder.path, "else")), join(state(), "status.json"));
    expect(read()).toBeNull();
  });

  test.each([
    [MAX_STATUS_BYTES, true],
    [MAX_STATUS_BYTES + 1, false],
  ])("of %i bytes → read: %s", (bytes, isRead) => {
    const path = put(state());
    const text = JSON.stringify({ ...WELL, state: state() });
    writeFileSync(path, text.padEnd(bytes));
    expect(read() !== null).toBe(isRead);
  });
});
