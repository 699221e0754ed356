// Tests which join token the shim reads, the token's form, and its stamp: which tokens have one, and which binding
// contains it.
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { decodeProtectedHeader } from "jose";
import { afterEach, beforeEach, describe, expect, it, test } from "vitest";
import { makeMachineKey } from "../../../node-shim/identity/identity.ts";
import { joinTokenFault, joinTokenKey, readJoinToken } from "../../../node-shim/identity/join-token.ts";
import { signEnrolment } from "../../../node-shim/worker-link/sign.ts";
import { inventedToken, withoutStamp } from "../../worker/support/invented-tokens.ts";
import { temporaryFolder } from "../base/temporary-folder.ts";

const SEED = Buffer.from(Array.from({ length: 32 }, (_, at) => at));
const STAMPED = inventedToken(SEED);
/** Computed with sha256sum and base64 from the first 23 bytes of SEED, and from its last 9 bytes. */
const STAMP = "9qlUpoVVGH2IzZoCaUDRFxgZGhscHR4f";

describe("the token that is read", () => {
  let folder: { path: string; remove: () => void };
  beforeEach(() => {
    folder = temporaryFolder();
  });
  afterEach(() => folder.remove());
  const file = () => join(folder.path, "token");
  const OTHER = { ROLLCALL_JOIN_TOKEN: "of the environment" };

  /** Reads a token, with these chunks on standard input. Returns also the warnings. */
  async function read(from: string | undefined, environment: NodeJS.ProcessEnv, ...chunks: string[]) {
    const warned: unknown[] = [];
    async function* stdin() {
      for (const chunk of chunks) yield Promise.resolve(chunk);
    }
    const text = await readJoinToken(from, (message) => warned.push(message), environment, stdin());
    return { text, warned };
  }

  test.each<[situation: string, content: string, expected: string]>([
    ["a line", `${STAMPED}\n`, STAMPED],
    ["blanks around", ` ${STAMPED} \r\n`, STAMPED],
    ["4,096 bytes", STAMPED.padEnd(4096), STAMPED],
    ["more than 4,096 bytes: the first of them", "x".repeat(5000), "x".repeat(4096)],
  ])("of a file, not of the environment: %s", async (_, content, expected) => {
    writeFileSync(file(), content, { mode: 0o600 });
    expect(await read(file(), OTHER)).toEqual({ text: expected, warned: [] });
  });

  test.each<[situation: string, chunks: string[], expected: string | RegExp]>([
    ["in two parts", [STAMPED.slice(0, 7), `${STAMPED.slice(7)}\n`], STAMPED],
    ["4,096 characters", [STAMPED, "".padEnd(4096 - STAMPED.length)], STAMPED],
    ["a character more: no token", [STAMPED, "".padEnd(4096 - STAMPED.length), "x"], / x$/],
    ["without end: its beginning", Array.from({ length: 100 }, () => "x".repeat(2000)), /^x{6000}$/],
  ])("of standard input, for -: %s", async (_, chunks, expected) => {
    const { text } = await read("-", OTHER, ...chunks);
    expect(text).toMatch(expected);
  });

  it("of the environment, without a file", async () => {
    expect(await read(undefined, { ROLLCALL_JOIN_TOKEN: ` ${STAMPED}\n` })).toMatchObject({ text: STAMPED });
  });

  it.each<[situation: string, environment: NodeJS.ProcessEnv]>([
    ["no variable", {}],
    ["an empty variable", { ROLLCALL_JOIN_TOKEN: "" }],
    ["a variable of blanks", { ROLLCALL_JOIN_TOKEN: " \n" }],
  ])(
    "neither a file nor a token in the environment: %s → the two ways to pass one",
    async (_, environment) => {
      await expect(read(undefined, environment)).rejects.toThrow(
        /^this machine is not enrolled yet: get a join token .* pass --join-token-file or set ROLLCALL_JOIN_TOKEN$/,
      );
    },
  );

  it("an empty file, or nothing on standard input → named", async () => {
    writeFileSync(file(), "\n", { mode: 0o600 });
    await expect(read(file(), OTHER)).rejects.toThrow(
      `--join-token-file ${file()} is empty: put the join token there`,
    );
    await expect(read("-", OTHER)).rejects.toThrow("--join-token-file - is empty");
  });

  it.each([
    ["missing", () => undefined, "ENOENT"],
    ["a folder", () => mkdirSync(file()), "EISDIR"],
  ])("a file that is %s → what to do, with the cause", async (_, make, code) => {
    make();
    await expect(read(file(), OTHER)).rejects.toMatchObject({
      message: `--join-token-file ${file()} cannot be read (${code}): put the token there, or set ROLLCALL_JOIN_TOKEN`,
      cause: { code },
    });
  });

  it.each<[situation: string, warnings: number, content: string, mode: number]>([
    ["with a token, for its owner alone", 0, STAMPED, 0o600],
    ["with a token, readable by all", 1, STAMPED, 0o644],
    ["without a token, readable by all", 0, "to be filled in", 0o644],
  ])("a file %s → warnings: %i", async (_, warnings, content, mode) => {
    writeFileSync(file(), content);
    chmodSync(file(), mode);
    expect((await read(file(), {})).warned).toHaveLength(warnings);
  });
});

describe("the form of a token", () => {
  const FAULT = "this is not a join token: it must read rcj1_ and 43 more characters";
  it.each([
    ["a token", STAMPED, null],
    ["a token between blanks", ` ${STAMPED}\n`, null],
    ["a character before", `x${STAMPED}`, FAULT],
    ["a character more", `${STAMPED}x`, FAULT],
    ["a character less", STAMPED.slice(0, -1), FAULT],
    ["a character outside base64url", `${STAMPED.slice(0, -1)}+`, FAULT],
    ["nothing", "", FAULT],
  ])("%s", async (_, text, fault) => {
    expect(joinTokenFault(text)).toBe(fault);
    if (fault === null) expect((await joinTokenKey(text)).stamp).toBe(STAMP);
    else await expect(joinTokenKey(text)).rejects.toThrow(fault);
  });
});

describe("the stamp of a token", () => {
  it.each<[string, string, string | undefined]>([
    ["with the mark", STAMPED, STAMP],
    ["without the mark, as an earlier Worker has minted it", withoutStamp(STAMPED), undefined],
  ])("%s → %#", async (_, token, stamp) => {
    expect((await joinTokenKey(token)).stamp).toBe(stamp);
    const asking = { name: "edge-1", origin: "https://a.test", path: "/p", challenge: "" };
    const ids = { machineID: "m", systemUUID: "s" };
    const { binding } = await signEnrolment(await makeMachineKey(), token, { ...asking, ...ids });
    const { id } = await joinTokenKey(token);
    const header = { alg: "EdDSA", typ: "rollcall-join+jwt", kid: id };
    expect(decodeProtectedHeader(binding)).toEqual(stamp === undefined ? header : { ...header, stamp });
  });

  it("→ the key and the ID do not depend on the mark", async () => {
    expect((await joinTokenKey(STAMPED)).id).toBe((await joinTokenKey(withoutStamp(STAMPED))).id);
  });
});
