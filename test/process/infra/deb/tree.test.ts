// Tests with packages of a few bytes which files of the machine dpkg keeps, and which it does not.
import { execFileSync } from "node:child_process";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { temporaryFolder } from "../../../e2e/local-cluster.ts";
import { fillTrees, HOME } from "../../../infra/deb/trees.ts";
import { canInstall, DpkgRoot, filesIn } from "./dpkg-root.ts";

const SHARE = "usr/share/rollcall-node-shim";

const folder = temporaryFolder();
afterAll(() => folder.remove());
const at = (...path: string[]) => join(folder.path, ...path);
beforeAll(() => fillTrees(folder.path));

it("node-shim by any link → the Node.js next to it, with unchanged arguments", () => {
  const called = execFileSync(at("with/usr/bin/node-shim"), ["run", "a b"], { encoding: "utf8" });
  expect(called).toBe(`${at("with", HOME, "bin/node")} ${at("with", HOME, "bin/node-shim.cjs")} run a b\n`);
});

const why = canInstall ? "" : " (skipped: needs root, dpkg and deb-systemd-helper)";
describe.skipIf(!canInstall)(`dpkg replaces one package with the other${why}`, () => {
  const deb = (tree: string) => at(`${tree}.deb`);
  beforeAll(() => {
    for (const tree of ["with", "all"])
      execFileSync("dpkg-deb", ["--root-owner-group", "-Znone", "--build", at(tree), deb(tree)], {
        stdio: "pipe",
      });
  });

  it("one replaced by the other, and back → still enabled, configuration and enrolment unchanged, no file of the former one", () => {
    const machine = new DpkgRoot(at("both-ways")).withPackages({ nodejs: "24.1.0" });
    const enrolment = join(machine.root, "var/lib/rollcall/enrolment.json");
    const config = join(machine.root, "etc/rollcall/kubelet.yaml");
    const homes = () => [HOME, SHARE].map((path) => existsSync(join(machine.root, path)));
    expect(machine.dpkg("-i", deb("all")).stdout).toContain("node-shim join --url https://");
    mkdirSync(dirname(enrolment));
    writeFileSync(enrolment, "{}");
    writeFileSync(config, "maxPods: 7\n");
    for (const [tree, expected] of [
      ["with", [true, false]],
      ["all", [false, true]],
    ] as const) {
      const { status, stdout } = machine.dpkg("-i", deb(tree));
      expect({ status, stdout }).toEqual({ status: 0, stdout: expect.not.stringContaining("join") });
      expect(machine.enabled()).toBe(true);
      expect(readFileSync(enrolment, "utf8")).toBe("{}");
      expect(readFileSync(config, "utf8")).toBe("maxPods: 7\n");
      expect(homes()).toEqual(expected);
    }
    expect(machine.dpkg("-P", "rollcall-node-shim").status).toBe(0);
    expect(filesIn(machine.root)).toEqual([]);
  });

  it("an administrator enables, disables or adds units → an upgrade keeps that; a purge keeps the administrator's files", () => {
    const machine = new DpkgRoot(at("administered")).withPackages({ nodejs: "24.1.0" });
    const upgrade = () => expect(machine.dpkg("-i", deb("all"))).toMatchObject({ status: 0 });
    const timer = "rollcall-node-shim-upgrade.timer";
    const wanted = join(machine.root, "etc/systemd/system/timers.target.wants", timer);
    const unit = `/usr/lib/systemd/system/${timer}`;
    const link = () => (lstatSync(wanted, { throwIfNoEntry: false }) ? readlinkSync(wanted) : undefined);
    /** Enables the unit as systemctl does. */
    const enable = () => {
      mkdirSync(dirname(wanted), { recursive: true });
      symlinkSync(unit, wanted);
    };
    upgrade();
    rmSync(machine.wanted());
    enable();
    upgrade();
    expect([machine.enabled(), link()]).toEqual([false, unit]);
    rmSync(wanted);
    upgrade();
    expect([machine.enabled(), link()]).toEqual([false, undefined]);
    enable();
    writeFileSync(join(machine.root, "etc/rollcall/own.yaml"), "");
    expect(machine.dpkg("-P", "rollcall-node-shim")).toMatchObject({ status: 0 });
    expect(filesIn(machine.root)).toEqual(["etc/rollcall/own.yaml"]);
  });

  it("without nodejs, or with one that is too old → only the package with a Node.js inside is installed", () => {
    const machine = new DpkgRoot(at("without")).withPackages();
    expect(machine.dpkg("-i", deb("all"))).toMatchObject({ status: 1 });
    machine.withPackages({ nodejs: "18.20.4+dfsg-1~deb12u2" });
    expect(machine.dpkg("-i", deb("all"))).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/depends on nodejs \(>= 20\)/),
    });
    expect(machine.dpkg("-i", deb("with")).status).toBe(0);
  });
});
