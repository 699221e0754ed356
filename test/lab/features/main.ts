// Compares the features that node-feature-discovery's worker finds with the shim's, on this machine and on a made-up
// host with many kinds of devices (`npm run compare-features`).
import { execFileSync } from "node:child_process";
import { rmSync } from "node:fs";
import { hostname } from "node:os";
import { featuresOn, keptFeatures, type NamedFeature } from "../../../node-shim/sources/features/features.ts";
import { hostBelow } from "../../../node-shim/sources/features/host.ts";
import { featureLabels } from "../../../shared/from-report/feature-labels.ts";
import { featureBytes } from "../../../shared/protocol/features.ts";
import { buildProgram, programOf, programVersion } from "../../neighbours/programs.ts";
import { compareFeatures, comparisonText, type Nfd, only } from "./compare.ts";
import { BELOW_ROOT, madeUpHost } from "./made-up-host.ts";

const NFD = "node-feature-discovery";
const nodeName = hostname();

/** Runs NFD's sources on the files below `root`. */
function nfdBelow(root: string): Nfd {
  const output = execFileSync(programOf(NFD), [root], {
    env: { ...process.env, NODE_NAME: nodeName },
    stdio: ["ignore", "pipe", "ignore"],
    maxBuffer: 64 * 1024 * 1024,
  });
  return JSON.parse(output.toString()) as Nfd;
}

async function oursBelow(root: string, names: readonly NamedFeature[]) {
  const warn = (_: string, message: string) => void process.stderr.write(`the shim: ${message}\n`);
  const host = hostBelow(root);
  const features = await keptFeatures({ names, nodeName, host, nowMs: () => 0, wallMs: Date.now, warn })();
  return { features, labels: featureLabels(features) };
}

/** Compares both on one host, and prints the differences. Returns true if each difference has a reason. */
async function isSame(
  what: string,
  root: string,
  names: readonly NamedFeature[],
  nfd: Nfd,
): Promise<boolean> {
  const ours = await oursBelow(root, names);
  const found = compareFeatures(nfd, ours);
  process.stdout.write(
    `${what}: NFD ${programVersion(NFD)} has ${Object.keys(nfd.labels).length} labels, rollcall ` +
      `${Object.keys(ours.labels).length} labels and ${featureBytes(ours.features)} bytes of features\n` +
      comparisonText(found),
  );
  return found.every(({ why }) => why !== null);
}

const fault = buildProgram(NFD);
if (fault !== null) throw new Error(`${NFD} cannot be built: ${fault}`);
const all = featuresOn(["all"]);
if (!all.ok) throw new Error(all.error);
const root = madeUpHost();
try {
  const isSameHere = await isSame("this machine", "/", all.value, nfdBelow("/"));
  const isSameThere = await isSame("a made-up host", root, BELOW_ROOT, only(nfdBelow(root), BELOW_ROOT));
  process.exitCode = isSameHere && isSameThere ? 0 : 1;
} finally {
  rmSync(root, { recursive: true });
}
