// Tests the file that hands a version from the unit that asks to the unit that installs.
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, test } from "vitest";
import { putVersion, takeVersion } from "../../../node-shim/commands/version-file.ts";
import { ROLLOUT_LIMITS } from "../../../shared/protocol/limits.ts";
import { temporaryFolder } from "../base/temporary-folder.ts";

const isRoot = process.geteuid?.() === 0;
const EVE = 4711;

let folder: { path: string; remove: () => void };
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(() => folder.remove());
const file = () => join(folder.path, "version");

test.each(["0.2.0", "0.2.0-rc.1"])("%s → written as a Debian version, and taken once", (version) => {
  putVersion(file(), version);
  expect(readFileSync(file(), "utf8")).toBe(`${version.replace("-", "~")}\n`);
  expect(takeVersion(file())).toBe(version);
  expect(readdirSync(folder.path)).toEqual([]);
  expect(() => takeVersion(file())).toThrow(
    `not upgraded: ${file()} cannot be used (ENOENT): systemctl start rollcall-node-shim-upgrade makes it`,
  );
});

it("an answer without a version → the file of an earlier answer is removed", () => {
  putVersion(file(), "0.2.0");
  putVersion(file(), null);
  putVersion(file(), null);
  expect(readdirSync(folder.path)).toEqual([]);
});

test.each(["newest", "0.2.0 --allow-unauthenticated", "0.2.0\n0.3.0", "1:0.2.0"])(
  "%j is not a version → not written",
  (version) => {
    expect(() => putVersion(file(), version)).toThrow(/^not upgraded: ".*" is not a version of a package$/);
    expect(readdirSync(folder.path)).toEqual([]);
  },
);

describe("a file with other content → refused, and removed", () => {
  const LONGEST = `0.2.0~${"a".repeat(ROLLOUT_LIMITS.versionLength - 6)}`;
  test.each<[situation: string, text: string]>([
    ["empty", ""],
    ["no line break", "0.2.0"],
    ["two lines", "0.2.0\n0.3.0\n"],
    ["options of apt-get", "0.2.0 -o APT::Get::AllowUnauthenticated=1\n"],
    ["another package", "0.2.0 rollcall-cli\n"],
    ["a version of npm", "0.2.0-rc.1\n"],
    ["one character too many", `${LONGEST}a\n`],
    ["very long", `${"0".repeat(1_000_000)}\n`],
  ])("%s", (_situation, text) => {
    writeFileSync(file(), text);
    expect(() => takeVersion(file())).toThrow(`not upgraded: ${file()} has no version of a package`);
    expect(existsSync(file())).toBe(false);
  });

  it("as long as a version may be → taken", () => {
    writeFileSync(file(), `${LONGEST}\n`);
    expect(takeVersion(file())).toBe(LONGEST.replace("~", "-"));
  });
});

describe("a file that another user can have put there → refused, and nothing is read", () => {
  const refused = (fault: string) => {
    expect(() => takeVersion(file())).toThrow(fault.replaceAll("FOLDER", folder.path));
  };

  it("others may write to it", () => {
    writeFileSync(file(), "9.0.0\n");
    chmodSync(file(), 0o646);
    refused("not upgraded: FOLDER/version can be written by others (mode 646)");
  });

  it("others may write to the folder", () => {
    writeFileSync(file(), "9.0.0\n");
    chmodSync(folder.path, 0o777);
    refused("not upgraded: FOLDER/version is not trusted: FOLDER can be written by others (mode 777)");
    expect(() => putVersion(file(), "9.0.0")).toThrow(/is not trusted/);
  });

  it("a link, or a folder", () => {
    writeFileSync(join(folder.path, "other"), "9.0.0\n");
    symlinkSync("other", file());
    refused("not upgraded: FOLDER/version cannot be used (ELOOP)");
    mkdirSync(join(folder.path, "folder"));
    expect(() => takeVersion(join(folder.path, "folder"))).toThrow(/folder is not a file/);
  });

  it.runIf(isRoot)("another user's (only as root)", () => {
    writeFileSync(file(), "9.0.0\n");
    chownSync(file(), EVE, EVE);
    refused(`not upgraded: FOLDER/version belongs to user ${EVE}: chown it to root`);
  });
});
