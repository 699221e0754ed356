// Tests that terraform itself accepts the configuration of the Cloudflare account. The checks need the providers, which
// terraform downloads from its registry.
import { spawnSync } from "node:child_process";
import { cpSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ROOT, temporaryFolder } from "../../../e2e/local-cluster.ts";

const FOLDER = join(ROOT, "infra/cloudflare/terraform");

const terraform = (cwd: string, ...args: string[]) =>
  spawnSync("terraform", args, {
    cwd,
    encoding: "utf8",
    timeout: 30_000,
    env: { ...process.env, TF_CLI_CONFIG_FILE: "/dev/null", CHECKPOINT_DISABLE: "1", TF_IN_AUTOMATION: "1" },
  });

describe.skipIf(terraform(FOLDER, "-version").status !== 0)("terraform", () => {
  it("would format it the same way", () => {
    const { status, stdout, stderr } = terraform(FOLDER, "fmt", "-check", "-diff");
    expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: "", stderr: "" });
  });

  it("finds it valid, where the providers are available", ({ skip }) => {
    const folder = temporaryFolder();
    try {
      cpSync(FOLDER, folder.path, { recursive: true, filter: (path) => !path.includes(".terraform") });
      const init = terraform(folder.path, "init", "-backend=false", "-input=false", "-no-color");
      // If the registry does not answer, terraform runs into its timeout, and the test is skipped.
      if (init.signal !== null || (init.status !== 0 && /registry\.terraform\.io/.test(init.stderr)))
        skip("the registry of providers is not reached");
      expect(init).toMatchObject({ status: 0 });
      expect(terraform(folder.path, "validate", "-no-color")).toMatchObject({ status: 0, stderr: "" });
    } finally {
      folder.remove();
    }
  });
});
