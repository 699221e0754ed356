// Tests the shim's package: which package owns this program, and the calls of apt. test/process runs apt itself.
import { describe, expect, it, test } from "vitest";
import {
  installedVersion,
  installFormer,
  installVersion,
  PACKAGE,
  type PackageManager,
  updateLists,
} from "../../../node-shim/service/package.ts";
import { failure, type Result, success } from "../../../shared/result.ts";

const PROGRAM = "/usr/lib/rollcall-node-shim/bin/node-shim.cjs";

describe("the owner of the program", () => {
  const NOBODYS = failure(
    `apt can upgrade only what a .deb has installed, and ${PROGRAM} is no file of the package ${PACKAGE}: run install.sh again, or npm install -g, as it was installed`,
  );
  test.each<[situation: string, owner: Result<string>, shown: Result<string>, outcome: Result<string>]>([
    ["the package's", success(`${PACKAGE}: ${PROGRAM}\n`), success("installed 0.1.0"), success("0.1.0")],
    [
      "with an architecture",
      success(`${PACKAGE}:arm64: ${PROGRAM}\n`),
      success("installed 0.1.0~rc.1"),
      success("0.1.0~rc.1"),
    ],
    [
      "nobody's",
      failure("ended with 1: dpkg-query: no path found matching pattern"),
      success("installed 0.1.0"),
      NOBODYS,
    ],
    [
      "no dpkg",
      failure("spawn /usr/bin/dpkg-query ENOENT"),
      failure("spawn /usr/bin/dpkg-query ENOENT"),
      NOBODYS,
    ],
    ["another package's", success(`${PACKAGE}-tools: ${PROGRAM}\n`), success("installed 0.1.0"), NOBODYS],
    [
      "half installed",
      success(`${PACKAGE}: ${PROGRAM}\n`),
      success("half-configured 0.1.0"),
      failure(`the package ${PACKAGE} is half-configured, and not installed: dpkg --configure -a`),
    ],
    ["of a database that is damaged", success(`${PACKAGE}: ${PROGRAM}\n`), failure("ended with 2"), NOBODYS],
  ])("%s", async (_situation, owner, shown, outcome) => {
    const query: PackageManager["query"] = async ([action = "", ...args]) => {
      expect(args.at(-1)).toBe(action === "--search" ? PROGRAM : PACKAGE);
      return action === "--search" ? owner : shown;
    };
    const packages = { query, aptGet: () => Promise.reject(new Error("nothing is installed")) };
    expect(await installedVersion(packages, PROGRAM)).toEqual(outcome);
  });
});

it("the call of apt → one package in one version, without options that weaken its verification", async () => {
  const asked: string[] = [];
  const packages: PackageManager = {
    query: () => Promise.reject(new Error("nothing is asked")),
    aptGet: async (args) => {
      asked.push(args.join(" "));
      return success(null);
    },
  };
  await updateLists(packages);
  await installVersion(packages, "0.2.0~rc.1");
  await installFormer(packages, "0.1.0");
  const options =
    "--only-upgrade --no-remove --assume-yes -qq -o DPkg::Lock::Timeout=120 -o Dpkg::Options::=--force-confold";
  expect(asked).toEqual([
    "update -qq -o DPkg::Lock::Timeout=120",
    `install ${options} ${PACKAGE}=0.2.0~rc.1`,
    `install ${options} --allow-downgrades ${PACKAGE}=0.1.0`,
  ]);
});
