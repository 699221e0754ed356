// Runs Kubernetes' own e2e tests of Nodes, leases and events with machines of rollcall, by the commands of
// infra/local/apiserver/README.md. Needs e2e.test in the folder of KUBEBUILDER_ASSETS.
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { commandsBelow, withOwn } from "../../house/page-commands.ts";
import { nodesOf, readyOf, startMachines, until, withLocalFleet } from "../bench/local-fleet.ts";

/** The simulated machines, in addition to this machine, as with `npm start -- --nodes 2`. */
const SIMULATED = 2;
const WITHIN_MS = 600_000;
const assets = process.env["KUBEBUILDER_ASSETS"] ?? "";

test.skipIf(!existsSync(join(assets, "e2e.test")))(
  "Kubernetes' e2e tests → all of them pass with machines of rollcall",
  { timeout: 2 * WITHIN_MS },
  () =>
    withLocalFleet(async (fleet) => {
      await startMachines(fleet, SIMULATED);
      const areReady = async () => (await nodesOf(fleet.admin)).filter(isReady).length === SIMULATED + 1;
      await until("all machines are ready", areReady, 500, WITHIN_MS);
      const [page = ""] = commandsBelow("infra/local/apiserver/README.md", "Kubernetes' own e2e tests");
      const commands = withOwn(page.slice(page.indexOf("kubectl")), {
        ".rollcall/kubeconfig": join(fleet.folder, "kubeconfig"),
      });
      const env = { ...process.env, PATH: `${assets}${delimiter}${process.env["PATH"]}` };
      const { stdout } = await promisify(execFile)("sh", ["-ec", commands], { env, maxBuffer: 2 ** 28 });
      const [, ran, passed] = /Ran (\d+) of [\s\S]*?(\d+) Passed/.exec(stdout) ?? [];
      expect(Number(ran)).toBeGreaterThan(0);
      expect(passed).toBe(ran);
    }),
);

const isReady = (node: Parameters<typeof readyOf>[0]) => readyOf(node) === "True";
