// Tests npm run packages: built twice in two places, and installed as npm and dpkg install packages.
import { execFileSync, spawnSync } from "node:child_process";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { generateKey } from "openpgp";
import { afterAll, beforeAll, describe, expect, it, test } from "vitest";
import { RULE_SETS } from "../../../../infra/deb/contents.ts";
import shim from "../../../../node-shim/package.json" with { type: "json" };
import { ASK_SERVICE_UNIT, ASK_SOCKET_UNIT, UNIT_NAME } from "../../../../node-shim/service/unit.ts";
import { temporaryFolder } from "../../../e2e/local-cluster.ts";
import { commandsBelow, withOwn } from "../../../house/page-commands.ts";
import { buildPackages, CLI, CLI_DEB, DEB, npmEnvironment, TARBALL } from "./build-packages.ts";
import { canInstall, DpkgRoot, filesIn, hasDpkg } from "./dpkg-root.ts";

/** The commands that the package of the command line installs. */
const CLI_COMMANDS = ["rollcall", "kubectl-rollcall", "kubectl_complete-rollcall"];
const SHARE = "usr/share/rollcall-node-shim";
const UPGRADE = "rollcall-node-shim-upgrade";
const UNITS = [
  UNIT_NAME,
  ASK_SERVICE_UNIT,
  `${UPGRADE}-ask.service`,
  `${UPGRADE}.service`,
  `${UPGRADE}.timer`,
  ASK_SOCKET_UNIT,
];
/** The greatest exposure of each service by `systemd-analyze security`, times ten. */
const EXPOSURE = [25, 25, 20, 35];

const has = (program: string) => spawnSync(program, ["--version"]).error === undefined;
const whyNoDeb = hasDpkg ? "" : " (skipped: dpkg-deb is not installed)";

/** The paths of the Node.js of this process, and of the computer's own if it has one. */
const nodes = [process.execPath, ...["/usr/bin/node"].filter((node) => existsSync(node))];

describe.skipIf(!hasDpkg)(`the packages${whyNoDeb}`, () => {
  const folder = temporaryFolder();
  const out = join(folder.path, "first");
  const deb = join(out, DEB);
  const [root, cliRoot] = [join(folder.path, "root"), join(folder.path, "cli-root")];
  let [sums, steps, again] = ["", "", ""];
  beforeAll(async () => {
    const { privateKey } = await generateKey({ userIDs: [{ name: "packages" }] });
    const key = join(folder.path, "key.asc");
    writeFileSync(key, privateKey);
    const [, asked = ""] = commandsBelow("docs/upgrading-shims.md", "The apt repository");
    const flags = withOwn(asked, { "rollcall-apt.asc": key })
      .trim()
      .replace("npm run packages -- ", "")
      .split(" ");
    const [first, second] = await Promise.all([
      buildPackages(out),
      buildPackages(join(folder.path, "second"), "all", flags),
    ]);
    ({ sums, steps } = first);
    again = second.sums;
    execFileSync("dpkg", ["-x", deb, root]);
    execFileSync("dpkg", ["-x", join(out, CLI_DEB), cliRoot]);
  });
  afterAll(() => folder.remove());

  it("prints the steps, the folder and the next commands, apart from the sums", () => {
    const count = readdirSync(out).length;
    expect(steps).toMatch(/^npm run packages: building .*\nnpm run packages: packing for all; .*\n\n/);
    expect(steps).toContain(`${count} files are in ${out}; `);
    expect(steps).toContain(`npm install -g ${join(out, `${CLI}.tgz`)}\n`);
  });

  it("built again, in another folder → the same bytes", () => {
    expect(sums.replaceAll(/^[0-9a-f]{64}  /gm, "")).toBe(
      `${TARBALL}\n${DEB}\ninstall.sh\n${CLI}.tgz\n${CLI_DEB}\n${CLI}.cjs\n`,
    );
    expect(again).toBe(sums);
    expect(readFileSync(join(out, "SHA256SUMS"), "utf8")).toBe(sums);
  });

  it("with a key, as its page says → an apt repository of the packages; without a key → no repository", () => {
    expect(existsSync(join(out, "apt"))).toBe(false);
    const apt = join(folder.path, "second/apt");
    const list = readFileSync(join(apt, "dists/stable/main/binary-amd64/Packages"), "utf8");
    expect(list.match(/^Filename: .*/gm)).toEqual([
      `Filename: pool/main/rollcall-cli/${CLI_DEB}`,
      `Filename: pool/main/rollcall-node-shim/${DEB}`,
    ]);
    expect(readFileSync(join(apt, "dists/stable/InRelease"), "utf8")).toContain("BEGIN PGP SIGNATURE");
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
    execFileSync("npm", ["install", "-g", ...flags, join(out, TARBALL)], {
      stdio: "pipe",
      env: npmEnvironment(),
    });
    const bin = join(prefix, "bin/node-shim");
    for (const node of nodes) {
      const run = (...args: string[]) => execFileSync(node, [bin, ...args], { encoding: "utf8" });
      expect(run("preview", "--hostname-override", "edge-1")).toContain("  name: edge-1\n");
      expect(run("install-service", "--print")).toContain(`ExecStart=${node} ${realpathSync(bin)} run `);
    }
    expect(readdirSync(join(prefix, "lib/node_modules"))).toEqual(["@rollcall"]);
    expect(existsSync(join(prefix, "lib/node_modules/@rollcall/node-shim/node_modules"))).toBe(false);
  });

  test.each([
    [
      TARBALL,
      "@rollcall/node-shim",
      { "node-shim": "bin/node-shim.cjs" },
      [
        "bin/node-shim.cjs",
        "dist/LICENSE",
        "dist/THIRD-PARTY-NOTICES.txt",
        "dist/inventory.js",
        "dist/node-shim.cjs",
        "dist/rollcall-ask.socket",
        "dist/rollcall-ask@.service",
        "dist/rollcall-node-shim.service",
      ],
      420_000,
    ],
    [
      `${CLI}.tgz`,
      "@rollcall/cli",
      Object.fromEntries(CLI_COMMANDS.map((name) => [name, "dist/rollcall.cjs"])),
      ["dist/LICENSE", "dist/THIRD-PARTY-NOTICES.txt", "dist/rollcall.cjs"],
      215_000,
    ],
  ])(
    "%s → npm would publish it unchanged: its commands, its README, no stray file",
    (tarball, name, bin, contents, maxBytes) => {
      const file = join(out, tarball);
      const packed = execFileSync("tar", ["-tzf", file], { encoding: "utf8" }).trim().split("\n");
      expect(packed.map((path) => path.replace("package/", "")).sort()).toEqual(
        ["README.md", "package.json", ...contents].sort(),
      );
      expect(lstatSync(file).size).toBeLessThan(maxBytes);
      const text = (path: string) =>
        execFileSync("tar", ["-xzOf", file, `package/${path}`], { encoding: "utf8" });
      expect(JSON.parse(text("package.json"))).toMatchObject({
        name,
        version: shim.version,
        license: "Apache-2.0",
        publishConfig: { access: "public" },
        bin,
      });
      expect(text("README.md")).toContain(`npm install -g ${name}\n`);
      // Without a registry npm prints the same, because a dry run sends nothing.
      const flags = [
        "--dry-run",
        "--offline",
        "--json",
        "--tag",
        "next",
        "--cache",
        join(folder.path, "cache"),
      ];
      const { status, stdout, stderr } = spawnSync("npm", ["publish", ...flags, file], {
        encoding: "utf8",
        env: npmEnvironment(),
      });
      expect({ status, stderr }, stderr).toMatchObject({ status: 0 });
      expect(stderr).not.toMatch(/auto-corrected|npm error/);
      expect(stdout).toContain(`"${name}@${shim.version}"`);
    },
  );

  it("the .deb unpacked → what node-shim runs, unit, manual, configuration, licences", () => {
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
        ...RULE_SETS.map((name) => `usr/share/rollcall/problems/${name}.json`),
        `${SHARE}/dist/node-shim.cjs`,
      ]),
    );
    const listed = execFileSync("dpkg-deb", ["-c", deb], { encoding: "utf8" }).trim().split("\n");
    for (const line of listed) expect(line).toMatch(/^(d|-rwxr-xr-x|-rw-r--r--|lrwxrwxrwx)\S* root\/root /);
    const [, start = ""] =
      /^ExecStart=(.+)$/m.exec(readFileSync(join(root, `usr/lib/systemd/system/${UNIT_NAME}`), "utf8")) ?? [];
    const [node, script = "", , , config = ""] = start.split(" ");
    expect(node).toBe("/usr/bin/node");
    const env = npmEnvironment();
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

  it("the command line: as one file, from npm's tarball, from the .deb → it runs on its own", () => {
    execFileSync("tar", ["-xzf", join(out, `${CLI}.tgz`), "-C", folder.path]);
    expect(filesIn(cliRoot)).toEqual(
      expect.arrayContaining([
        "usr/share/bash-completion/completions/rollcall",
        "usr/share/doc/rollcall-cli/copyright",
        "usr/share/fish/vendor_completions.d/rollcall.fish",
        "usr/share/man/man1/rollcall.1.gz",
        "usr/share/zsh/vendor-completions/_rollcall",
      ]),
    );
    const env = { PATH: `${dirname(process.execPath)}:/usr/bin:/bin` };
    const bundle = join(out, `${CLI}.cjs`);
    for (const program of [
      bundle,
      join(folder.path, "package/dist/rollcall.cjs"),
      join(cliRoot, "usr/bin/rollcall"),
    ])
      expect(execFileSync(program, ["--version"], { encoding: "utf8", env })).toBe(
        `rollcall ${shim.version}\n`,
      );
    const plugin = join(cliRoot, "usr/bin/kubectl-rollcall");
    expect(readlinkSync(plugin)).toBe(readlinkSync(join(cliRoot, "usr/bin/rollcall")));
    const complete = join(cliRoot, "usr/bin/kubectl_complete-rollcall");
    const completed = execFileSync(complete, ["explain", "--jso"], { encoding: "utf8", env });
    expect(completed).toMatch(/^--json\t[^]*:4\n$/m);
    const text = readFileSync(bundle, "utf8");
    expect(text.length).toBeLessThan(600_000);
    expect(text).not.toContain("KubeConfig");
  });

  const noMan = has("man") ? "" : " (skipped: man is not installed)";
  const noPages = `nothing that man warns of${noMan}`;
  test.skipIf(noMan !== "").each([
    [
      DEB,
      root,
      "man8/node-shim.8.gz",
      ["join", "uninstall-service", "--join-token-file <file>", "--eviction-hard", "EXIT CODES"],
    ],
    [
      CLI_DEB,
      cliRoot,
      "man1/rollcall.1.gz",
      ["token create", "--expires-in <duration>", "ENVIRONMENT", "EXIT CODES", "config.json"],
    ],
  ])(`the manual of %s → every command and its flags, ${noPages}`, (_, unpacked, manual, texts) => {
    const page = join(unpacked, "usr/share/man", manual);
    const env = { PATH: process.env["PATH"], MANWIDTH: "100", LC_ALL: "C" };
    const { stdout, stderr } = spawnSync("man", ["--warnings", "-l", page], { encoding: "utf8", env });
    expect(stderr).toBe("");
    for (const text of texts) expect(stdout).toContain(text);
  });

  const noAnalyze = has("systemd-analyze") ? "" : " (skipped: systemd-analyze is not installed)";
  test.skipIf(noAnalyze !== "")(
    `the units → systemd prints no complaint; the services' exposures are at most 2.5, 2.5, 2.0 and 3.5${noAnalyze}`,
    () => {
      mkdirSync(join(folder.path, "units"));
      const paths = UNITS.map((name) => {
        const unit = readFileSync(join(root, "usr/lib/systemd/system", name), "utf8");
        // The unit's path of node is replaced, because the testing computer may have no node there.
        const path = join(folder.path, "units", name);
        writeFileSync(path, unit.replace("ExecStart=/usr/bin/node ", `ExecStart=${process.execPath} `));
        return path;
      });
      const { status, stdout, stderr } = spawnSync("systemd-analyze", ["verify", ...paths], {
        encoding: "utf8",
      });
      expect({ status, said: stdout + stderr }).toEqual({ status: 0, said: "" });
      for (const [index, most] of EXPOSURE.entries())
        execFileSync(
          "systemd-analyze",
          ["security", "--offline=true", `--threshold=${most}`, paths[index] ?? ""],
          { stdio: "pipe" },
        );
    },
  );

  const noLintian = has("lintian") ? "" : " (skipped: lintian is not installed)";
  test.skipIf(noLintian !== "")(`lintian → no complaint${noLintian}`, () => {
    const flags = ["--allow-root", "--fail-on", "error,warning", deb];
    const { status, stdout } = spawnSync("lintian", flags, { encoding: "utf8" });
    expect({ status, stdout }).toEqual({ status: 0, stdout: "" });
  });

  const why = canInstall ? "" : " (skipped: needs root, dpkg and deb-systemd-helper)";
  test.skipIf(!canInstall)(
    `dpkg installs it → enabled, its timer and its socket off; again → a changed configuration stays; removed → it still does; purged → nothing${why}`,
    () => {
      const machine = new DpkgRoot(join(folder.path, "machine")).withPackages({ nodejs: "20.19.2+dfsg-1" });
      const at = (path: string) => join(machine.root, path);
      const before = filesIn(machine.root);
      const off = () =>
        [`timers.target.wants/${UPGRADE}.timer`, `sockets.target.wants/${ASK_SOCKET_UNIT}`]
          .map((link) => lstatSync(at(`etc/systemd/system/${link}`), { throwIfNoEntry: false }))
          .find((found) => found !== undefined);
      expect(machine.dpkg("-i", deb)).toMatchObject({ status: 0 });
      expect([machine.enabled(), off()]).toEqual([true, undefined]);
      const config = at("etc/rollcall/kubelet.yaml");
      writeFileSync(config, `${readFileSync(config, "utf8")}maxPods: 7\n`);
      // The service and an administrator leave these files.
      mkdirSync(at("var/lib/rollcall"));
      writeFileSync(at("var/lib/rollcall/key.json"), "{}");
      writeFileSync(at("etc/rollcall/join-token"), "rcj1_");
      expect(machine.dpkg("-i", deb)).toMatchObject({ status: 0 });
      expect(readFileSync(config, "utf8")).toContain("maxPods: 7");
      expect([machine.enabled(), off()]).toEqual([true, undefined]);
      expect(machine.dpkg("-r", "rollcall-node-shim")).toMatchObject({ status: 0 });
      expect(readFileSync(config, "utf8")).toContain("maxPods: 7");
      expect([at("var/lib/rollcall/key.json"), at(SHARE)].map((path) => existsSync(path))).toEqual([
        true,
        false,
      ]);
      expect(machine.dpkg("-P", "rollcall-node-shim")).toMatchObject({ status: 0 });
      expect(filesIn(machine.root)).toEqual(before);
      for (const path of ["etc/rollcall", "var/lib/rollcall", "usr"])
        expect(existsSync(at(path))).toBe(false);
    },
  );
});
