// The cluster's token for the Worker, as kubectl creates it.
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { gatherSecrets } from "../../../../infra/deploy/secrets.ts";
import type { MissingSecret } from "../../../../infra/deploy/plan.ts";
import { readSettings } from "../../../../infra/deploy/settings-file.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "rollcall-secrets-"));
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

function settingsOf(more: string) {
  const file = join(folder, "rollcall.yaml");
  const read = readSettings(`origin: https://a.test\napiserver: https://kube.test\n${more}`, file, null);
  if (!read.ok) throw new Error(read.error.join("\n"));
  return read.value;
}
const ADMIN: MissingSecret = { secret: "ADMIN_SECRET_SHA256", from: "made", file: undefined };
const TOKEN: MissingSecret = { secret: "KUBE_TOKEN", from: "cluster", file: undefined };

describe("the cluster's token", () => {
  const kubectl = (script: string) => {
    writeFileSync(join(folder, "kubectl"), `#!/bin/sh\n${script}\n`);
    chmodSync(join(folder, "kubectl"), 0o700);
    vi.stubEnv("PATH", `${folder}:${process.env["PATH"]}`);
  };

  it("is what kubectl creates, in the context of the settings, bound to a Secret", async () => {
    kubectl('echo "$@" | tr " " _');
    const settings = settingsOf("kubeContext: shops\ndeployment: west");
    const token =
      "--context_shops_create_token_west_-n_rollcall-system_--duration_8760h_--bound-object-kind_Secret_--bound-object-name_west";
    expect(await gatherSecrets([TOKEN], settings)).toMatchObject({
      ok: true,
      value: { secrets: { KUBE_TOKEN: token } },
    });
  });

  it("that kubectl does not create → its own words, what to do, and nothing is made", async () => {
    kubectl('echo "error: serviceaccounts rollcall not found" >&2; exit 1');
    const found = await gatherSecrets([ADMIN, TOKEN], settingsOf("adminSecretFile: admin"));
    expect(found).toMatchObject({
      ok: false,
      error: {
        says: expect.stringMatching(
          /serviceaccounts rollcall not found\n {2}→ let kubectl reach the cluster/,
        ),
      },
    });
    expect(existsSync(join(folder, "admin"))).toBe(false);
  });
});
