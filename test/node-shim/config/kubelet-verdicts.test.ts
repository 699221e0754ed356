// Compares the shim's verdicts on test/lab/kubelet/configurations.ts with a kubelet's verdicts (verdicts.json,
// recorded by npm run kubelet-verdicts for each release). The shim refuses what all of them refuse. The exceptions are
// those that docs/configuration.md lists.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { shimProgram } from "../../../node-shim/cli/command-line.ts";
import { type Configuration, CONFIGURATIONS, fileOf } from "../../lab/kubelet/configurations.ts";
import { DISAGREEMENTS } from "../../lab/kubelet/disagreements.ts";

const recorded = JSON.parse(
  readFileSync(join(import.meta.dirname, "../../lab/kubelet/verdicts.json"), "utf8"),
) as Record<string, Record<string, string | null>>;
/** Returns true if the kubelet of a release accepts the configuration. */
const isAcceptedByAny = (name: string) => Object.values(recorded[name] ?? {}).includes(null);
const disagreed = DISAGREEMENTS.flatMap(({ configurations }) => configurations);

const folder = mkdtempSync(join(tmpdir(), "rollcall-verdicts-"));
afterAll(() => rmSync(folder, { recursive: true }));
beforeEach(() => {
  vi.spyOn(process, "exit").mockImplementation((code) => {
    throw new Error(`exit code ${String(code)}`);
  });
  vi.spyOn(process.stdout, "write").mockReturnValue(true);
  vi.spyOn(process.stderr, "write").mockReturnValue(true);
});
afterEach(() => void vi.restoreAllMocks());

/** Returns the shim's error; null if the shim accepts the configuration. */
async function verdict(configuration: Configuration): Promise<string | null> {
  const file = join(folder, "kubelet.yaml");
  writeFileSync(file, fileOf(configuration, "/run/containerd/containerd.sock", 10_250));
  return shimProgram()
    .parseAsync(["config", "--config", file, ...configuration.flags], { from: "user" })
    .then(
      () => null,
      (error: unknown) => (error as Error).message,
    );
}

test("every configuration was recorded, and no other", () => {
  expect(Object.keys(recorded)).toEqual(CONFIGURATIONS.map(({ name }) => name));
});

describe("the shim accepts what the kubelet of any release accepts", () => {
  test.each(CONFIGURATIONS.filter(({ name }) => !disagreed.includes(name)))(
    "$name",
    async (configuration) => {
      const own = await verdict(configuration);
      const { name } = configuration;
      const kubelets = recorded[name];
      expect({ accepted: own === null, own, kubelets }).toMatchObject({ accepted: isAcceptedByAny(name) });
    },
  );
});

describe("the shim differs where docs/configuration.md says so, and only there", () => {
  test.each(disagreed)("%s", async (name) => {
    const configuration = CONFIGURATIONS.find((some) => some.name === name);
    if (!configuration) throw new Error("no such configuration");
    const isAccepted = (await verdict(configuration)) === null;
    expect(isAccepted).toBe(!isAcceptedByAny(name));
  });
});
