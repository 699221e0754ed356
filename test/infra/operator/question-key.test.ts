// Tests rollcall operators key: the file, its public line, and files that are no key.
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { parseOperatorKeys } from "../../../shared/protocol/question-proof.ts";
import { play } from "./played.ts";

const folder = mkdtempSync(join(tmpdir(), "rollcall-key-"));
afterAll(() => rmSync(folder, { recursive: true }));
const key = (file: string, ...more: string[]) => play(["operators", "key", join(folder, file), ...more]);

let changed = 0;

describe("rollcall operators key", () => {
  it("→ a file that only its owner can read, and the public line", async () => {
    const { code, stdout } = await key("own/key", "--comment", "alice at home");
    const path = join(folder, "own/key");
    expect([code, statSync(path).mode & 0o777]).toEqual([0, 0o600]);
    expect(parseOperatorKeys(stdout)).toMatchObject({ value: [{ comment: "alice at home" }] });
    const { rollcallOperatorKey } = JSON.parse(readFileSync(path, "utf8")) as {
      rollcallOperatorKey: { x: string; d: string };
    };
    expect(stdout).toContain(rollcallOperatorKey.x);
    expect(stdout).not.toContain(rollcallOperatorKey.d);
  });

  it("again → the same line, and the file is unchanged", async () => {
    const first = await key("twice");
    const before = readFileSync(join(folder, "twice"), "utf8");
    expect((await key("twice", "--comment", "another")).stdout).toBe(first.stdout);
    expect(readFileSync(join(folder, "twice"), "utf8")).toBe(before);
  });

  it.each<[string, (path: string) => void, string]>([
    ["that others can read", (path) => chmodSync(path, 0o640), "chmod 600"],
    ["with another content", (path) => writeFileSync(path, "{}"), "is no key"],
    [
      "with another key",
      (path) => writeFileSync(path, '{"rollcallOperatorKey":{"kty":"RSA"},"comment":""}'),
      "is no key",
    ],
  ])("a file %s → refused", async (_, change, fault) => {
    const name = `changed-${++changed}`;
    await key(name);
    change(join(folder, name));
    const { code, stdout, stderr } = await key(name);
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toContain(fault);
  });

  it.each(["a".repeat(129), "two\nlines"])("the comment %j → refused, and no file", async (comment) => {
    const { code } = await key("refused", "--comment", comment);
    expect(code).toBe(1);
    expect(() => statSync(join(folder, "refused"))).toThrow("ENOENT");
  });
});
