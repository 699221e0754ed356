// Compares what node-shim would report of this machine with what a kubelet on it reports, and the events of both
// (`npm run compare-kubelet`).
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Command, InvalidArgumentError } from "commander";
import { givenFlags, machineFlags, withSet } from "../../../node-shim/cli/flags.ts";
import { faultOf } from "../../../node-shim/base/fault.ts";
import type { MachineFlags } from "../../../node-shim/machine/settings.ts";
import { previewNode } from "../../../node-shim/machine/preview-node.ts";
import { compareNodes, comparisonText, type NodeJson } from "./compare.ts";
import { compareEvents, eventsText } from "./compare-events.ts";
import { EVENT_STORIES, type EventStory } from "./event-stories.ts";
import type { RealKubelet } from "./real-kubelet.ts";

const HELP = `
Without a file, the kubelet of KUBEBUILDER_ASSETS runs here (as root, with an etcd, a kube-apiserver and a containerd of
its own), registers, and is removed again; flags and configuration are then the same for both. Then a shim with a Worker
of its own runs beside it, both live through the same stories, and what both have recorded is laid side by side: about six
minutes.

Exit codes: 0 when only that differs which has a reason to, 1 otherwise, 2 for a wrong command line.

Examples:
  kubectl get node $(hostname) -o json > node.json && npm run compare-kubelet -- node.json
  npm run compare-kubelet -- node.json --config /var/lib/kubelet/config.yaml --node-ip 192.0.2.7
  KUBEBUILDER_ASSETS=~/envtest npm run compare-kubelet
  KUBEBUILDER_ASSETS=~/envtest npm run compare-kubelet -- --events cordon,runtime
  KUBEBUILDER_ASSETS=~/envtest npm run compare-kubelet -- --system-reserved=cpu=100m,memory=256Mi --max-pods=30`;

interface Flags extends MachineFlags {
  saveNode?: string;
  events: readonly EventStory[];
}
/** The flags of this program alone, which the kubelet does not get. */
const OWN_FLAGS = ["saveNode", "events"];

async function compareKubelet(file: string | undefined, flags: Flags, command: Command): Promise<void> {
  const isSame =
    file === undefined
      ? await besideKubelet(flags, givenFlags(command, OWN_FLAGS))
      : isSameNode(flags, nodeIn(file), await ourNode(flags));
  process.exitCode = isSame ? 0 : 1;
}

/**
 * Compares the kubelet's Node with the shim's, and prints the result. Returns true if all differences are allowed.
 */
function isSameNode({ saveNode }: Flags, node: NodeJson, { node: preview, allocatable }: OurNode): boolean {
  if (saveNode !== undefined) writeFileSync(saveNode, `${JSON.stringify(node, null, 2)}\n`);
  const comparison = compareNodes(node, preview, allocatable);
  process.stdout.write(comparisonText(comparison));
  return comparison.differences.every(({ why }) => why !== null);
}

function nodeIn(file: string): NodeJson {
  const node = JSON.parse(readFileSync(file === "-" ? 0 : file, "utf8")) as NodeJson;
  if (node["kind"] === "Node") return node;
  throw new Error(`${file} holds no Node: kubectl get node NAME -o json`);
}

/** Starts a kubelet and compares it with the shim. `given` are the flags as texts, for the kubelet. */
async function besideKubelet(flags: Flags, given: string[]): Promise<boolean> {
  // The module is imported only here: its Kubernetes client takes most of a second to load, and comparing a Node in
  // a file does not need it.
  const { missingForKubelet, startRealKubelet } = await import("./real-kubelet.ts");
  const assets = process.env["KUBEBUILDER_ASSETS"];
  const missing = missingForKubelet(assets);
  if (missing !== null || assets === undefined)
    throw new Error(`${missing}; or pass a kubelet's Node as JSON`);
  if (flags.config !== undefined)
    throw new Error("--config goes with a kubelet's Node as JSON: pass flags here");
  const folder = mkdtempSync(join(tmpdir(), "rollcall-kubelet-"));
  const kubelet = await startRealKubelet({ assets, folder, flags: given });
  try {
    // The shim reads the disk while the kubelet runs, so that both measure the same.
    const preview = await ourNode({ ...flags, config: kubelet.configFile });
    const isSame = isSameNode(flags, kubelet.node, preview);
    if (flags.events.length === 0) return isSame;
    return (await areSameEvents(flags.events, kubelet, { folder, given })) && isSame;
  } finally {
    await kubelet.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Plays the stories, and prints the events of the kubelet and the shim in each. Returns true if all differences are
 * allowed.
 */
async function areSameEvents(
  stories: readonly EventStory[],
  kubelet: RealKubelet,
  { folder, given }: { folder: string; given: readonly string[] },
): Promise<boolean> {
  const { startEventPair } = await import("./event-pair.ts");
  const { pair, stop } = await startEventPair(kubelet, folder, given);
  let wrong = 0;
  try {
    for (const story of stories) {
      await story.play(pair, kubelet);
      const told = await pair.end();
      const rows = compareEvents(told.kubelet, told.ours);
      wrong += rows.filter(({ why }) => why === null).length;
      process.stdout.write(`\nevents: ${story.what}\n${eventsText(rows)}`);
    }
  } finally {
    await stop();
  }
  process.stdout.write(`\n${stories.length} stories, ${wrong} events must not differ and do\n`);
  return wrong === 0;
}

function storiesNamed(text: string): readonly EventStory[] {
  if (text === "none") return [];
  const names = EVENT_STORIES.map(({ name }) => name);
  const unknown = text.split(",").find((name) => !names.includes(name));
  if (unknown !== undefined)
    throw new InvalidArgumentError(`"${unknown}" is none of: none, ${names.join(", ")}.`);
  return EVENT_STORIES.filter(({ name }) => text.split(",").includes(name));
}

interface OurNode {
  node: NodeJson;
  /** The allocatable resources of a kubelet's machine. */
  allocatable: Record<string, string>;
}

async function ourNode(flags: Flags): Promise<OurNode> {
  const warn = (source: string, message: string) => console.error(`node-shim: ${source}: ${message}`);
  const { node, allocatable } = await previewNode(withSet(flags), warn);
  return { node: { ...node }, allocatable };
}

const program = machineFlags(new Command("npm run compare-kubelet --"))
  .description("Compare a kubelet's Node with the one that node-shim would report of this machine.")
  .argument("[node.json]", "the kubelet's Node (- for standard input)")
  .option("--save-node <file>", "keep the kubelet's Node there")
  .option(
    "--events <stories>",
    "which stories' events to compare as well, or none",
    storiesNamed,
    EVENT_STORIES,
  )
  .addHelpText("after", HELP)
  .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : 2))
  .action(compareKubelet);

try {
  await program.parseAsync();
} catch (error) {
  console.error(`npm run compare-kubelet: ${faultOf(error)}`);
  process.exitCode = 1;
}
