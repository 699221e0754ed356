// npm run packages: built twice in two places, and installed as npm and dpkg install them.
import { execFileSync, spawnSync } from "node:child_process";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { generateKey } from "openpgp";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, test } from "vitest";
import shim from "../../../../node-shim/package.json" with { type: "json" };
import { UNIT_NAME } from "../../../../node-shim/service/unit.ts";
import { temporaryFolder } from "../../../e2e/local-cluster.ts";
import { commandsBelow, withOwn } from "../../../house/page-commands.ts";
import { buildPackages, CLI, CLI_DEB, DEB, TARBALL } from "./build-packages.ts";
import { canInstall, DpkgRoot, filesIn, hasDpkg } from "./dpkg-root.ts";

const SHARE = "usr/share/rollcall-node-shim";
const UPGRADE = "rollcall-node-shim-upgrade";
const UNITS = [UNIT_NAME, `${UPGRADE}.service`, `${UPGRADE}.timer`];

const has = (program: string) => spawnSync(program, ["--version"]).error === undefined;
const whyNoDeb = hasDpkg ? "" : " (skipped: dpkg-deb is not installed)";

/** The node of this process, and the machine's own where it has one. */
const nodes = [process.execPath, ...["/usr/bin/node"].filter((node) => existsSync(node))];

describe.skipIf(!hasDpkg)(`the packages${whyNoDeb}`, () => {
  const folder = temporaryFolder();
  const out = join(folder.path, "first");
  let [sums, again] = ["", ""];
  beforeAll(async () => {
    const { privateKey } = await generateKey({ userIDs: [{ name: "packages" }] });
    const key = join(folder.path, "key.asc");
    writeFileSync(key, privateKey);
    // As the page has it, and by the variable instead.
    const [, asked = ""] = commandsBelow("docs/upgrading-shims.md", "The apt repository");
    const flags = withOwn(asked, { "rollcall-apt.asc": key })
      .trim()
      .replace("npm run packages -- ", "")
      .split(" ");
    const environment = { ROLLCALL_APT_KEY: privateKey };
    [sums, again] = await Promise.all([
      buildPackages(out),
      buildPackages(join(folder.path, "second"), "all", { flags }),
      buildPackages(join(folder.path, "third"), "all", { environment }),
    ]);
  });
  afterAll(() => folder.remove());
  const deb = join(out, DEB);

  it("built again, elsewhere → the same bytes", () => {
    expect(sums.replaceAll(/^[0-9a-f]{64}  /gm, "")).toBe(
      `${TARBALL}\n${DEB}\ninstall.sh\n${CLI}.tgz\n${CLI_DEB}\n${CLI}.cjs\n`,
    );
    expect(again).toBe(sums);
    expect(readFileSync(join(out, "SHA256SUMS"), "utf8")).toBe(sums);
  });

  it("with a key → an apt repository of the packages, and without one none", () => {
    expect(existsSync(join(out, "apt"))).toBe(false);
    for (const how of ["second", "third"]) {
      const apt = join(folder.path, how, "apt");
      const list = readFileSync(join(apt, "dists/stable/main/binary-amd64/Packages"), "utf8");
      expect(list.match(/^Filename: .*/gm)).toEqual([
        `Filename: pool/main/rollcall-cli/${CLI_DEB}`,
        `Filename: pool/main/rollcall-node-shim/${DEB}`,
      ]);
      expect(readFileSync(join(apt, "dists/stable/InRelease"), "utf8")).toContain("BEGIN PGP SIGNATURE");
    }
  });

  it("npm install -g, offline, scripts allowed → node-shim runs, and brings no other package", () => {
    const prefix = join(folder.path, "prefix");
    const packed = execFileSync("tar", ["-xzOf", join(out, TARBALL), "package/package.json"], {
      encoding: "utf8",
    });
    const { scripts, dependencies } = JSON.parse(packed) as Record<string, Record<string, string>>;
    const licence = execFileSync("tar", ["-xzOf", join(out, TARBALL), "package/dist/LICENSE"], {
      encoding: "utf8",
    });
    expect(licence).toContain("Apache License");
    const atInstall = Object.keys(scripts ?? {}).filter((name) => /install|^prepare$/.test(name));
    expect([atInstall, dependencies]).toEqual([[], undefined]);
    const flags = [
      "--prefix",
      prefix,
      "--offline",
      "--no-audit",
      "--no-fund",
      "--cache",
      join(prefix, "cache"),
    ];
    execFileSync("npm", ["install", "-g", ...flags, join(out, TARBALL)], { stdio: "pipe" });
    const bin = join(prefix, "bin/node-shim");
    for (const node of nodes) {
      const run = (...args: string[]) => execFileSync(node, [bin, ...args], { encoding: "utf8" });
      expect(run("version")).toContain(`node-shim ${shim.version}\n`);
      expect(run("preview", "--hostname-override", "edge-1")).toContain("  name: edge-1\n");
      expect(run("install-service", "--print")).toContain(`ExecStart=${node} ${realpathSync(bin)} run `);
    }
    expect(readdirSync(join(prefix, "lib/node_modules"))).toEqual(["@rollcall"]);
    expect(existsSync(join(prefix, "lib/node_modules/@rollcall/node-shim/node_modules"))).toBe(false);
  });

  it("the .deb unpacked → what node-shim runs, unit, manual, configuration, licences", () => {
    const root = join(folder.path, "unpacked");
    execFileSync("dpkg", ["-x", deb, root]);
    const files = filesIn(root);
    expect(files).toEqual(
      expect.arrayContaining([
        "etc/rollcall/kubelet.yaml",
        "etc/rollcall/node-shim.env",
        "usr/bin/node-shim",
        ...UNITS.map((name) => `usr/lib/systemd/system/${name}`),
        "usr/share/doc/rollcall-node-shim/changelog.gz",
        "usr/share/doc/rollcall-node-shim/copyright",
        "usr/share/man/man8/node-shim.8.gz",
        `${SHARE}/dist/node-shim.cjs`,
      ]),
    );
    const listed = execFileSync("dpkg-deb", ["-c", deb], { encoding: "utf8" }).trim().split("\n");
    for (const line of listed) expect(line).toMatch(/^(d|-rwxr-xr-x|-rw-r--r--|lrwxrwxrwx)\S* root\/root /);
    const [, start = ""] =
      /^ExecStart=(.+)$/m.exec(readFileSync(join(root, `usr/lib/systemd/system/${UNIT_NAME}`), "utf8")) ?? [];
    const [node, script = "", , , config = ""] = start.split(" ");
    expect(node).toBe("/usr/bin/node");
    const env = { ...process.env, ROLLCALL_URL: "" };
    const args = [join(root, script), "config", "--config", join(root, config)];
    const printed = execFileSync(process.execPath, args, { encoding: "utf8", env });
    expect(printed).toContain("nodeStatusUpdateFrequency: 10s # default");
    expect(readlinkSync(join(root, "usr/bin/node-shim"))).toBe(
      "../share/rollcall-node-shim/bin/node-shim.cjs",
    );
    const copyright = readFileSync(join(root, "usr/share/doc/rollcall-node-shim/copyright"), "utf8");
    const bundled = Object.keys(shim.devDependencies).filter((name) => !copyright.includes(`\n ${name} `));
    expect(bundled).toEqual([]);
  });

  it("the command line: as one file, from npm's tarball, from the .deb → it runs, alone", () => {
    const root = join(folder.path, "cli");
    execFileSync("dpkg", ["-x", join(out, CLI_DEB), root]);
    execFileSync("tar", ["-xzf", join(out, `${CLI}.tgz`), "-C", root]);
    expect(filesIn(root)).toEqual(
      expect.arrayContaining([
        "usr/share/bash-completion/completions/rollcall",
        "usr/share/doc/rollcall-cli/copyright",
        "usr/share/fish/vendor_completions.d/rollcall.fish",
        "usr/share/man/man1/rollcall.1.gz",
        "usr/share/zsh/vendor-completions/_rollcall",
      ]),
    );
    const env = { PATH: `${dirname(process.execPath)}:/usr/bin:/bin` };
    const installed = [join(out, `${CLI}.cjs`), join(root, "package/dist/rollcall.cjs")];
    for (const program of [
      ...installed,
      join(root, "usr/bin/rollcall"),
      join(root, "usr/bin/kubectl-rollcall"),
    ]) {
      expect(execFileSync(program, ["--version"], { encoding: "utf8", env })).toBe(
        `rollcall ${shim.version}\n`,
      );
    }
    const complete = join(root, "usr/bin/kubectl_complete-rollcall");
    const completed = execFileSync(complete, ["explain", "--jso"], { encoding: "utf8", env });
    expect(completed).toMatch(/^--json\t[^]*:4\n$/m);
    const bundle = readFileSync(installed[0] ?? "", "utf8");
    expect(bundle.length).toBeLessThan(400_000);
    expect(bundle).not.toContain("KubeConfig");
  });

  const noMan = has("man") ? "" : " (skipped: man is not installed)";
  const noPages = `nothing that man warns of${noMan}`;
  test.skipIf(noMan !== "").each([
    [
      DEB,
      "man8/node-shim.8.gz",
      ["join", "uninstall-service", "--join-token-file <file>", "--eviction-hard", "EXIT CODES"],
    ],
    [
      CLI_DEB,
      "man1/rollcall.1.gz",
      ["token create", "--expires-in <duration>", "ENVIRONMENT", "EXIT CODES", "config.json"],
    ],
  ])(`the manual of %s → every command and its flags, ${noPages}`, (name, manual, texts) => {
    const root = join(folder.path, `manual-${name}`);
    execFileSync("dpkg", ["-x", join(out, name), root]);
    const page = join(root, "usr/share/man", manual);
    const env = { ...process.env, MANWIDTH: "100", LC_ALL: "C" };
    const { stdout, stderr } = spawnSync("man", ["--warnings", "-l", page], { encoding: "utf8", env });
    expect(stderr).toBe("");
    for (const text of texts) expect(stdout).toContain(text);
  });

  const noAnalyze = has("systemd-analyze") ? "" : " (skipped: systemd-analyze is not installed)";
  test.skipIf(noAnalyze !== "")(
    `the units → systemd has nothing to say of them; of the service: exposure at most 2.5${noAnalyze}`,
    () => {
      const root = join(folder.path, "units");
      execFileSync("dpkg", ["-x", deb, root]);
      const paths = UNITS.map((name) => join(root, "usr/lib/systemd/system", name));
      // The machine that tests them need not have node there.
      for (const path of paths) {
        const unit = readFileSync(path, "utf8");
        writeFileSync(path, unit.replace("ExecStart=/usr/bin/node ", `ExecStart=${process.execPath} `));
      }
      const { status, stdout, stderr } = spawnSync("systemd-analyze", ["verify", ...paths], {
        encoding: "utf8",
      });
      expect({ status, said: stdout + stderr }).toEqual({ status: 0, said: "" });
      execFileSync("systemd-analyze", ["security", "--offline=true", "--threshold=25", paths[0]!], {
        stdio: "pipe",
      });
    },
  );

  const noLintian = has("lintian") ? "" : " (skipped: lintian is not installed)";
  test.skipIf(noLintian !== "")(`lintian → nothing${noLintian}`, () => {
    const flags = ["--allow-root", "--fail-on", "error,warning", deb];
    const { status, stdout } = spawnSync("lintian", flags, { encoding: "utf8" });
    expect({ status, stdout }).toEqual({ status: 0, stdout: "" });
  });

  const why = canInstall ? "" : " (skipped: needs root, dpkg and deb-systemd-helper)";
  describe.skipIf(!canInstall)(`dpkg, in a root of its own${why}`, () => {
    let machine: DpkgRoot;
    let root: string;
    let count = 0;
    beforeEach(() => {
      root = join(folder.path, `root-${++count}`);
      machine = new DpkgRoot(root).withPackages({ nodejs: "20.19.2+dfsg-1" });
    });
    afterEach(() => rmSync(root, { recursive: true, force: true }));
    const dpkg = (...args: string[]) => machine.dpkg(...args);

    it("installed → enabled; upgraded → a changed configuration stays; removed → it still does; purged → nothing", () => {
      const before = filesIn(root);
      expect(dpkg("-i", deb)).toMatchObject({ status: 0 });
      expect(machine.enabled()).toBe(true);
      const config = join(root, "etc/rollcall/kubelet.yaml");
      writeFileSync(config, `${readFileSync(config, "utf8")}maxPods: 7\n`);
      // As the service and an administrator leave it.
      mkdirSync(join(root, "var/lib/rollcall"));
      writeFileSync(join(root, "var/lib/rollcall/key.json"), "{}");
      writeFileSync(join(root, "etc/rollcall/join-token"), "rcj1_");
      expect(dpkg("-i", deb)).toMatchObject({ status: 0 });
      expect(readFileSync(config, "utf8")).toContain("maxPods: 7");
      expect(dpkg("-r", "rollcall-node-shim")).toMatchObject({ status: 0 });
      expect(readFileSync(config, "utf8")).toContain("maxPods: 7");
      expect(existsSync(join(root, "var/lib/rollcall/key.json"))).toBe(true);
      expect(existsSync(join(root, SHARE))).toBe(false);
      expect(dpkg("-P", "rollcall-node-shim")).toMatchObject({ status: 0 });
      expect(filesIn(root)).toEqual(before);
      for (const path of ["etc/rollcall", "var/lib/rollcall", "usr"])
        expect(existsSync(join(root, path))).toBe(false);
    });

    it("disabled by an administrator → an upgrade leaves it so", () => {
      dpkg("-i", deb);
      rmSync(machine.wanted());
      expect(dpkg("-i", deb)).toMatchObject({ status: 0 });
      expect(machine.enabled()).toBe(false);
    });

    describe("the timer of upgrades", () => {
      const timer = `${UPGRADE}.timer`;
      const wanted = () => join(root, "etc/systemd/system/timers.target.wants", timer);
      /** As systemctl does. */
      const enable = () => {
        mkdirSync(dirname(wanted()), { recursive: true });
        symlinkSync(`/usr/lib/systemd/system/${timer}`, wanted());
      };

      it("installed, and upgraded → off", () => {
        for (const _ of ["installed", "upgraded"]) {
          expect(dpkg("-i", deb)).toMatchObject({ status: 0 });
          expect(lstatSync(wanted(), { throwIfNoEntry: false })).toBeUndefined();
        }
      });

      it("enabled by an administrator → an upgrade leaves it so, and a purge leaves nothing of it", () => {
        const before = filesIn(root);
        dpkg("-i", deb);
        enable();
        expect(dpkg("-i", deb)).toMatchObject({ status: 0 });
        expect(readlinkSync(wanted())).toBe(`/usr/lib/systemd/system/${timer}`);
        expect(dpkg("-P", "rollcall-node-shim")).toMatchObject({ status: 0 });
        expect(filesIn(root)).toEqual(before);
      });

      it("disabled again → an upgrade leaves it so", () => {
        dpkg("-i", deb);
        enable();
        dpkg("-i", deb);
        rmSync(wanted());
        expect(dpkg("-i", deb)).toMatchObject({ status: 0 });
        expect(lstatSync(wanted(), { throwIfNoEntry: false })).toBeUndefined();
      });
    });

    it("an administrator's own file beside the configuration → stays after a purge", () => {
      dpkg("-i", deb);
      writeFileSync(join(root, "etc/rollcall/own.yaml"), "");
      expect(dpkg("-P", "rollcall-node-shim")).toMatchObject({ status: 0 });
      expect(readdirSync(join(root, "etc/rollcall"))).toEqual(["own.yaml"]);
    });

    it("a Node.js that is too old → not configured, and dpkg says which it wants", () => {
      machine.withPackages({ nodejs: "18.20.4+dfsg-1~deb12u2" });
      const { status, stderr } = dpkg("-i", deb);
      expect(status).toBe(1);
      expect(stderr).toMatch(/depends on nodejs \(>= 20\)/);
    });
  });
});
