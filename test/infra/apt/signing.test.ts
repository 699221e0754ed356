// Tests which keys can sign the repository, and the errors for other keys.
import { generateKey } from "openpgp";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { inlineSigned, keyText, publicKeyOf, signingKey } from "../../../infra/apt/signing.ts";

const DATE = new Date("2026-01-01T00:00:00Z");
const userIDs = [{ name: "x" }];
/** The passphrase is hashed over only 1,024 bytes, since a test's key needs no protection. */
const config = { s2kIterationCountByte: 0 };

describe("the signing key", () => {
  it("with a passphrase → opened with it", async () => {
    const { privateKey: armored } = await generateKey({ userIDs, passphrase: "correct", config });
    expect((await signingKey({ armored, passphrase: "correct" }, DATE)).isDecrypted()).toBe(true);
    await expect(signingKey({ armored, passphrase: "wrong" }, DATE)).rejects.toThrow(
      "is not the signing key's",
    );
    await expect(signingKey({ armored }, DATE)).rejects.toThrow("set ROLLCALL_APT_KEY_PASSPHRASE");
  });

  it("a public key, or no key → says what it has to be", async () => {
    const { publicKey } = await generateKey({ userIDs });
    for (const armored of [publicKey, "key"])
      await expect(signingKey({ armored }, DATE)).rejects.toThrow("--export-secret-keys");
  });

  it("expired when it would sign → refused", async () => {
    const made = new Date("2025-01-01T00:00:00Z");
    const { privateKey: armored } = await generateKey({ userIDs, date: made, keyExpirationTime: 3600 });
    await expect(signingKey({ armored }, DATE)).rejects.toThrow("cannot sign");
  });

  it("made after the date → signs as of its own, the same bytes each time", async () => {
    const { privateKey: armored } = await generateKey({ userIDs, date: new Date("2026-06-01T00:00:00Z") });
    const key = await signingKey({ armored }, DATE);
    const signed = await inlineSigned("Suite: stable\n", key, DATE);
    expect(signed).toContain("Suite: stable\n");
    expect(await inlineSigned("Suite: stable\n", key, DATE)).toBe(signed);
    expect(publicKeyOf(key)).toContain("BEGIN PGP PUBLIC KEY BLOCK");
  });
});

describe("where the key is", () => {
  const folder = mkdtempSync(join(tmpdir(), "rollcall-key-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "key.asc");
  writeFileSync(file, "of the file");
  const variable = { ROLLCALL_APT_KEY: "of the variable" };

  it.each([
    ["nowhere", undefined, {}, undefined],
    ["an empty variable", undefined, { ROLLCALL_APT_KEY: "" }, undefined],
    ["a variable", undefined, variable, { armored: "of the variable" }],
    ["a file, and a variable", file, variable, { armored: "of the file" }],
    [
      "a file, and its passphrase",
      file,
      { ROLLCALL_APT_KEY_PASSPHRASE: "p" },
      { armored: "of the file", passphrase: "p" },
    ],
  ])("%s", (_, path, environment, expected) => {
    expect(keyText(path, environment)).toEqual(expected);
  });

  it("a file that is missing → refused before anything is built", () => {
    expect(() => keyText(join(folder, "missing.asc"), variable)).toThrow("ENOENT");
  });
});
