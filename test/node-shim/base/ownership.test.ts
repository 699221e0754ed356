// Tests which owners and modes of a file, a folder and its parents are trusted. As root, the tests make files of
// other users.
import {
  chmodSync,
  chownSync,
  closeSync,
  lchownSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, test } from "vitest";
import {
  folderFault,
  openTrusted,
  ownershipFault,
  withTrustedFile,
} from "../../../node-shim/base/ownership.ts";
import { success } from "../../../shared/result.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const own = process.geteuid?.() ?? 0;
const isRoot = own === 0;
const OTHER = 4711;

test.each([
  [{ uid: 0, mode: 0o100755 }, 1000, null],
  [{ uid: 1000, mode: 0o100700 }, 1000, null],
  [{ uid: 1001, mode: 0o100700 }, 1000, "belongs to user 1001: chown it to root"],
  [{ uid: 0, mode: 0o100775 }, 0, "can be written by others (mode 775): chmod go-w"],
  [{ uid: 0, mode: 0o100757 }, 0, "can be written by others (mode 757): chmod go-w"],
])("%o, checked by user %i → %o", (stat, uid, fault) => {
  expect(ownershipFault(stat, uid)).toBe(fault);
});

describe("a folder and its parents", () => {
  let folder: { path: string; remove: () => void };
  beforeEach(() => {
    folder = temporaryFolder();
    mkdirSync(join(folder.path, "above/state"), { recursive: true, mode: 0o755 });
  });
  afterEach(() => folder.remove());
  const above = () => join(folder.path, "above");
  const state = () => join(above(), "state");
  const link = () => join(above(), "link");

  test.each<[situation: string, make: () => void]>([
    ["that its user alone can write", () => chmodSync(state(), 0o700)],
    ["that others can read", () => chmodSync(state(), 0o755)],
    ["in one where nobody moves what is another's (sticky)", () => chmodSync(above(), 0o1777)],
    ["over a link of its user's", () => symlinkSync("state", link())],
    ["over a link of its user's, absolute", () => symlinkSync(state(), link())],
    ["over a link of its user's, upwards", () => symlinkSync("../above/./state", link())],
  ])("%s → no fault", (_situation, make) => {
    make();
    expect(folderFault(state())).toBeNull();
    expect(folderFault(link())).toBeNull();
  });

  test.each<[situation: string, make: () => void, fault: string]>([
    [
      "that others can write",
      () => chmodSync(state(), 0o702),
      "above/state can be written by others (mode 702): chmod go-w",
    ],
    [
      "that a group can write",
      () => chmodSync(state(), 0o720),
      "above/state can be written by others (mode 720): chmod go-w",
    ],
    [
      "in one that others can write",
      () => chmodSync(above(), 0o757),
      "above can be written by others (mode 757): chmod go-w",
    ],
  ])("%s → the path, and what to do", (_situation, make, fault) => {
    make();
    symlinkSync("state", link());
    expect(folderFault(state())).toBe(join(folder.path, fault));
    expect(folderFault(link())).toBe(join(folder.path, fault));
  });

  describe.runIf(isRoot)("of several users (only as root)", () => {
    test.each<[situation: string, make: () => void, fault: string | null]>([
      [
        "another user's",
        () => chownSync(state(), OTHER, OTHER),
        `above/state belongs to user ${OTHER}: chown it to root`,
      ],
      [
        "in one of another user's",
        () => chownSync(above(), OTHER, OTHER),
        `above belongs to user ${OTHER}, who can replace what is in it: run as that user, or use another folder`,
      ],
      [
        "in a sticky one of another user's",
        () => {
          chownSync(above(), OTHER, OTHER);
          chmodSync(above(), 0o1755);
        },
        `above belongs to user ${OTHER}, who can replace what is in it: run as that user, or use another folder`,
      ],
      [
        "in one that a group of others can write",
        () => {
          chownSync(above(), 0, OTHER);
          chmodSync(above(), 0o775);
        },
        "above can be written by others (mode 775): chmod go-w",
      ],
      ["in one that its owner's own group can write", () => chmodSync(above(), 0o775), null],
    ])("%s → %s", (_situation, make, fault) => {
      make();
      expect(folderFault(state())).toBe(fault && join(folder.path, fault));
    });

    it("a folder of the user who owns the program → no fault; that user's own state → a fault", () => {
      chownSync(above(), OTHER, OTHER);
      chmodSync(above(), 0o775);
      expect(folderFault(state(), { own, program: OTHER })).toBeNull();
      chownSync(state(), OTHER, OTHER);
      expect(folderFault(state(), { own, program: OTHER })).toMatch(/state belongs to user 4711/);
    });

    it("through another user's link → the link's owner is the fault, even if its target is trusted", () => {
      chmodSync(above(), 0o1777);
      symlinkSync("state", link());
      lchownSync(link(), OTHER, OTHER);
      expect(folderFault(link())).toBe(`${link()} is a link of user ${OTHER}'s: remove it`);
      expect(folderFault(join(link(), "deeper"))).toBe(`${link()} is a link of user ${OTHER}'s: remove it`);
    });

    it("root's, and the user's own under root's → no fault for that user", () => {
      chmodSync(folder.path, 0o755);
      expect(folderFault(state(), { own: OTHER, program: 0 })).toBeNull();
      chownSync(state(), OTHER, OTHER);
      expect(folderFault(state(), { own: OTHER, program: 0 })).toBeNull();
    });
  });

  it("a path that does not exist yet, or is below a file → its existing part is checked", () => {
    expect(folderFault(join(state(), "a/b"))).toBeNull();
    chmodSync(state(), 0o702);
    expect(folderFault(join(state(), "a/b"))).toMatch(/above\/state can be written by others/);
  });

  it("through as many links as the system follows → checked; through one more → the use fails", () => {
    chmodSync(state(), 0o702);
    let end = state();
    for (let links = 1; links <= 41; links++) {
      const next = join(above(), `link-${links}`);
      symlinkSync(end, next);
      end = next;
    }
    expect(statSync(join(above(), "link-40")).isDirectory()).toBe(true);
    expect(folderFault(join(above(), "link-40"))).toMatch(/can be written by others/);
    expect(() => statSync(end)).toThrow("ELOOP");
    expect(folderFault(end)).toBeNull();
  });
});

test("a file is swapped for a link after it was opened → the opened file is read", () => {
  const folder = temporaryFolder();
  const [own, other] = [join(folder.path, "own"), join(folder.path, "other")];
  writeFileSync(own, "checked");
  writeFileSync(other, "swapped");
  const read = withTrustedFile(own, (descriptor) => {
    renameSync(own, join(folder.path, "aside"));
    symlinkSync(other, own);
    return readFileSync(descriptor, "utf8");
  });
  expect([read, readFileSync(own, "utf8")]).toEqual([success("checked"), "swapped"]);
  folder.remove();
});

test("a descriptor of the caller's, as in --config <(…) → read", () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder.path, "file"), "piped");
  chmodSync(folder.path, 0o777);
  const descriptor = openSync(join(folder.path, "file"), "r");
  expect(withTrustedFile(`/dev/fd/${descriptor}`, (given) => readFileSync(given, "utf8"))).toEqual(
    success("piped"),
  );
  closeSync(descriptor);
  folder.remove();
});

test("a path that is used many times → no descriptor is left open", () => {
  const folder = temporaryFolder();
  symlinkSync(folder.path, join(folder.path, "link"));
  const count = () => readdirSync("/proc/self/fd").length;
  const before = count();
  for (let time = 0; time < 20; time++) {
    const opened = openTrusted(join(folder.path, "link"), "folder");
    if (opened.ok) opened.value.close();
    expect(() => openTrusted(join(folder.path, "none"), "folder")).toThrow("ENOENT");
    expect(folderFault(join(folder.path, "a/b"))).toBeNull();
  }
  expect(count()).toBe(before);
  folder.remove();
});
