// Tests that the examples work unchanged: the shim reads the drop-ins and the configuration. The setter has its own
// test in test/shared/setters/custom.test.ts.
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { experimental_readRawConfig as readRawConfig } from "wrangler";
import { parse } from "yaml";
import { checkSettings } from "../../../infra/deploy/before-deploy.ts";
import { readSettings } from "../../../infra/deploy/settings-file.ts";
import { deployedVariables } from "../../../infra/deploy/wrangler-configuration.ts";
import { readConfiguration } from "../../../node-shim/config/config.ts";
import { runChild } from "../../../node-shim/base/child.ts";
import { dropInFolder, type DropInFacts } from "../../../node-shim/sources/drop-ins/drop-ins.ts";
import { licenceCondition } from "../../../examples/licence-condition.ts";
import { NOTHING_REMEMBERED, reportedSources } from "../../../shared/from-report/reported-status.ts";
import { MACHINE_LABEL } from "../../../shared/node/ownership.ts";
import { draftOf } from "../../../shared/node/update-node.ts";
import { factsSchema } from "../../../shared/protocol/facts.ts";
import { reportIntervalMs } from "../../../shared/protocol/settings.ts";
import { nodeStatusSetters } from "../../../shared/setters/pipeline.ts";
import { temporaryFolder } from "../../e2e/local-cluster.ts";
import { commandsBelow } from "../../house/page-commands.ts";

const examples = fileURLToPath(new URL("../../../examples/", import.meta.url));

const WHOLE = "md0 : active raid1 sdb1[1] sda1[0]\n      976630464 blocks [2/2] [UU]\n";

const MDSTAT = /(?<= )\/proc\/mdstat/g;

/**
 * Returns the facts that the shim reads from examples/facts.d, copied as its page describes, with this
 * /proc/mdstat. null: the file is missing.
 */
async function exampleDropIns(mdstat: string | null = WHOLE): Promise<DropInFacts> {
  const from = join(examples, "facts.d");
  const files = readdirSync(from).map((name) => ({
    name,
    text: readFileSync(join(from, name), "utf8"),
    isProgram: (statSync(join(from, name)).mode & 0o111) !== 0,
  }));
  return readDropIns(files, mdstat);
}

interface DropInFile {
  name: string;
  text: string;
  isProgram: boolean;
}

async function readDropIns(files: DropInFile[], mdstat: string | null): Promise<DropInFacts> {
  const temporary = temporaryFolder();
  const folder = join(temporary.path, "facts.d");
  mkdirSync(folder, { mode: 0o755 });
  for (const { name, text, isProgram } of files) {
    const here = isProgram ? text.replaceAll(MDSTAT, join(temporary.path, "mdstat")) : text;
    writeFileSync(join(folder, name), here);
    chmodSync(join(folder, name), isProgram ? 0o755 : 0o644);
  }
  if (mdstat !== null) writeFileSync(join(temporary.path, "mdstat"), mdstat);
  const nowMs = () => Date.now();
  const read = dropInFolder({
    folder,
    run: runChild,
    deadlineMs: 60_000,
    wallMs: nowMs,
    nowMs,
  });
  return read(true).finally(temporary.remove);
}

test("the drop-ins, copied as their page says → all work", async () => {
  const { dropIns } = await exampleDropIns();
  expect(dropIns).toMatchObject({
    failures: [],
    working: 3,
    labels: { "example.com/rack": "b7" },
    resources: { "example.com/fpga": 2 },
    conditions: [
      { type: "RaidDegraded", message: expect.stringMatching(/^as .*mdstat says$/), expiresInSeconds: 300 },
    ],
  });
});

test.each([
  ["all members", WHOLE, { status: "False", reason: "AllMembers" }],
  ["one missing", WHOLE.replace("UU", "U_"), { status: "True", reason: "MemberMissing" }],
  ["no RAID", null, undefined],
])("the drop-in about a RAID: %s → its condition, or none", async (_, mdstat, condition) => {
  const { dropIns } = await exampleDropIns(mdstat);
  expect(dropIns).toMatchObject({ failures: [] });
  expect(dropIns?.conditions ?? []).toEqual(condition ? [expect.objectContaining(condition)] : []);
});

test.each([
  ["all members", WHOLE, { status: "False", reason: "AllMembers" }],
  ["one missing", WHOLE.replace("UU", "U_"), { status: "True", reason: "MemberMissing" }],
])("the drop-in that docs/drop-ins.md shows: %s → each of its facts", async (_, mdstat, condition) => {
  const [text = ""] = commandsBelow("docs/drop-ins.md", "Drop-ins");
  const { dropIns } = await readDropIns([{ name: "raid", text, isProgram: true }], mdstat);
  expect(dropIns).toMatchObject({
    failures: [],
    labels: { "example.com/rack": "b7" },
    resources: { "example.com/fpga": 2 },
    conditions: [{ type: "RaidDegraded", ...condition, expiresInSeconds: 300 }],
  });
});

test("the drop-in with a custom fact, and the setter of one's own → its condition on the Node", async () => {
  const { custom, dropIns } = await exampleDropIns();
  const settings = { hostname: "shop-7", ...readConfiguration(undefined, {}).configuration };
  const platform = { os: "linux", architecture: "amd64" };
  const facts = factsSchema.parse({ settings, platform, dropIns, custom });
  const node = draftOf({});
  const sources = reportedSources({
    name: "shop-7",
    facts,
    vitals: { signals: {} },
    nowMs: Date.parse("2031-03-01T00:00:00Z"),
    memory: structuredClone(NOTHING_REMEMBERED),
    recordEvent: () => undefined,
  });
  for (const setter of nodeStatusSetters(sources, [licenceCondition])) setter(node);
  expect(node.status.conditions).toContainEqual(
    expect.objectContaining({ type: "LicenceExpired", status: "True", reason: "LicenceHasExpired" }),
  );
});

test("the configuration → every field has an effect", () => {
  const { ignored, configuration } = readConfiguration(join(examples, "kubelet.yaml"), {});
  expect(ignored).toEqual([]);
  expect(configuration).toMatchObject({
    nodeStatusUpdateFrequencyMs: 10_000,
    nodeLeaseDurationSeconds: 40,
    evictionHard: { "memory.available": "200Mi" },
    registerWithTaints: [{ key: "example.com/appliance", effect: "NoSchedule" }],
  });
});

test("the configuration for a metered link → its lease lasts for four reports, and there is no runtime", () => {
  const { ignored, configuration, active } = readConfiguration(join(examples, "low-traffic.yaml"), {});
  expect(ignored).toEqual([]);
  expect(reportIntervalMs(configuration)).toBe(300_000);
  expect(configuration).toMatchObject({
    nodeStatusUpdateFrequencyMs: 300_000,
    nodeStatusReportFrequencyMs: 3_600_000,
    nodeLeaseDurationSeconds: 1200,
  });
  expect(active.containerRuntimeEndpoint).toBe("");
});

test.each([null, "staging"])(
  "the settings of a deployment, environment %s → they have no fault",
  (environment) => {
    const file = join(examples, "rollcall.yaml");
    const settings = readSettings(readFileSync(file, "utf8"), file, environment);
    if (!settings.ok) throw new Error(settings.error.join("\n"));
    const { rawConfig } = readRawConfig({ config: join(examples, "../wrangler.toml") });
    const checks = checkSettings(deployedVariables(rawConfig, settings.value), {}, 0);
    expect(checks.filter(({ state }) => state !== "ok")).toEqual([]);
  },
);

test.each(readdirSync(join(examples, "daemonsets")))(
  "daemonsets/%s → each term requires Nodes without the label that all of our Nodes have",
  (file) => {
    const patch = parse(readFileSync(join(examples, "daemonsets", file), "utf8")) as DaemonSetPatch;
    const { nodeAffinity } = patch.spec.template.spec.affinity;
    const { nodeSelectorTerms } = nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution;
    expect(nodeSelectorTerms.length).toBeGreaterThan(0);
    for (const { matchExpressions } of nodeSelectorTerms)
      expect(matchExpressions).toContainEqual({ key: MACHINE_LABEL, operator: "DoesNotExist" });
  },
);

interface DaemonSetPatch {
  spec: {
    template: {
      spec: {
        affinity: {
          nodeAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: {
              nodeSelectorTerms: {
                matchExpressions: { key: string; operator: string; values?: string[] }[];
              }[];
            };
          };
        };
      };
    };
  };
}
