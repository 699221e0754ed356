// Tests the shim's package: how apt itself treats the shim's commands. test/process/infra/apt/repository.test.ts
// tests which repositories apt refuses to trust.
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { generateKey } from "openpgp";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { KEY_FILE, publish } from "../../../../infra/apt/repository.ts";
import {
  installFormer,
  installVersion,
  PACKAGE,
  type PackageManager,
  packageManager,
  updateLists,
} from "../../../../node-shim/service/package.ts";
import { failure, success } from "../../../../shared/result.ts";
import { temporaryFolder } from "../../../node-shim/base/temporary-folder.ts";
import { AptMachine, serveFolder } from "../../infra/apt/apt-machine.ts";
import { hasDpkg } from "../../infra/deb/dpkg-root.ts";

const has = (program: string) => spawnSync(program, ["--version"]).error === undefined;
const canApt = hasDpkg && has("apt-get") && process.geteuid?.() === 0;

describe.skipIf(!has("apt-get"))(
  `apt-get's environment${has("apt-get") ? "" : " (skipped: no apt-get)"}`,
  () => {
    const folder = temporaryFolder();
    afterAll(() => folder.remove());

    it("the shim has secrets, a proxy and a configuration of apt → apt-get gets only what it needs", async () => {
      const file = join(folder.path, "environment");
      const config = join(folder.path, "apt.conf");
      writeFileSync(config, `APT::Update::Pre-Invoke { "touch ${file}.configured"; };`);
      const own = {
        ROLLCALL_JOIN_TOKEN: "rcj1_secret",
        HTTPS_PROXY: "http://name:password@127.0.0.1:1",
        APT_CONFIG: config,
        LD_LIBRARY_PATH: folder.path,
        DEBCONF_FRONTEND: "dialog",
        PATH: `${folder.path}:${process.env["PATH"]}`,
      };
      for (const [name, value] of Object.entries(own)) vi.stubEnv(name, value);
      for (const name of ["lists/partial", "archives/partial"])
        mkdirSync(join(folder.path, name), { recursive: true });
      // apt's hook writes the environment of apt-get, and ends apt-get before apt-get reads a source.
      const options = [
        `Dir::State=${folder.path}`,
        `Dir::Cache=${folder.path}`,
        "Dir::Etc::SourceList=/dev/null",
        "Dir::Etc::SourceParts=/dev/null",
        `APT::Update::Pre-Invoke::=env > ${file}; exit 1`,
      ].flatMap((option) => ["-o", option]);
      const outcome = await packageManager.aptGet(["update", ...options]);
      vi.unstubAllEnvs();
      expect(outcome.ok).toBe(false);
      expect(existsSync(`${file}.configured`)).toBe(false);
      // The shell of the hook sets PWD and OLDPWD.
      const lines = readFileSync(file, "utf8").trim().split("\n");
      expect(lines.filter((line) => !/^(OLD)?PWD=/.test(line)).toSorted()).toEqual([
        "DEBIAN_FRONTEND=noninteractive",
        "LC_ALL=C.UTF-8",
        "NEEDRESTART_SUSPEND=1",
        "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
      ]);
    });
  },
);

describe.skipIf(!canApt)(`by apt itself${canApt ? "" : " (skipped: no apt-get, or not root)"}`, () => {
  const folder = temporaryFolder();
  const repository = join(folder.path, "repository");
  let url = "";
  let stop = () => {};
  beforeAll(async () => {
    const { privateKey: armored } = await generateKey({ userIDs: [{ name: "packages" }] });
    const debs = ["0.1.0", "0.2.0~rc.1", "0.2.0"].map(deb);
    await publish({ folder: repository, debs, key: { armored }, date: new Date() });
    ({ url, stop } = await serveFolder(repository));
  });
  afterAll(() => {
    stop();
    folder.remove();
  });
  /** Builds a package that has the shim's name, and a configuration that each version changes. */
  function deb(version: string): string {
    const tree = join(folder.path, `tree-${version}`);
    const put = (path: string, text: string) => {
      mkdirSync(dirname(join(tree, path)), { recursive: true });
      writeFileSync(join(tree, path), text);
    };
    put("etc/rollcall/kubelet.yaml", `# of ${version}\n`);
    put("DEBIAN/conffiles", "/etc/rollcall/kubelet.yaml\n");
    put(
      "DEBIAN/control",
      `Package: ${PACKAGE}\nVersion: ${version}\nArchitecture: amd64\nMaintainer: x\nDescription: x\n`,
    );
    execFileSync("dpkg-deb", ["--root-owner-group", "--build", tree, `${tree}.deb`], { stdio: "pipe" });
    return `${tree}.deb`;
  }

  it("in the life of a machine → the version that was requested, and no change that the operator has not chosen", async () => {
    const key = readFileSync(join(repository, KEY_FILE), "utf8");
    const edge = new AptMachine(join(folder.path, "machine")).trust(key, url, "testing");
    const dpkg = (...args: string[]) => [`--root=${edge.dpkg.root}`, "--force-script-chrootless", ...args];
    execFileSync("dpkg", dpkg("-i", join(folder.path, "tree-0.1.0.deb")), { stdio: "pipe" });
    const packages: PackageManager = {
      query: () => Promise.reject(new Error("nothing is asked")),
      aptGet: async (args) => {
        const { code, said } = await edge.aptGet(...args);
        return code === 0 ? success(null) : failure(said);
      },
    };
    const config = join(edge.dpkg.root, "etc/rollcall/kubelet.yaml");
    const now = () => [edge.installed(PACKAGE).split(" ")[0], readFileSync(config, "utf8")];
    const refused = (words: RegExp) => failure(expect.stringMatching(words) as string);
    const hold = (selection: string) =>
      execFileSync("dpkg", dpkg("--set-selections"), { input: `${PACKAGE} ${selection}\n` });

    expect(await updateLists(packages)).toEqual(success(null));
    // No source has this version: the error is apt's own.
    expect(await installVersion(packages, "9.9.9")).toEqual(
      refused(/E: Version '9\.9\.9' for .* was not found/),
    );
    // The operator holds the package (apt-mark hold).
    hold("hold");
    expect(await installVersion(packages, "0.2.0")).toEqual(refused(/Held packages/));
    hold("install");
    expect(now()).toEqual(["0.1.0", "# of 0.1.0\n"]);
    // Newer versions are installed, also a release candidate.
    expect(await installVersion(packages, "0.2.0~rc.1")).toEqual(success(null));
    expect(now()).toEqual(["0.2.0~rc.1", "# of 0.2.0~rc.1\n"]);
    // A configuration that the operator has changed stays, and blocks no upgrade.
    writeFileSync(config, "maxPods: 7\n");
    expect(await installVersion(packages, "0.2.0")).toEqual(success(null));
    expect(now()).toEqual(["0.2.0", "maxPods: 7\n"]);
    // The shim installs an older version only as the former version, and never as an upgrade.
    expect(await installVersion(packages, "0.1.0")).toEqual(refused(/--allow-downgrades/));
    expect(await installFormer(packages, "0.1.0")).toEqual(success(null));
    expect(now()).toEqual(["0.1.0", "maxPods: 7\n"]);
    // If an administrator has removed the package since, it stays removed.
    execFileSync("dpkg", dpkg("-P", PACKAGE), { stdio: "pipe" });
    await installFormer(packages, "0.1.0");
    expect(edge.installed(PACKAGE)).toBe("undefined undefined");
  });
});
