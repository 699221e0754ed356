// The package of this shim, by dpkg and apt: whose program this is, and what apt itself makes of what it is asked for.
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { generateKey } from "openpgp";
import { afterAll, beforeAll, describe, expect, it, test } from "vitest";
import { KEY_FILE, publish } from "../../../infra/apt/repository.ts";
import {
  installedVersion,
  installFormer,
  installVersion,
  PACKAGE,
  type PackageManager,
  updateLists,
} from "../../../node-shim/service/package.ts";
import { failure, type Result, success } from "../../../shared/result.ts";
import { temporaryFolder } from "../../e2e/local-cluster.ts";
import { AptMachine, serveFolder } from "../../process/infra/apt/apt-machine.ts";
import { hasDpkg } from "../../process/infra/deb/dpkg-root.ts";

const PROGRAM = "/usr/lib/rollcall-node-shim/bin/node-shim.cjs";

describe("whose program is it?", () => {
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

it("what apt is asked for → one package in one version, and nothing that weakens what it verifies", async () => {
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

const has = (program: string) => spawnSync(program, ["--version"]).error === undefined;
const canApt = hasDpkg && has("apt-get") && process.geteuid?.() === 0;

describe.skipIf(!canApt)(`by apt itself${canApt ? "" : " (skipped: no apt-get, or not root)"}`, () => {
  const folder = temporaryFolder();
  const repository = join(folder.path, "repository");
  const ends: (() => void)[] = [];
  let url = "";
  beforeAll(async () => {
    const { privateKey: armored } = await generateKey({ userIDs: [{ name: "packages" }] });
    const debs = ["0.1.0", "0.2.0~rc.1", "0.2.0"].map(deb);
    await publish({ folder: repository, debs, key: { armored }, date: new Date() });
    url = await serve(repository);
  });
  afterAll(() => {
    for (const end of ends) end();
    folder.remove();
  });
  async function serve(place: string): Promise<string> {
    const server = await serveFolder(place);
    ends.push(server.stop);
    return server.url;
  }

  /** A package of the shim's name, with a configuration that each version changes. */
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

  let machines = 0;
  /** With 0.1.0 installed. */
  async function machine(from = url) {
    const edge = new AptMachine(join(folder.path, `machine-${++machines}`)).trust(
      readFileSync(join(repository, KEY_FILE), "utf8"),
      from,
      "testing",
    );
    execFileSync(
      "dpkg",
      [`--root=${edge.dpkg.root}`, "--force-script-chrootless", "-i", join(folder.path, "tree-0.1.0.deb")],
      { stdio: "pipe" },
    );
    const packages: PackageManager = {
      query: () => Promise.reject(new Error("nothing is asked")),
      aptGet: async (args) => {
        const { code, said } = await edge.aptGet(...args);
        return code === 0 ? success(null) : failure(said);
      },
    };
    const installed = () => edge.installed(PACKAGE).split(" ")[0];
    const config = join(edge.dpkg.root, "etc/rollcall/kubelet.yaml");
    return { edge, packages, installed, config };
  }

  it("a newer version, also a candidate → installed; the former one again → installed", async () => {
    const { packages, installed, config } = await machine();
    expect(await updateLists(packages)).toEqual(success(null));
    expect(await installVersion(packages, "0.2.0~rc.1")).toEqual(success(null));
    expect(installed()).toBe("0.2.0~rc.1");
    expect(await installVersion(packages, "0.2.0")).toEqual(success(null));
    expect([installed(), readFileSync(config, "utf8")]).toEqual(["0.2.0", "# of 0.2.0\n"]);
    expect(await installFormer(packages, "0.1.0")).toEqual(success(null));
    expect(installed()).toBe("0.1.0");
  });

  it("a configuration that the operator has changed → stays, and stops nothing", async () => {
    const { packages, installed, config } = await machine();
    writeFileSync(config, "maxPods: 7\n");
    await updateLists(packages);
    expect(await installVersion(packages, "0.2.0")).toEqual(success(null));
    expect([installed(), readFileSync(config, "utf8")]).toEqual(["0.2.0", "maxPods: 7\n"]);
  });

  it("an older version, where a newer one was meant → refused", async () => {
    const { edge, packages, installed } = await machine();
    await updateLists(packages);
    await edge.aptGet("install", `${PACKAGE}=0.2.0`);
    expect(await installVersion(packages, "0.1.0")).toEqual(
      failure(expect.stringContaining("--allow-downgrades") as string),
    );
    expect(installed()).toBe("0.2.0");
  });

  it("a version that no source has → what apt says", async () => {
    const { packages, installed } = await machine();
    await updateLists(packages);
    expect(await installVersion(packages, "9.9.9")).toEqual(
      failure(expect.stringMatching(/E: Version '9\.9\.9' for .* was not found/) as string),
    );
    expect(installed()).toBe("0.1.0");
  });

  it("held by the operator (apt-mark hold) → stays", async () => {
    const { edge, packages, installed } = await machine();
    execFileSync("dpkg", [`--root=${edge.dpkg.root}`, "--set-selections"], { input: `${PACKAGE} hold\n` });
    await updateLists(packages);
    expect(await installVersion(packages, "0.2.0")).toEqual(
      failure(expect.stringContaining("Held packages") as string),
    );
    expect(installed()).toBe("0.1.0");
  });

  it("removed by somebody meanwhile → stays removed", async () => {
    const { edge, packages, installed } = await machine();
    await updateLists(packages);
    execFileSync("dpkg", [`--root=${edge.dpkg.root}`, "--force-script-chrootless", "-P", PACKAGE], {
      stdio: "pipe",
    });
    await installFormer(packages, "0.1.0");
    expect(installed()).toBe("undefined");
  });

  it("a package that was changed on the server → refused", async () => {
    const copy = join(folder.path, "changed");
    cpSync(repository, copy, { recursive: true });
    const file = join(copy, `pool/main/${PACKAGE}/${PACKAGE}_0.2.0_amd64.deb`);
    writeFileSync(file, readFileSync(file).reverse());
    const { packages, installed } = await machine(await serve(copy));
    await updateLists(packages);
    expect(await installVersion(packages, "0.2.0")).toEqual(
      failure(expect.stringContaining("Hash Sum mismatch") as string),
    );
    expect(installed()).toBe("0.1.0");
  });

  it("a repository of another key → refused", async () => {
    const other = join(folder.path, "other");
    const { privateKey: armored } = await generateKey({ userIDs: [{ name: "others" }] });
    await publish({
      folder: other,
      debs: [join(folder.path, "tree-0.2.0.deb")],
      key: { armored },
      date: new Date(),
    });
    const { packages, installed } = await machine(await serve(other));
    expect((await updateLists(packages)).ok).toBe(false);
    expect((await installVersion(packages, "0.2.0")).ok).toBe(false);
    expect(installed()).toBe("0.1.0");
  });
});
