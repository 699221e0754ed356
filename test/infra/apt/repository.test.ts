// Tests the apt repository: the packages of each architecture, and the packages that are refused.
// test/process/infra/apt tests the repository with apt.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { generateKey } from "openpgp";
import { afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { KEY_FILE, publish } from "../../../infra/apt/repository.ts";

const NAME = "rollcall-node-shim";
const DATE = new Date("2026-01-01T00:00:00Z");

let armored: string;
let folder: string;
let repository: string;
beforeAll(async () => {
  const date = new Date("2025-12-01T00:00:00Z");
  ({ privateKey: armored } = await generateKey({ type: "ecc", userIDs: [{ name: "packages" }], date }));
});
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "rollcall-apt-"));
  repository = join(folder, "repository");
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Writes a file that stands for a package: its control file, and other bytes. Returns its path. */
function deb(version: string, architecture: string, content = ""): string {
  const file = join(folder, `${version}-${architecture}-${content}.deb`);
  writeFileSync(file, `Package: ${NAME}\nVersion: ${version}\nArchitecture: ${architecture}\n\n${content}`);
  return file;
}
const controlOf = (file: string) => `${readFileSync(file, "utf8").split("\n\n")[0]}\n`;
const add = (...debs: string[]) =>
  publish({ folder: repository, debs, key: { armored }, date: DATE }, controlOf);
const text = (path: string) => readFileSync(join(repository, path), "utf8");
/** Returns the names of the files that a suite lists for an architecture. */
const listed = (suite: string, architecture: string) =>
  [
    ...text(`dists/${suite}/main/binary-${architecture}/Packages`).matchAll(/^Filename: .*\/(.+)\.deb$/gm),
  ].map(([, file]) => file);

it("for an architecture → its own packages, of all architectures where it has none", async () => {
  await add(deb("0.1.0", "all"), deb("0.1.0", "amd64"), deb("0.1.0", "arm64"), deb("0.2.0", "all"));
  const forAll = `${NAME}_0.2.0_all`;
  expect(listed("stable", "amd64")).toEqual([`${NAME}_0.1.0_amd64`, forAll]);
  expect(listed("stable", "arm64")).toEqual([`${NAME}_0.1.0_arm64`, forAll]);
  expect(listed("stable", "riscv64")).toEqual([`${NAME}_0.1.0_all`, forAll]);
});

it("a candidate for a release → in testing alone, and what was published before stays", async () => {
  await add(deb("0.1.0", "amd64"));
  await add(deb("9.0.0~rc.1", "amd64"));
  expect(listed("stable", "amd64")).toEqual([`${NAME}_0.1.0_amd64`]);
  expect(listed("testing", "amd64")).toEqual([`${NAME}_0.1.0_amd64`, `${NAME}_9.0.0~rc.1_amd64`]);
});

it("published again: the same packages → the same bytes; one with other contents → refused, and nothing is changed", async () => {
  const debs = [deb("0.1.0", "all"), deb("0.1.0", "amd64")];
  const files = ["dists/stable/InRelease", "dists/testing/InRelease", KEY_FILE];
  await add(...debs);
  const before = files.map(text);
  await add(...debs);
  expect(files.map(text)).toEqual(before);
  const more = [deb("10.0.0", "amd64"), deb("0.1.0", "amd64", "other")];
  await expect(add(...more)).rejects.toThrow("published with other contents");
  expect(files.map(text)).toEqual(before);
  expect(existsSync(join(repository, `pool/main/${NAME}/${NAME}_10.0.0_amd64.deb`))).toBe(false);
});

it("a package without a version → refused: it is none of ours", async () => {
  const file = join(folder, "x.deb");
  writeFileSync(file, "Package: x\n\n");
  await expect(add(file)).rejects.toThrow("x.deb has no Version: it is not a package of ours");
});
