// Tests that apt itself uses the repository: it offers each machine the right packages, and refuses every changed
// byte.
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { generateKey, readKey } from "openpgp";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { KEY_FILE, publish } from "../../../../infra/apt/repository.ts";
import { temporaryFolder } from "../../../e2e/local-cluster.ts";
import { commandsBelow, programsOf, runCommands, withOwn } from "../../../house/page-commands.ts";
import { hasDpkg } from "../deb/dpkg-root.ts";
import { AptMachine, serveFolder } from "./apt-machine.ts";

const PAGE = "docs/upgrading-shims.md";
const SHIM = "rollcall-node-shim";
const DATE = new Date("2026-01-01T00:00:00Z");
const has = (program: string) => spawnSync(program, ["--version"]).error === undefined;
const canApt = hasDpkg && has("apt-get") && process.geteuid?.() === 0;

async function newKey(passphrase?: string): Promise<string> {
  const { privateKey } = await generateKey({
    type: "ecc",
    userIDs: [{ name: "rollcall's packages" }],
    date: new Date("2025-12-01T00:00:00Z"),
    ...(passphrase && { passphrase }),
  });
  return privateKey;
}

describe.skipIf(!canApt)(`the apt repository${canApt ? "" : " (skipped: no apt-get, or not root)"}`, () => {
  const folder = temporaryFolder();
  /** The repository is served below /apt, as docs/upgrading-shims.md shows. */
  const site = join(folder.path, "site");
  const repository = join(site, "apt");
  let armored: string;
  let url: string;
  const ends: (() => void)[] = [];
  const serve = async (place: string) => {
    const served = await serveFolder(place);
    ends.push(served.stop);
    return served.url;
  };
  beforeAll(async () => {
    armored = await newKey();
    const debs = [deb("0.1.0", "all"), deb("0.1.0", "amd64"), deb("0.2.0", "amd64")];
    await publish({ folder: repository, debs, key: { armored }, date: DATE });
    url = await serve(site);
  });
  afterAll(() => {
    for (const end of ends) end();
    folder.remove();
  });

  /** Builds a package that has the shim's name and one file. Returns its path. */
  function deb(version: string, architecture: string): string {
    const tree = join(folder.path, `tree-${version}-${architecture}`);
    const file = `${tree}.deb`;
    if (existsSync(file)) return file;
    mkdirSync(join(tree, "DEBIAN"), { recursive: true });
    mkdirSync(join(tree, "usr/share/shim"), { recursive: true });
    writeFileSync(join(tree, "usr/share/shim/version"), version);
    const depends = architecture === "all" ? "Depends: nodejs (>= 20)\n" : "";
    writeFileSync(
      join(tree, "DEBIAN/control"),
      `Package: ${SHIM}\nVersion: ${version}\nArchitecture: ${architecture}\nMaintainer: x\n${depends}Description: x\n`,
    );
    const env = { ...process.env, SOURCE_DATE_EPOCH: "1767225600" };
    execFileSync("dpkg-deb", ["--root-owner-group", "-Znone", "--build", tree, file], { stdio: "pipe", env });
    return file;
  }
  const publicKey = () => readFileSync(join(repository, KEY_FILE), "utf8");
  let machines = 0;
  const newMachine = (architecture?: string) =>
    new AptMachine(join(folder.path, `machine-${++machines}`), architecture);

  it("a machine set up as its page says → installs the newest, goes back on request, and installs a version by name", async () => {
    const edge = newMachine();
    mkdirSync(join(edge.folder, "etc/keyrings"));
    // apt-get gets -y, because there is no user to confirm.
    const programs = programsOf(join(edge.folder, "programs"), {
      "apt-get": 'exec /usr/bin/apt-get -y "$@"',
    });
    const reader = {
      cwd: edge.folder,
      env: { APT_CONFIG: join(edge.folder, "apt.conf"), NO_PROXY: "127.0.0.1" },
      programs,
    };
    const own = { "https://packages.example.com": url, "/etc/apt": join(edge.folder, "etc") };
    await runCommands(withOwn(commandsBelow(PAGE, "The apt repository")[2]!, own), reader);
    expect(edge.installed(SHIM)).toBe("0.2.0 amd64");
    expect((await edge.aptGet("install", `${SHIM}=0.1.0`)).said).toContain("--allow-downgrades");
    await runCommands(commandsBelow(PAGE, "Going back")[0]!, reader);
    expect(edge.installed(SHIM)).toBe("0.1.0 amd64");
    expect(await edge.aptGet("install", `${SHIM}=0.2.0`)).toMatchObject({ code: 0 });
    expect(edge.installed(SHIM)).toBe("0.2.0 amd64");
  });

  it("riscv64, which has no package of its own → the one for all, with the machine's nodejs", async () => {
    const edge = newMachine("riscv64").trust(publicKey(), `${url}/apt`);
    edge.dpkg.withPackages({ nodejs: "20.0.0" });
    expect(await edge.aptGet("update")).toMatchObject({ code: 0 });
    const { said } = await edge.aptGet("install", "--print-uris", SHIM);
    expect(said).toContain(`/${SHIM}_0.1.0_all.deb'`);
  });

  it("testing → its candidate is newer than every release before it, and older than its own release", async () => {
    const place = join(folder.path, "testing");
    const debs = ["0.2.0", "9.0.0~rc.1"].map((version) => deb(version, "amd64"));
    await publish({ folder: place, debs, key: { armored }, date: DATE });
    const edge = newMachine().trust(publicKey(), await serve(place), "testing");
    expect(await edge.aptGet("update")).toMatchObject({ code: 0 });
    expect(await edge.candidate(SHIM)).toBe("9.0.0~rc.1");
    await publish({ folder: place, debs: [deb("9.0.0", "amd64")], key: { armored }, date: DATE });
    expect(await edge.aptGet("update")).toMatchObject({ code: 0 });
    expect(await edge.candidate(SHIM)).toBe("9.0.0");
  });

  const lastByte = (file: string) => {
    const bytes = readFileSync(file);
    bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
    writeFileSync(file, bytes);
  };
  /** Returns true if apt has the repository's lists, which it keeps only once it has verified them. */
  const hasLists = (edge: AptMachine) =>
    readdirSync(join(edge.folder, "state/lists")).some((file) => file.endsWith("_Packages"));
  const CHANGES: [string, (copy: string) => void, RegExp][] = [
    [
      "of the signed text",
      (copy) => {
        const file = join(copy, "dists/stable/InRelease");
        writeFileSync(file, readFileSync(file, "utf8").replace("Label: rollcall", "Label: Rollcall"));
      },
      /BADSIG|signatures were invalid/,
    ],
    [
      "of the list of packages",
      (copy) => {
        const list = join(copy, "dists/stable/main/binary-amd64");
        rmSync(join(list, "by-hash"), { recursive: true });
        for (const name of ["Packages", "Packages.gz"]) lastByte(join(list, name));
      },
      /Hash Sum mismatch|unexpected size/,
    ],
  ];
  const copyWith = async (change: (copy: string) => void) => {
    const copy = join(folder.path, `changed-${++machines}`);
    cpSync(repository, copy, { recursive: true });
    change(copy);
    return newMachine().trust(publicKey(), await serve(copy));
  };

  it.each(CHANGES)(
    "a byte %s changed on the server → update is refused, and no list is kept",
    async (_, change, why) => {
      const edge = await copyWith(change);
      expect((await edge.aptGet("update")).said).toMatch(why);
      expect(hasLists(edge)).toBe(false);
    },
  );

  it("a byte of the package changed on the server → install is refused", async () => {
    const edge = await copyWith((copy) => lastByte(join(copy, `pool/main/${SHIM}/${SHIM}_0.2.0_amd64.deb`)));
    expect(await edge.aptGet("update")).toMatchObject({ code: 0 });
    expect(hasLists(edge)).toBe(true);
    const { code, said } = await edge.aptGet("install", SHIM);
    expect(said).toMatch(/Hash Sum mismatch/);
    expect(code).not.toBe(0);
    expect(edge.installed(SHIM)).toBe("undefined undefined");
  });

  it("another repository's key → nothing is accepted", async () => {
    const other = (await readKey({ armoredKey: await newKey() })).toPublic().armor();
    const edge = newMachine().trust(other, `${url}/apt`);
    expect((await edge.aptGet("update")).said).toContain("NO_PUBKEY");
    expect(hasLists(edge)).toBe(false);
  });

  const noGpg = has("gpg") ? "" : " (skipped: gpg is not installed)";
  it.skipIf(noGpg !== "")(
    `a key that gpg makes and exports as the page says → apt accepts its signatures${noGpg}`,
    async () => {
      const home = join(folder.path, "gpg");
      mkdirSync(home, { mode: 0o700 });
      // The passphrase is empty, because there is no user to type one.
      const nobody = "batch\npinentry-mode loopback\npassphrase-file /dev/null\n";
      writeFileSync(join(home, "gpg.conf"), nobody);
      const [make = ""] = commandsBelow(PAGE, "The apt repository");
      await runCommands(make, { cwd: home, env: { GNUPGHOME: home } });
      spawnSync("gpgconf", ["--homedir", home, "--kill", "all"]);
      const exported = readFileSync(join(home, "rollcall-apt.asc"), "utf8");
      const place = join(folder.path, "by-gpg");
      await publish({ folder: place, debs: [deb("0.1.0", "amd64")], key: { armored: exported }, date: DATE });
      const edge = newMachine().trust(readFileSync(join(place, KEY_FILE), "utf8"), await serve(place));
      expect(await edge.aptGet("update")).toMatchObject({ code: 0 });
      expect(hasLists(edge)).toBe(true);
    },
  );
});
