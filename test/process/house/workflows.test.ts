// Checks the workflows and the action for GitHub: their syntax with GitHub's own parser, permissions and commands.
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, it, test } from "vitest";
import { parse } from "yaml";
import project from "../../../package.json" with { type: "json" };
import { COMPARED_MINORS } from "../../../shared/from-report/kubelet-version.ts";
import { temporaryFolder } from "../../e2e/local-cluster.ts";
import { root } from "../../house/markdown.ts";
import { programsOf, runCommands } from "../../house/page-commands.ts";

const WORKFLOWS = join(root, ".github/workflows");
const files = readdirSync(WORKFLOWS);
const ACTION = join(root, "infra/deploy/action.yml");

describe("GitHub's parser", () => {
  const folder = temporaryFolder();
  const program = join(folder.path, "workflow-faults.cjs");
  beforeAll(async () => {
    await build({
      entryPoints: [join(import.meta.dirname, "workflow-faults.ts")],
      outfile: program,
      bundle: true,
      platform: "node",
      format: "cjs",
    });
  });
  afterAll(() => folder.remove());
  const faultsOf = (...paths: string[]) =>
    JSON.parse(execFileSync(process.execPath, [program, ...paths], { encoding: "utf8" })) as string[];

  it("accepts all of them", () => {
    expect(faultsOf(...files.map((file) => join(WORKFLOWS, file)), ACTION)).toEqual([]);
  });

  it("reports the fault of a broken one", () => {
    const [wrong, action] = [join(folder.path, "wrong.yml"), join(folder.path, "action.yml")];
    writeFileSync(wrong, "on: push\njobs:\n  one:\n    runs-on: x\n    step: []\n");
    writeFileSync(action, "name: a\ndescription: a\nruns:\n  using: composite\n  step: []\n");
    expect(faultsOf(wrong).join()).toContain("step");
    expect(faultsOf(action).join()).toContain("step");
  });
});

describe("the action", () => {
  const folder = temporaryFolder();
  afterAll(() => folder.remove());
  const { runs } = parse(readFileSync(ACTION, "utf8")) as { runs: { steps: { run?: string }[] } };

  test.each([
    ["a file alone", { ENVIRONMENT: "", DRY_RUN: "false" }, ""],
    ["an environment, as a dry run", { ENVIRONMENT: "staging", DRY_RUN: "true" }, " --env staging --dry-run"],
  ])(
    "%s → npm run deploy in the sources, with the path of the workspace's file",
    async (_, inputs, flags) => {
      writeFileSync(join(folder.path, "rollcall.yaml"), "");
      const { stdout } = await runCommands(runs.steps.at(-1)?.run ?? "", {
        cwd: folder.path,
        programs: programsOf(join(folder.path, "programs"), { npm: 'echo "$PWD: npm $*"' }),
        env: { ...inputs, CONFIG: "rollcall.yaml", GITHUB_ACTION_PATH: join(root, "infra/deploy") },
      });
      const config = join(folder.path, "rollcall.yaml");
      expect(stdout).toBe(`${root.slice(0, -1)}: npm run deploy -- --config ${config}${flags}\n`);
    },
  );
});

it("the apiserver of the workflows has a minor version that the Nodes report", () => {
  const script = readFileSync(join(root, ".ci/envtest"), "utf8");
  expect(script).toContain(` use "\${1:-1.${COMPARED_MINORS.oldest}}.x" `);
});

describe.each(files)("%s", (file) => {
  const content = readFileSync(join(WORKFLOWS, file), "utf8");

  it("runs scripts that exist", () => {
    const scripts = [...content.matchAll(/npm run ([\w:-]+)/g)].map(([, script = ""]) => script);
    expect(scripts.filter((script) => !(script in project.scripts))).toEqual([]);
  });

  it.skipIf(file === "nightly.yml")("has a real apiserver before it runs the tests", () => {
    const steps = [...content.matchAll(/- run: (\.ci\/\w+)/g)].map(([, script]) => script);
    expect(steps).toEqual([".ci/envtest", ".ci/run"]);
  });

  it("may only read, except for what a job names", () => {
    expect(content).toMatch(/^permissions:\n {2}contents: read$/m);
  });
});
