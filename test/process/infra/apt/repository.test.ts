// The repository as apt itself takes it: what it offers to which machine, and that nothing changed gets through.
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
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
  const repository = join(folder.path, "repository");
  let armored: string;
  let server: Awaited<ReturnType<typeof serveFolder>>;
  const ends: (() => void)[] = [];
  beforeAll(async () => {
    armored = await newKey();
    await publish({ folder: repository, debs: first(), key: { armored }, date: DATE });
    server = await serveFolder(repository);
    ends.push(server.stop);
  });
  afterAll(() => {
    for (const end of ends) end();
    folder.remove();
  });

  /** A package of the shim's name with one file in it. */
  function deb(version: string, architecture: string, content = version): string {
    const tree = join(folder.path, `tree-${version}-${architecture}-${content}`);
    mkdirSync(join(tree, "DEBIAN"), { recursive: true });
    mkdirSync(join(tree, "usr/share/shim"), { recursive: true });
    writeFileSync(join(tree, "usr/share/shim/version"), content);
    const depends = architecture === "all" ? "Depends: nodejs (>= 20)\n" : "";
    writeFileSync(
      join(tree, "DEBIAN/control"),
      `Package: ${SHIM}\nVersion: ${version}\nArchitecture: ${architecture}\nMaintainer: x\n${depends}Description: x\n`,
    );
    const file = `${tree}.deb`;
    const env = { ...process.env, SOURCE_DATE_EPOCH: "1767225600" };
    execFileSync("dpkg-deb", ["--root-owner-group", "--build", tree, file], { stdio: "pipe", env });
    return file;
  }
  const first = () => ["all", "amd64", "arm64"].map((architecture) => deb("0.1.0", architecture));
  const publicKey = () => readFileSync(join(repository, KEY_FILE), "utf8");
  let machines = 0;
  const newMachine = (architecture?: string) =>
    new AptMachine(join(folder.path, `machine-${++machines}`), architecture);
  const machine = (suite = "stable") => newMachine().trust(publicKey(), server.url, suite);

  async function publishMore(...debs: string[]): Promise<void> {
    await publish({ folder: repository, debs, key: { armored }, date: DATE });
  }

  it("a machine that trusts the key → update, download, install, upgrade by version", async () => {
    const edge = machine();
    expect(await edge.aptGet("update")).toMatchObject({ code: 0 });
    expect(await edge.aptGet("install", "--download-only", SHIM)).toMatchObject({ code: 0 });
    expect(await edge.aptGet("install", SHIM)).toMatchObject({ code: 0 });
    expect(edge.installed(SHIM)).toBe("0.1.0 amd64");
    await publishMore(deb("0.2.0", "amd64"), deb("0.3.0", "amd64"));
    expect(await edge.aptGet("update")).toMatchObject({ code: 0 });
    expect(await edge.aptGet("install", `${SHIM}=0.2.0`)).toMatchObject({ code: 0 });
    expect(edge.installed(SHIM)).toBe("0.2.0 amd64");
    // What was published stays; going back is refused unless it is asked for.
    expect((await edge.aptGet("install", `${SHIM}=0.1.0`)).said).toContain("--allow-downgrades");
    expect(await edge.aptGet("install", "--allow-downgrades", `${SHIM}=0.1.0`)).toMatchObject({ code: 0 });
    expect(edge.installed(SHIM)).toBe("0.1.0 amd64");
  });

  it.each([
    ["arm64", "0.1.0", "arm64"],
    ["riscv64", "0.1.0", "all"],
  ])("%s → the package of %s for %s", async (architecture, version, packaged) => {
    const edge = newMachine(architecture).trust(publicKey(), server.url);
    edge.dpkg.withPackages({ nodejs: "20.0.0" });
    expect(await edge.aptGet("update")).toMatchObject({ code: 0 });
    expect(await edge.candidate(SHIM)).toBe(version);
    const { said } = await edge.aptGet("install", "--print-uris", SHIM);
    expect(said).toContain(`/${SHIM}_${version}_${packaged}.deb'`);
  });

  it("a candidate for a release → in testing alone, and the release comes after it", async () => {
    await publishMore(deb("9.0.0~rc.1", "amd64"));
    const [stable, testing] = [machine(), machine("testing")];
    for (const each of [stable, testing]) expect(await each.aptGet("update")).toMatchObject({ code: 0 });
    expect(await stable.candidate(SHIM)).not.toContain("9.0.0");
    expect(await testing.candidate(SHIM)).toBe("9.0.0~rc.1");
    await publishMore(deb("9.0.0", "amd64"));
    expect(await testing.aptGet("update")).toMatchObject({ code: 0 });
    expect(await testing.candidate(SHIM)).toBe("9.0.0");
  });

  it("published again from the same packages → the same bytes", async () => {
    const files = ["dists/stable/InRelease", "dists/testing/InRelease", KEY_FILE];
    const before = files.map((file) => readFileSync(join(repository, file), "utf8"));
    await publishMore(...first());
    expect(files.map((file) => readFileSync(join(repository, file), "utf8"))).toEqual(before);
  });

  it("a published version with other contents → refused, and nothing is changed", async () => {
    const before = readFileSync(join(repository, "dists/stable/InRelease"), "utf8");
    const more = [deb("10.0.0", "amd64"), deb("0.1.0", "amd64", "other")];
    await expect(publishMore(...more)).rejects.toThrow("published with other contents");
    expect(readFileSync(join(repository, "dists/stable/InRelease"), "utf8")).toBe(before);
    expect(spawnSync("find", [repository, "-name", "*10.0.0*"], { encoding: "utf8" }).stdout).toBe("");
  });

  const lastByte = (file: string) => {
    const bytes = readFileSync(file);
    bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
    writeFileSync(file, bytes);
  };
  const BYTES: [string, string, (copy: string) => void, RegExp][] = [
    [
      "of the signed text",
      "update",
      (copy) => {
        const file = join(copy, "dists/stable/InRelease");
        writeFileSync(file, readFileSync(file, "utf8").replace("Label: rollcall", "Label: Rollcall"));
      },
      /BADSIG|signatures were invalid/,
    ],
    [
      "of the list of packages",
      "update",
      (copy) => {
        const list = join(copy, "dists/stable/main/binary-amd64");
        rmSync(join(list, "by-hash"), { recursive: true });
        for (const name of ["Packages", "Packages.gz"]) lastByte(join(list, name));
      },
      /Hash Sum mismatch|unexpected size/,
    ],
    [
      "of the package",
      "install",
      (copy) => lastByte(join(copy, `pool/main/${SHIM}/${SHIM}_0.1.0_amd64.deb`)),
      /Hash Sum mismatch/,
    ],
  ];
  it.each(BYTES)("a byte %s changed on the server → %s is refused", async (_, step, change, why) => {
    const copy = join(folder.path, `changed-${++machines}`);
    cpSync(repository, copy, { recursive: true });
    change(copy);
    const changed = await serveFolder(copy);
    ends.push(changed.stop);
    const edge = newMachine().trust(publicKey(), changed.url);
    const update = await edge.aptGet("update");
    const install = await edge.aptGet("install", `${SHIM}=0.1.0`);
    expect((step === "update" ? update : install).said).toMatch(why);
    expect(install.code).not.toBe(0);
    expect(edge.installed(SHIM)).toBe("undefined undefined");
  });

  it("another's key → nothing is taken", async () => {
    const other = (await readKey({ armoredKey: await newKey() })).toPublic().armor();
    const edge = newMachine().trust(other, server.url);
    expect((await edge.aptGet("update")).said).toContain("NO_PUBKEY");
    expect(await edge.candidate(SHIM)).not.toBe("0.1.0");
  });

  it("a key as its page has gpg make and export it → apt takes what it signs", async () => {
    if (!has("gpg")) return;
    const home = join(folder.path, "gpg");
    mkdirSync(home, { mode: 0o700 });
    // Nobody is there to type a passphrase: an empty one.
    const nobody = "batch\npinentry-mode loopback\npassphrase-file /dev/null\n";
    writeFileSync(join(home, "gpg.conf"), nobody);
    const [make = ""] = commandsBelow(PAGE, "The apt repository");
    await runCommands(make, { cwd: home, env: { GNUPGHOME: home } });
    spawnSync("gpgconf", ["--homedir", home, "--kill", "all"]);
    const exported = readFileSync(join(home, "rollcall-apt.asc"), "utf8");
    const place = join(folder.path, "by-gpg");
    await publish({ folder: place, debs: first(), key: { armored: exported }, date: DATE });
    const served = await serveFolder(place);
    ends.push(served.stop);
    const edge = newMachine().trust(readFileSync(join(place, KEY_FILE), "utf8"), served.url);
    expect(await edge.aptGet("update")).toMatchObject({ code: 0 });
    expect(await edge.candidate(SHIM)).toBe("0.1.0");
  });

  it("a machine as its page has it → takes the newest, and goes back", async () => {
    const served = join(folder.path, "as-the-page-says");
    const debs = ["0.1.0", "0.2.0"].map((version) => deb(version, "amd64"));
    await publish({ folder: join(served, "apt"), debs, key: { armored }, date: DATE });
    const { url, stop } = await serveFolder(served);
    ends.push(stop);
    const edge = newMachine();
    mkdirSync(join(edge.folder, "etc/keyrings"));
    // Nobody is there to say yes.
    const programs = programsOf(join(edge.folder, "programs"), {
      "apt-get": 'exec /usr/bin/apt-get -y "$@"',
    });
    const reader = { cwd: edge.folder, env: { APT_CONFIG: join(edge.folder, "apt.conf") }, programs };
    const own = { "https://packages.example.com": url, "/etc/apt": join(edge.folder, "etc") };
    await runCommands(withOwn(commandsBelow(PAGE, "The apt repository")[2]!, own), reader);
    expect(edge.installed(SHIM)).toBe("0.2.0 amd64");
    await runCommands(commandsBelow(PAGE, "Going back")[0]!, reader);
    expect(edge.installed(SHIM)).toBe("0.1.0 amd64");
  });
});
