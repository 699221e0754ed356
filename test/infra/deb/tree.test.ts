// The trees of the packages with a Node.js inside, out of a shim and a runtime that are a few bytes: making the real ones
// takes minutes. docs/shim.md says how those are tried.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, readlinkSync, statSync, writeFileSync } from "node:fs";
import { arch } from "node:process";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, test } from "vitest";
import type { Build } from "../../../infra/deb/contents.ts";
import { fillFolder } from "../../../infra/deb/folder.ts";
import { fillTree } from "../../../infra/deb/tree.ts";
import { UNIT_NAME } from "../../../node-shim/service/unit.ts";
import { ROOT, temporaryFolder } from "../../e2e/local-cluster.ts";
import { canInstall, DpkgRoot, filesIn, hasDpkg } from "./dpkg-root.ts";

const ARCHITECTURE = arch === "arm64" ? "arm64" : "amd64";
const HOME = "usr/lib/rollcall-node-shim";

const folder = temporaryFolder();
afterAll(() => folder.remove());
const at = (...path: string[]) => join(folder.path, ...path);
const read = (...path: string[]) => readFileSync(at(...path), "utf8");

/** `runtime` is left out for architecture all. */
function buildOf(tree: string, runtime?: Build["runtime"]): Build {
  mkdirSync(at(tree));
  const npmPackage = at("package");
  const build = { tree: at(tree), npmPackage, root: ROOT, version: "1.2.3", epochSeconds: 1767225600 };
  return runtime ? { ...build, runtime } : build;
}

beforeAll(() => {
  mkdirSync(at("package/bin"), { recursive: true });
  mkdirSync(at("package/dist"));
  writeFileSync(at("package/bin/node-shim.cjs"), "");
  writeFileSync(at("package/dist/THIRD-PARTY-NOTICES.txt"), "zod 4, MIT\n\nterms of zod\n");
  // A script stands for Node.js: it prints how it was called.
  const program = Buffer.from('#!/bin/sh\necho "$0" "$@"\n');
  const runtime = {
    architecture: ARCHITECTURE,
    version: "24.1.0",
    program,
    licence: "terms of Node.js\n",
  } as const;
  fillTree(buildOf("with", runtime));
  fillTree(buildOf("all"));
  fillFolder(buildOf("folder", runtime));
});

describe("the .deb with a Node.js inside", () => {
  it("its control file → its architecture, no nodejs, the libraries that Node.js is linked with", () => {
    const control = read("with/DEBIAN/control");
    expect(control).toContain(`\nArchitecture: ${ARCHITECTURE}\n`);
    expect(control).toContain("\nDepends: libc6 (>= 2.28), libgcc-s1 | libgcc1, libstdc++6 (>= 7)\n");
    expect(read("all/DEBIAN/control")).toContain("\nDepends: nodejs (>= 20)\n");
  });

  test.each([
    ["with", `/${HOME}/bin/node /${HOME}/bin/node-shim.cjs`],
    ["all", "/usr/bin/node /usr/share/rollcall-node-shim/bin/node-shim.cjs"],
    ["folder", "/opt/rollcall-node-shim/current/bin/node /opt/rollcall-node-shim/current/bin/node-shim.cjs"],
  ])("%s: its unit → runs %s, and is otherwise the one unit", (tree, command) => {
    const path = tree === "folder" ? "systemd" : "usr/lib/systemd/system";
    const unit = read(tree, path, UNIT_NAME);
    expect(unit).toContain(
      `\nExecStart=${command} run --config /etc/rollcall/kubelet.yaml $NODE_SHIM_FLAGS\n`,
    );
    const others = (text: string) => text.split("\n").filter((line) => !line.startsWith("ExecStart="));
    expect(others(unit)).toEqual(others(readFileSync(join(ROOT, "infra/systemd", UNIT_NAME), "utf8")));
  });

  test.each([
    ["with", `/${HOME}/bin/node /${HOME}/bin/node-shim.cjs`],
    ["all", "/usr/bin/node /usr/share/rollcall-node-shim/bin/node-shim.cjs"],
  ])("%s: the unit that upgrades → runs %s upgrade, in the service's environment", (tree, command) => {
    const unit = read(tree, "usr/lib/systemd/system/rollcall-node-shim-upgrade.service");
    const service = read(tree, "usr/lib/systemd/system", UNIT_NAME);
    expect(unit).toContain(`\nExecStart=${command} upgrade\n`);
    const environmentFile = /^EnvironmentFile=.*$/m.exec(service)?.[0] ?? "none";
    expect(unit).toContain(`\n${environmentFile}\n`);
  });

  it("what is not upgraded by apt → has no such unit", () => {
    expect(filesIn(at("folder")).filter((file) => file.includes("upgrade"))).toEqual([]);
  });

  it("no script of the package stops or restarts what may run it", () => {
    const scripts = ["postinst", "prerm", "postrm"].map((script) => read("all/DEBIAN", script));
    const commands = scripts.flatMap((text) => text.split("\n")).filter((line) => !/^ *#/.test(line));
    expect(commands.filter((line) => /\bupgrade\.service/.test(line))).toEqual([
      expect.stringContaining("reset-failed"),
    ]);
  });

  it("node-shim by any link → the Node.js beside it, with the arguments as they were", () => {
    expect(readlinkSync(at("with/usr/bin/node-shim"))).toBe("../lib/rollcall-node-shim/bin/node-shim");
    const called = execFileSync(at("with/usr/bin/node-shim"), ["run", "a b"], { encoding: "utf8" });
    expect(called).toBe(`${at("with", HOME, "bin/node")} ${at("with", HOME, "bin/node-shim.cjs")} run a b\n`);
  });

  it("its licences → those of the bundles and of Node.js", () => {
    for (const copyright of [
      read("with/usr/share/doc/rollcall-node-shim/copyright"),
      read("folder/LICENSES.txt"),
    ])
      expect(copyright).toMatch(/terms of zod[^]*Node\.js 24\.1\.0[^]*terms of Node\.js/);
    expect(read("all/usr/share/doc/rollcall-node-shim/copyright")).not.toContain("Node.js");
  });

  it("its manual → names no file that the packages do not bring", () => {
    const page = execFileSync("gzip", ["-dc", at("with/usr/share/man/man8/node-shim.8.gz")], {
      encoding: "utf8",
    });
    expect(page.match(/\bdocs\b|\S+\.md\b/g)).toBe(null);
  });
});

it("the folder of the .tar.gz → what install.sh looks for, and modes that do not depend on the builder", () => {
  expect(filesIn(at("folder"))).toEqual(
    expect.arrayContaining([
      "bin/node",
      "bin/node-shim",
      "etc/kubelet.yaml",
      "etc/node-shim.env",
      "man/node-shim.8.gz",
    ]),
  );
  const mode = (path: string) => (statSync(at("folder", path)).mode & 0o777).toString(8);
  expect(["bin/node", "bin/node-shim", "LICENSES.txt", "etc"].map(mode)).toEqual([
    "755",
    "755",
    "644",
    "755",
  ]);
});

const why = canInstall ? "" : " (skipped: needs root, dpkg and deb-systemd-helper)";
describe.skipIf(!canInstall || !hasDpkg)(`dpkg puts one package in the other's place${why}`, () => {
  const ENROLMENT = "var/lib/rollcall/enrolment.json";
  const deb = (tree: string) => at(`${tree}.deb`);
  beforeAll(() => {
    for (const tree of ["with", "all"])
      execFileSync("dpkg-deb", ["--root-owner-group", "-Znone", "--build", at(tree), deb(tree)], {
        stdio: "pipe",
      });
  });

  test.each([
    ["all", "with", HOME, "usr/share/rollcall-node-shim"],
    ["with", "all", "usr/share/rollcall-node-shim", HOME],
  ])(
    "%s, then %s → still enabled, configuration and enrolment as they were, nothing left of the first",
    (...row) => {
      const [first, second, present, gone] = row;
      const machine = new DpkgRoot(at(`root-${first}`)).withPackages({ nodejs: "24.1.0" });
      expect(machine.dpkg("-i", deb(first)).stdout).toContain("node-shim join --url https://");
      mkdirSync(join(machine.root, "var/lib/rollcall"));
      writeFileSync(join(machine.root, ENROLMENT), "{}");
      writeFileSync(join(machine.root, "etc/rollcall/kubelet.yaml"), "maxPods: 7\n");
      const { status, stdout } = machine.dpkg("-i", deb(second));
      expect({ status, stdout }).toEqual({ status: 0, stdout: expect.not.stringContaining("join") });
      expect(machine.enabled()).toBe(true);
      expect(readFileSync(join(machine.root, ENROLMENT), "utf8")).toBe("{}");
      expect(readFileSync(join(machine.root, "etc/rollcall/kubelet.yaml"), "utf8")).toBe("maxPods: 7\n");
      expect([present, gone].map((path) => existsSync(join(machine.root, path)))).toEqual([true, false]);
      expect(machine.dpkg("-P", "rollcall-node-shim").status).toBe(0);
      expect(filesIn(machine.root)).toEqual([]);
    },
  );

  it("without nodejs → the one with a Node.js inside is installed, the other is not", () => {
    const machine = new DpkgRoot(at("root-without")).withPackages();
    expect(machine.dpkg("-i", deb("all")).status).toBe(1);
    expect(machine.dpkg("-i", deb("with")).status).toBe(0);
  });
});
