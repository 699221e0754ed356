// The packages out of a few bytes, as dpkg takes them: what stays of a machine's own, and what does not.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, test } from "vitest";
import { temporaryFolder } from "../../../e2e/local-cluster.ts";
import { fillTrees, HOME } from "../../../infra/deb/trees.ts";
import { canInstall, DpkgRoot, filesIn } from "./dpkg-root.ts";

const folder = temporaryFolder();
afterAll(() => folder.remove());
const at = (...path: string[]) => join(folder.path, ...path);
beforeAll(() => fillTrees(folder.path));

it("node-shim by any link → the Node.js beside it, with the arguments as they were", () => {
  const called = execFileSync(at("with/usr/bin/node-shim"), ["run", "a b"], { encoding: "utf8" });
  expect(called).toBe(`${at("with", HOME, "bin/node")} ${at("with", HOME, "bin/node-shim.cjs")} run a b\n`);
});

const why = canInstall ? "" : " (skipped: needs root, dpkg and deb-systemd-helper)";
describe.skipIf(!canInstall)(`dpkg puts one package in the other's place${why}`, () => {
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
